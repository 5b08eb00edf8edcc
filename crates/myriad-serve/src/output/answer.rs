//! What a content handler gives: the answer before conditions, ranges and encodings.

use std::borrow::Cow;
use std::sync::Arc;

use myriad_encode::Coding;
use myriad_net::ResponseBody;
use myriad_policy::EntityTag;

use super::copy_lines;
use crate::files::Entry;
use crate::runtime::Page;

/// Where an answer's validators and fields come from.
pub(crate) enum Source {
    /// Made for this request.
    Plain,
    /// A stored page.
    Page(Arc<Page>),
    /// A file.
    File(Arc<Entry>),
}

/// An answer.
pub(crate) struct Answer {
    /// The status.
    pub status: u16,
    /// The reason phrase; none for the usual one.
    pub reason: Option<Box<str>>,
    /// Where it comes from.
    pub source: Source,
    /// `Content-Type`; none where the lines hold it.
    pub media_type: Option<Cow<'static, [u8]>>,
    /// Further field lines, each ended by CRLF.
    pub lines: Vec<u8>,
    /// The body, in [`Answer::coding`].
    pub body: ResponseBody,
    /// The coding of the body.
    pub coding: Coding,
    /// `Content-Length` where the body does not tell it (HEAD of an origin).
    pub length: Option<u64>,
    /// The answer ends the connection.
    pub close: bool,
    /// Close without an answer (`return 444`).
    pub dropped: bool,
    /// The answer depends on `Accept-Encoding`, and says so where `gzip_vary` is on.
    pub varies_by_encoding: bool,
    /// Parts of it may be asked for.
    pub ranges: bool,
    /// Whether a streamed body may be compressed on its way.
    pub compressible: bool,
    /// Bytes a second that `X-Accel-Limit-Rate` allows.
    pub limit_rate: Option<u64>,
}

impl Answer {
    /// An answer with a body and no more.
    pub(crate) fn new(status: u16, body: ResponseBody) -> Self {
        Self {
            status,
            reason: None,
            source: Source::Plain,
            media_type: None,
            lines: Vec::new(),
            body,
            coding: Coding::Identity,
            length: None,
            close: false,
            dropped: false,
            varies_by_encoding: false,
            ranges: false,
            compressible: false,
            limit_rate: None,
        }
    }

    /// Appends a field line.
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) {
        self.lines.extend_from_slice(name);
        self.lines.extend_from_slice(b": ");
        self.lines.extend_from_slice(value);
        self.lines.extend_from_slice(b"\r\n");
    }

    /// Takes fields out, named in lower case.
    pub(crate) fn without(&mut self, names: &[&[u8]]) {
        let mut kept = Vec::with_capacity(self.lines.len());
        copy_lines(&self.lines, names, |line| kept.extend_from_slice(line));
        self.lines = kept;
    }

    /// The tag that the answer is recognised by.
    pub(crate) fn tag(&self, etags: bool) -> Option<&EntityTag> {
        match &self.source {
            Source::Plain => None,
            Source::Page(page) => page.meta().tag.as_ref(),
            Source::File(entry) => entry.file().filter(|_| etags).map(|file| &file.tag),
        }
    }

    /// Last change, seconds since the epoch.
    pub(crate) fn modified_s(&self) -> Option<u64> {
        match &self.source {
            Source::Plain => None,
            Source::Page(page) => page.meta().last_modified.as_ref().map(|(_, seconds)| *seconds),
            Source::File(entry) => entry.file().map(|file| file.modified_s),
        }
    }
}
