//! Response to a request as a content handler produces it, before conditions, ranges and encodings are applied.

use myriad_http::lines::{copy_lines, line_named};
use std::borrow::Cow;
use std::sync::Arc;

use myriad_base::calendar::parse_http_date;
use myriad_encode::Coding;
use myriad_files::PathEntry;
use myriad_net::ResponseBody;
use myriad_policy::{EntityTag, PageEncoding};

use myriad_store::page::{Page, alternative};

/// Source of a response's validators (`ETag`, `Last-Modified`) and header fields.
pub enum ResponseSource {
    /// Response that is neither a stored page nor a file, such as one of an origin; its validators, if any, are in
    /// [`ContentResponse::lines`].
    Plain,
    /// Stored page of the cache: it contains the validators and header fields.
    Page(Page),
    /// File: the validators are computed from its metadata.
    File(Arc<PathEntry>),
}

/// Response of a content handler, before conditions, ranges and encodings are applied.
pub struct ContentResponse {
    /// Status code of the response.
    pub status: u16,
    /// Reason phrase; `None` for the standard phrase of the status.
    pub reason: Option<Box<str>>,
    /// Source of the response's validators and header fields: neither page nor file, a stored page, or a file.
    pub source: ResponseSource,
    /// `Content-Type`; `None` if it is in `lines`, in the stored page, or absent.
    pub media_type: Option<Cow<'static, [u8]>>,
    /// Header field lines in addition to those of the page, each terminated by CRLF.
    pub lines: Vec<u8>,
    /// Body, already encoded with [`ContentResponse::coding`].
    pub body: ResponseBody,
    /// Content coding of the body, such as gzip.
    pub coding: Coding,
    /// `Content-Length` if it differs from the length of `body`, as in a response of an origin to HEAD; otherwise
    /// `None`.
    pub length: Option<u64>,
    /// `Age` of a page from the cache, in seconds; `None` for other responses.
    pub age_s: Option<u64>,
    /// Set if the connection is closed after the response.
    pub close: bool,
    /// Set if the connection is closed without a response (as with `return 444`).
    pub dropped: bool,
    /// Set if the response depends on `Accept-Encoding`. It then gets `Vary: Accept-Encoding` if `gzip_vary` is on.
    pub varies_by_encoding: bool,
    /// Set if `Range` requests may be answered with a part of the body.
    pub ranges: bool,
    /// Set if `lines`, or the stored page, may contain the origin's `Server` or `Date`, which are then sent instead of
    /// the fields that this server would generate.
    pub own_head: bool,
    /// Set if the conditions of the request (`If-*`) must not be evaluated, for example because the origin has
    /// evaluated them for this client, or because the validators of the response are not known.
    pub conditions_evaluated: bool,
    /// Set if the origin did not send the length of the body, even if the length is known now. `gzip_min_length` then
    /// does not apply.
    pub unsized_by_origin: bool,
    /// Size of the body before compression by this server, in bytes, for `$gzip_ratio`; 0 if it was not compressed.
    pub uncompressed: u64,
    /// Set if trailers of the origin are forwarded after the body (`proxy_pass_trailers`).
    pub passes_trailers: bool,
    /// Set if this server may compress the body, provided that the settings and the client permit it.
    pub compressible: bool,
    /// Set if the response is for this client only. It is marked as private, and settings such as `expires` do not
    /// apply.
    pub personal: bool,
    /// Set if the head is sent only together with the first bytes of the body. If the body fails before them, nothing
    /// is sent.
    pub postponed: bool,
    /// Rate limit for sending, from `X-Accel-Limit-Rate`, in bytes per second; `None` if `limit_rate` applies.
    pub limit_rate: Option<u64>,
}

impl ContentResponse {
    /// Creates a response with a status and a body, without header fields, source and coding, and with all flags off.
    pub fn new(status: u16, body: ResponseBody) -> Self {
        Self {
            status,
            reason: None,
            source: ResponseSource::Plain,
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
            conditions_evaluated: false,
            unsized_by_origin: false,
            uncompressed: 0,
            compressible: false,
            personal: false,
            postponed: false,
            limit_rate: None,
        }
    }

    /// Appends a header field line to `lines`.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        push_line(&mut self.lines, name, value);
    }

    /// Removes the header fields with these names from `lines`. `names` must be in lower case.
    pub fn without(&mut self, names: &[&[u8]]) {
        let mut retained = Vec::with_capacity(self.lines.len());
        copy_lines(&self.lines, names, |line| retained.extend_from_slice(line));
        self.lines = retained;
    }

    /// Returns the content length in bytes: the field `length`, otherwise the length of the body; `None` if neither is
    /// known.
    pub fn known_length(&self) -> Option<u64> {
        self.length.or_else(|| self.body.length())
    }

    /// Returns `Content-Type`, from the field `media_type` or from the page; `None` if it is only in `lines`, or
    /// absent.
    pub fn media_type(&self) -> Option<&[u8]> {
        match (&self.media_type, &self.source) {
            (Some(media_type), _) => Some(media_type),
            (None, ResponseSource::Page(page)) => line_named(page.meta().lines(), b"content-type"),
            (None, _) => None,
        }
    }

    /// Returns the media type without parameters; empty if [`Self::media_type()`] returns `None`.
    pub fn bare_media_type(&self) -> &[u8] {
        let media_type = match (&self.media_type, &self.source) {
            (Some(media_type), _) => &**media_type,
            (None, ResponseSource::Page(page)) => page.meta().media_type(),
            (None, _) => b"",
        };
        media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
    }

    /// Returns the coding and compression level of the body, which are part of its entity tag, because each encoding of
    /// a page needs a different tag. Returns identity for a precompressed file: the tag of such a file identifies its
    /// bytes already.
    pub fn encoding(&self) -> PageEncoding {
        let level = match (&self.source, self.coding) {
            (_, Coding::Identity) => 0,
            (ResponseSource::Page(page), coding) => {
                alternative(page, coding).map_or(0, |alternative| alternative.meta)
            }
            // The entity tag of a precompressed file identifies these exact bytes.
            (ResponseSource::File(_), _) if self.uncompressed == 0 => return PageEncoding::IDENTITY,
            _ => 0,
        };
        PageEncoding { coding: self.coding, level }
    }

    /// Detaches the response from its page or file: their header fields and validators become field lines, which a
    /// filter may change. `etags` is the `etag` setting for files.
    pub fn detach(&mut self, etags: bool) {
        let mut lines = Vec::new();
        if let ResponseSource::Page(page) = &self.source {
            let meta = page.meta();
            if self.media_type.is_none() {
                let media_type = line_named(meta.lines(), b"content-type");
                self.media_type = media_type.map(|value| Cow::Owned(value.to_vec()));
            }
            copy_lines(meta.lines(), &[b"content-type"], |line| lines.extend_from_slice(line));
        }
        let modified = match &self.source {
            ResponseSource::Page(page) => page.meta().last_modified().map(|(text, _)| text.to_vec()),
            ResponseSource::File(entry) => entry.file().map(|file| file.modified.to_vec()),
            ResponseSource::Plain => None,
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
        self.source = ResponseSource::Plain;
    }

    /// Adapts the entity tag in the field lines to a changed body: a strong tag becomes weak (RFC 9110 section 8.8.1),
    /// and an invalid tag is removed.
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

    /// Returns the value of a header field, from `lines` or from the page, but not from the field `media_type`; `None`
    /// if neither has it. `name` is in lower case.
    pub fn line(&self, name: &[u8]) -> Option<&[u8]> {
        let stored = match &self.source {
            ResponseSource::Page(page) => page.meta().lines(),
            ResponseSource::Plain | ResponseSource::File(_) => b"",
        };
        line_named(&self.lines, name).or_else(|| line_named(stored, name))
    }

    /// Returns true if the response or its page has the header field `name`, as [`ContentResponse::line`] does.
    pub fn has(&self, name: &[u8]) -> bool {
        self.line(name).is_some()
    }

    /// Returns the entity tag of the page, or of the file if `etags` is set; `None` if the page or file has no tag, and
    /// for a response that is neither a page nor a file.
    pub fn tag(&self, etags: bool) -> Option<&EntityTag> {
        match &self.source {
            ResponseSource::Plain => None,
            ResponseSource::Page(page) => page.meta().facts.tag.as_ref(),
            ResponseSource::File(entry) => entry.file().filter(|_| etags).map(|file| &file.tag),
        }
    }

    /// Returns the entity tag in the field `lines` of a response that is neither a page nor a file; `None` for pages
    /// and files, and if the tag is missing or invalid.
    pub fn own_tag(&self) -> Option<EntityTag> {
        let ResponseSource::Plain = &self.source else { return None };
        EntityTag::from_origin(line_named(&self.lines, b"etag")?, self.coding)
    }

    /// Returns the time of the last modification, of the page or file or from `Last-Modified` in `lines`, in seconds
    /// since the epoch; `None` if it is unknown. `now_s` is needed to interpret dates with two-digit years.
    pub fn modified_s(&self, now_s: u64) -> Option<u64> {
        match &self.source {
            ResponseSource::Plain => parse_http_date(line_named(&self.lines, b"last-modified")?, now_s),
            ResponseSource::Page(page) => page.meta().last_modified().map(|(_, seconds)| seconds),
            ResponseSource::File(entry) => entry.file().map(|file| file.modified_s),
        }
    }
}

fn push_line(lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        lines.extend_from_slice(part);
    }
}
