//! Heads of requests and responses, which can be reused for the next message of a connection.

use std::borrow::Cow;
use std::ops::Range;

use crate::uri::parse_host;
use crate::{Fields, Known, Method, ParseError};

/// HTTP version of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpVersion {
    /// HTTP/1.0 (RFC 1945).
    Http10,
    /// HTTP/1.1 and later minor versions (RFC 9112 §2.3).
    #[default]
    Http11,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// HTTP/3 (RFC 9114).
    Http3,
}

impl HttpVersion {
    /// Returns the name for request lines and `$server_protocol`. Status lines always have `HTTP/1.1`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
            Self::Http3 => "HTTP/3.0",
        }
    }
}

/// Head of a request: method, target, version and fields, and in HTTP/1 the bytes as received.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    pub(crate) method: Method,
    pub(crate) version: HttpVersion,
    pub(crate) method_range: Range<u32>,
    pub(crate) target_range: Range<u32>,
    pub(crate) line_len: u32,
    pub(crate) head_len: u32,
    pub(crate) wire_len: u32,
    pub(crate) fields: Fields,
    /// `Host` as received; `None` if normalization did not change it.
    sent_host: Option<Box<[u8]>>,
}

impl RequestHead {
    /// Creates an empty head without allocating.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a head from its parts, as for HTTP/2, HTTP/3 and tests. [`RequestHead::raw`] then only returns the
    /// request line.
    pub fn from_parts<'a>(
        method: &[u8],
        target: &[u8],
        version: HttpVersion,
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut head = Self::default();
        head.rebuild(method, target, version);
        for (name, value) in fields {
            head.fields.push(name, value);
        }
        head
    }

    /// Replaces the head by a request line without fields. Retains the allocated memory.
    pub fn rebuild(&mut self, method: &[u8], target: &[u8], version: HttpVersion) {
        self.clear();
        let target_start = method.len() + 1;
        self.method = Method::from_bytes(method);
        self.version = version;
        self.method_range = 0..method.len() as u32;
        self.target_range = target_start as u32..(target_start + target.len()) as u32;
        for part in [method, b" ", target, b" ", version.as_str().as_bytes()] {
            self.fields.extend_bytes(part);
        }
        self.line_len = self.fields.bytes().len() as u32;
        self.head_len = self.line_len;
        self.wire_len = self.line_len;
    }

    /// Replaces all fields, and retains method, target and version. [`RequestHead::raw`] and [`RequestHead::wire_len`]
    /// then only cover the request line.
    pub fn set_fields(&mut self, fields: &Fields) {
        let (method, target) = (self.method_bytes().to_vec(), self.target().to_vec());
        let sent_host = self.sent_host.take();
        self.rebuild(&method, &target, self.version);
        self.sent_host = sent_host;
        for (_, name, value) in fields.iter_known() {
            self.fields.push(name, value);
        }
    }

    /// Removes all contents of the head. Retains the allocated memory.
    pub fn clear(&mut self) {
        self.method = Method::default();
        self.version = HttpVersion::default();
        self.method_range = 0..0;
        self.target_range = 0..0;
        self.line_len = 0;
        self.head_len = 0;
        self.wire_len = 0;
        self.fields.clear();
        self.sent_host = None;
    }

    /// Validates `Host` with [`parse_host`], and normalizes it to lower case without a trailing dot. The port does not
    /// change. Does nothing without `Host`, and fails if it is invalid.
    ///
    /// Hosts then have one spelling, so origins generate the same links for all requests.
    pub fn normalize_host(&mut self) -> Result<(), ParseError> {
        let Some(sent) = self.fields.known(Known::Host) else { return Ok(()) };
        let host = parse_host(sent).map_err(|_| ParseError::InvalidHost)?;
        let has_dot = sent.get(host.name.len()) == Some(&b'.');
        if matches!(host.name, Cow::Borrowed(_)) && !has_dot {
            return Ok(());
        }
        let settled = [&host.name[..], &sent[host.name.len() + usize::from(has_dot)..]].concat();
        self.sent_host = Some(sent.into());
        self.fields.set_known(Known::Host, &settled);
        Ok(())
    }

    /// Sets `Host` and normalizes it like [`Self::normalize_host`]. Logs then contain `host` instead of the received value.
    ///
    /// # Errors
    /// Returns [`ParseError::InvalidHost`] if `host` is invalid; the field is then set, but not normalized.
    pub fn set_host(&mut self, host: &[u8]) -> Result<(), ParseError> {
        self.sent_host = None;
        self.fields.set_known(Known::Host, host);
        self.normalize_host()
    }

    /// Restores `Host` as received, for logs, if its normalization changed it.
    pub fn restore_host(&mut self) {
        if let Some(sent) = self.sent_host.take() {
            self.fields.set_known(Known::Host, &sent);
        }
    }

    /// Returns the method of the request; `GET` after [`RequestHead::set_method_get`].
    #[inline]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the method as received, or `GET` after [`RequestHead::set_method_get`].
    pub fn method_bytes(&self) -> &[u8] {
        self.slice(&self.method_range)
    }

    /// Returns the request target as received (RFC 9112 §3.2). For an origin-form target, this is `$request_uri`.
    #[inline]
    pub fn target(&self) -> &[u8] {
        self.slice(&self.target_range)
    }

    /// Changes the method to GET, for a subrequest. The request line and [`RequestHead::raw`] do not change.
    pub fn set_method_get(&mut self) {
        let start = self.fields.bytes().len() as u32;
        self.fields.extend_bytes(b"GET");
        self.method = Method::Get;
        self.method_range = start..start + 3;
    }

    /// Returns the HTTP version of the request.
    #[inline]
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Returns the request line without its terminator: nginx's `$request`. In HTTP/2 and HTTP/3, it is built from the
    /// pseudo-fields.
    pub fn request_line(&self) -> &[u8] {
        self.slice(&(0..self.line_len))
    }

    /// Returns the head as received, from the method to the empty line at its end; in HTTP/2 and HTTP/3, only the
    /// request line. Empty if an HTTP/1 head was not received completely.
    pub fn raw(&self) -> &[u8] {
        self.slice(&(0..self.head_len))
    }

    /// Returns the size of the received head in bytes (nginx's `$request_length` without the body); in HTTP/2, that of
    /// its header block, and in HTTP/3, only that of the request line. 0 if an HTTP/1 head was not received completely.
    pub fn wire_len(&self) -> u32 {
        self.wire_len
    }

    /// Returns the header fields of the request.
    #[inline]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns the fields for modification. [`RequestHead::raw`] does not change. The request line is stored in the
    /// fields: to replace them, use [`RequestHead::set_fields`].
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    /// Returns the value of the first field `name`, if any.
    #[inline]
    pub fn known(&self, name: Known) -> Option<&[u8]> {
        self.fields.known(name)
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        self.fields.bytes().get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

/// Head of a response.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Reason phrase, as received or from [`reason_phrase`]; may be empty (RFC 9112 §4).
    pub reason: Vec<u8>,
    /// HTTP version of the response.
    pub version: HttpVersion,
    /// Header fields.
    pub fields: Fields,
}

impl Default for ResponseHead {
    fn default() -> Self {
        Self::new(200)
    }
}

impl ResponseHead {
    /// Creates a head with a status, its usual reason phrase, version HTTP/1.1, and no fields.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            reason: reason_phrase(status).as_bytes().to_vec(),
            version: HttpVersion::Http11,
            fields: Fields::new(),
        }
    }

    /// Returns the head with an additional field.
    #[must_use]
    pub fn with(mut self, name: &[u8], value: &[u8]) -> Self {
        self.fields.push(name, value);
        self
    }

    /// Returns the head with its HTTP version replaced by `version`.
    #[must_use]
    pub fn with_version(mut self, version: HttpVersion) -> Self {
        self.version = version;
        self
    }

    /// Returns the value of the first field `name`, if any.
    pub fn known(&self, name: Known) -> Option<&[u8]> {
        self.fields.known(name)
    }

    /// Resets the head to status 200 and HTTP/1.1, without reason phrase and fields. Retains the allocated memory.
    pub fn clear(&mut self) {
        self.status = 200;
        self.reason.clear();
        self.version = HttpVersion::Http11;
        self.fields.clear();
    }

    /// Appends the head to `out` as in HTTP/1.1: status line, fields, and an empty line.
    pub fn write_h1(&self, out: &mut Vec<u8>) {
        write_status_line(self.status, &self.reason, out);
        self.fields.write_h1(out);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends the status line `HTTP/1.1 status reason` to `out`. The version is that of the server, whatever the request's
/// minor version is (RFC 9112 §2.3). `status` is limited to 100 to 999.
pub fn write_status_line(status: u16, reason: &[u8], out: &mut Vec<u8>) {
    let status = status.clamp(100, 999);
    let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(&digits);
    out.push(b' ');
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
}

/// Returns the usual reason phrase of `status`, in the wording of nginx if that has one; empty if there is none.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Moved Temporarily",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Time-out",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Large",
        415 => "Unsupported Media Type",
        416 => "Requested Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Temporarily Unavailable",
        504 => "Gateway Time-out",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_from_parts_reads_like_a_parsed_one() {
        let fields: [(&[u8], &[u8]); 2] = [(b"Host", b"a.example"), (b"X-One", b"1")];
        let head = RequestHead::from_parts(b"PURGE", b"/a?b", HttpVersion::Http2, fields);
        assert_eq!(head.method(), Method::Purge);
        assert_eq!(head.method_bytes(), b"PURGE");
        assert_eq!(head.target(), b"/a?b");
        assert_eq!(head.request_line(), b"PURGE /a?b HTTP/2.0");
        assert_eq!(head.known(Known::Host), Some(&b"a.example"[..]));
        assert_eq!(head.fields().get(b"x-one"), Some(&b"1"[..]));
        let mut copy = head.clone();
        drop(head);
        assert_eq!(copy.target(), b"/a?b");
        copy.set_fields(&[("X-Two", "2")].into_iter().collect());
        assert_eq!(copy.request_line(), b"PURGE /a?b HTTP/2.0");
        assert_eq!((copy.fields().get(b"x-two"), copy.known(Known::Host)), (Some(&b"2"[..]), None));
    }

    #[test]
    fn a_host_has_one_spelling_and_can_be_had_as_it_came() {
        for (sent, settled) in [
            ("A.Example", "a.example"),
            ("a.example.", "a.example"),
            ("A.EXAMPLE.:8080", "a.example:8080"),
            ("a.example:", "a.example:"),
            ("[FE80::1]:80", "[fe80::1]:80"),
            ("a.example:80", "a.example:80"),
        ] {
            let fields = [(&b"hOST"[..], sent.as_bytes()), (b"X", b"1")];
            let mut head = RequestHead::from_parts(b"GET", b"/", HttpVersion::Http11, fields);
            assert_eq!(head.normalize_host(), Ok(()));
            assert_eq!(head.known(Known::Host), Some(settled.as_bytes()), "{sent}");
            assert_eq!((head.fields().len(), head.fields().get(b"x")), (2, Some(&b"1"[..])));
            head.restore_host();
            assert_eq!(head.known(Known::Host), Some(sent.as_bytes()));
        }
        let mut head =
            RequestHead::from_parts(b"GET", b"/", HttpVersion::Http11, [(&b"Host"[..], &b"a..b"[..])]);
        assert_eq!(head.normalize_host(), Err(ParseError::InvalidHost));
        assert_eq!(RequestHead::new().normalize_host(), Ok(()));
    }

    #[test]
    fn head_converted_to_get_retains_request_line() {
        let mut head =
            RequestHead::from_parts(b"POST", b"/a", HttpVersion::Http11, [(&b"Host"[..], &b"x"[..])]);
        head.set_method_get();
        assert_eq!((head.method(), head.method_bytes()), (Method::Get, &b"GET"[..]));
        assert_eq!(head.request_line(), b"POST /a HTTP/1.1");
        assert_eq!(head.known(Known::Host), Some(&b"x"[..]));
    }

    #[test]
    fn a_response_head_is_written_as_http_1_1() {
        let mut out = Vec::new();
        ResponseHead::new(404).with(b"X", b"y").with(b"Content-Length", b"0").write_h1(&mut out);
        assert_eq!(out, b"HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn an_unknown_status_is_written_with_an_empty_phrase() {
        let mut out = Vec::new();
        ResponseHead::new(599).write_h1(&mut out);
        assert_eq!(out, b"HTTP/1.1 599 \r\n\r\n");
    }
}
