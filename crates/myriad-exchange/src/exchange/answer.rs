//! What a content handler gives: the answer before conditions, ranges and encodings.

use myriad_http::lines::{copy_lines, line_named};
use std::borrow::Cow;
use std::sync::Arc;

use myriad_calendar::parse_http_date;
use myriad_encode::Coding;
use myriad_files::Entry;
use myriad_net::ResponseBody;
use myriad_policy::{Encoding, EntityTag};

use myriad_page::{Page, alternative};

/// Where an answer's validators and fields come from.
pub enum MadeFrom {
    /// Made for this request.
    Plain,
    /// A stored page.
    Page(Page),
    /// A file.
    File(Arc<Entry>),
}

/// An answer.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The reason phrase; none for the usual one.
    pub reason: Option<Box<str>>,
    /// Where it comes from.
    pub made_from: MadeFrom,
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
    /// `Age` of a stored page, in seconds.
    pub age_s: Option<u64>,
    /// The answer ends the connection.
    pub close: bool,
    /// Close without an answer (`return 444`).
    pub dropped: bool,
    /// The answer depends on `Accept-Encoding`, and says so where `gzip_vary` is on.
    pub varies_by_encoding: bool,
    /// Parts of it may be asked for.
    pub ranges: bool,
    /// The origin's own `Server` or `Date` may be among the lines, and then takes this server's place.
    pub own_head: bool,
    /// The conditions of the request were judged: by the origin that made it for this visitor, or for a whole in pieces.
    pub judged: bool,
    /// The origin did not say how long the body is, though it may be known by now (`gzip_min_length`).
    pub unsized_by_origin: bool,
    /// Bytes of the body before it was compressed here, 0 where it was not (`$gzip_ratio`).
    pub uncompressed: u64,
    /// The origin's trailers follow the body, if it has any (`proxy_pass_trailers`).
    pub passes_trailers: bool,
    /// Whether a streamed body may be compressed on its way.
    pub compressible: bool,
    /// It holds what is one visitor's alone, and says so: a place's own word of how long it is fresh does not hold.
    pub personal: bool,
    /// The head waits for the first bytes of the body, so that what breaks off before them leaves no half answer.
    pub postponed: bool,
    /// Bytes a second that `X-Accel-Limit-Rate` allows.
    pub limit_rate: Option<u64>,
}

impl Answer {
    /// An answer with a body and no more.
    pub fn new(status: u16, body: ResponseBody) -> Self {
        Self {
            status,
            reason: None,
            made_from: MadeFrom::Plain,
            media_type: None,
            lines: Vec::new(),
            body,
            coding: Coding::Identity,
            length: None,
            age_s: None,
            close: false,
            dropped: false,
            varies_by_encoding: false,
            ranges: false,
            own_head: false,
            passes_trailers: false,
            judged: false,
            unsized_by_origin: false,
            uncompressed: 0,
            compressible: false,
            personal: false,
            postponed: false,
            limit_rate: None,
        }
    }

    /// Appends a field line.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        push_line(&mut self.lines, name, value);
    }

    /// Takes fields out, named in lower case.
    pub fn without(&mut self, names: &[&[u8]]) {
        let mut kept = Vec::with_capacity(self.lines.len());
        copy_lines(&self.lines, names, |line| kept.extend_from_slice(line));
        self.lines = kept;
    }

    /// `Content-Length`, where it is known.
    pub fn known_length(&self) -> Option<u64> {
        self.length.or_else(|| self.body.length())
    }

    /// `Content-Type`, wherever it stands.
    pub fn media_type(&self) -> Option<&[u8]> {
        match (&self.media_type, &self.made_from) {
            (Some(media_type), _) => Some(media_type),
            (None, MadeFrom::Page(page)) => line_named(page.meta().lines(), b"content-type"),
            (None, _) => None,
        }
    }

    /// The media type without its parameters; empty where there is none.
    pub fn bare_media_type(&self) -> &[u8] {
        let media_type = match (&self.media_type, &self.made_from) {
            (Some(media_type), _) => &**media_type,
            (None, MadeFrom::Page(page)) => page.meta().media_type(),
            (None, _) => b"",
        };
        media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
    }

    /// The coding of the body, and the level that it was compressed with, which tell its tag from those of others.
    pub fn encoding(&self) -> Encoding {
        let level = match (&self.made_from, self.coding) {
            (_, Coding::Identity) => 0,
            (MadeFrom::Page(page), coding) => {
                alternative(page, coding).map_or(0, |alternative| alternative.meta)
            }
            // A file that was compressed beforehand is what it is: its tag stands for these bytes.
            (MadeFrom::File(_), _) if self.uncompressed == 0 => return Encoding::IDENTITY,
            _ => 0,
        };
        Encoding { coding: self.coding, level }
    }

    /// Takes the answer off the page or file that it was made from: what was known of that become field lines, which
    /// a filter may change.
    pub fn detach(&mut self, etags: bool) {
        let mut lines = Vec::new();
        if let MadeFrom::Page(page) = &self.made_from {
            let meta = page.meta();
            if self.media_type.is_none() {
                let media_type = line_named(meta.lines(), b"content-type");
                self.media_type = media_type.map(|value| Cow::Owned(value.to_vec()));
            }
            copy_lines(meta.lines(), &[b"content-type"], |line| lines.extend_from_slice(line));
        }
        let modified = match &self.made_from {
            MadeFrom::Page(page) => page.meta().last_modified().map(|(text, _)| text.to_vec()),
            MadeFrom::File(entry) => entry.file().map(|file| file.modified.to_vec()),
            MadeFrom::Plain => None,
        };
        if let Some(text) = modified {
            push_line(&mut lines, b"Last-Modified", &text);
        }
        if let Some(tag) = self.tag(etags) {
            let mut text = Vec::new();
            tag.write(self.encoding(), &mut text);
            push_line(&mut lines, b"ETag", &text);
        }
        lines.append(&mut self.lines);
        self.lines = lines;
        self.made_from = MadeFrom::Plain;
    }

    /// Other bytes than before: a strong tag no longer holds (RFC 9110 section 8.8.1), nor what is no tag.
    pub fn weaken_tag(&mut self) {
        let Some(tag) = line_named(&self.lines, b"etag").map(<[u8]>::to_vec) else { return };
        if tag.starts_with(b"W/") {
            return;
        }
        self.without(&[b"etag"]);
        if tag.starts_with(b"\"") {
            self.field(b"ETag", &[b"W/", &tag[..]].concat());
        }
    }

    /// Returns the value of the field of that name, in lower case: of the answer's own lines, or of the stored page's.
    pub fn line(&self, name: &[u8]) -> Option<&[u8]> {
        let stored = match &self.made_from {
            MadeFrom::Page(page) => page.meta().lines(),
            MadeFrom::Plain | MadeFrom::File(_) => b"",
        };
        line_named(&self.lines, name).or_else(|| line_named(stored, name))
    }

    /// Returns true if [`Answer::line`] finds the field.
    pub fn has(&self, name: &[u8]) -> bool {
        self.line(name).is_some()
    }

    /// The tag that the answer is recognised by.
    pub fn tag(&self, etags: bool) -> Option<&EntityTag> {
        match &self.made_from {
            MadeFrom::Plain => None,
            MadeFrom::Page(page) => page.meta().facts.tag.as_ref(),
            MadeFrom::File(entry) => entry.file().filter(|_| etags).map(|file| &file.tag),
        }
    }

    /// The tag among the field lines, where the answer is of this request alone.
    pub fn own_tag(&self) -> Option<EntityTag> {
        let MadeFrom::Plain = &self.made_from else { return None };
        EntityTag::from_origin(line_named(&self.lines, b"etag")?, self.coding)
    }

    /// Last change, seconds since the epoch. `now_s` is needed for dates with two-digit years.
    pub fn modified_s(&self, now_s: u64) -> Option<u64> {
        match &self.made_from {
            MadeFrom::Plain => parse_http_date(line_named(&self.lines, b"last-modified")?, now_s),
            MadeFrom::Page(page) => page.meta().last_modified().map(|(_, seconds)| seconds),
            MadeFrom::File(entry) => entry.file().map(|file| file.modified_s),
        }
    }
}

fn push_line(lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        lines.extend_from_slice(part);
    }
}
