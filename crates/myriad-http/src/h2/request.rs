//! Conversion of the fields of an HTTP/2 header block to a request head (RFC 9113 §8.2, §8.3), also used for HTTP/3.

use std::ops::Range;

use super::Priority;
use crate::h1::HeadLimits;
use crate::token::is_tchar;
use crate::{Fields, HttpVersion, Known, Method, ParseError, RequestHead};

/// Memory for building request heads, reused between requests.
#[derive(Debug, Default)]
pub(crate) struct HeadBuffers {
    text: Vec<u8>,
    cookies: Vec<u8>,
}

/// Builder of a request head in HTTP/2 and HTTP/3, which receives the fields of a header block in order.
pub(crate) struct RequestBuilder<'a> {
    version: HttpVersion,
    head: &'a mut RequestHead,
    limits: &'a HeadLimits,
    scratch: &'a mut HeadBuffers,
    method: Option<Range<usize>>,
    path: Option<Range<usize>>,
    scheme: Option<Range<usize>>,
    authority: Option<Range<usize>>,
    /// True once the request line has been built, after the last pseudo-field.
    began: bool,
    hosts: usize,
    priority: Priority,
    error: Option<ParseError>,
}

impl<'a> RequestBuilder<'a> {
    /// Creates a builder that fills `head`. `version` is HTTP/2 or HTTP/3.
    pub(crate) fn new(
        version: HttpVersion,
        head: &'a mut RequestHead,
        limits: &'a HeadLimits,
        scratch: &'a mut HeadBuffers,
    ) -> Self {
        head.clear();
        scratch.text.clear();
        scratch.cookies.clear();
        Self {
            version,
            head,
            limits,
            scratch,
            method: None,
            path: None,
            scheme: None,
            authority: None,
            began: false,
            hosts: 0,
            priority: Priority::default(),
            error: None,
        }
    }

    /// Adds a field of the request. After an error, fields are ignored.
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.error.is_none() {
            self.error = self.add_field(name, value).err();
        }
    }

    /// Completes the head. Returns the priority of the response, and the first error, if any. After an error in a
    /// field, the head contains only the fields before it.
    pub(crate) fn finish(mut self) -> (Priority, Option<ParseError>) {
        self.build_request_line();
        if !self.scratch.cookies.is_empty() {
            self.head.fields_mut().push(b"cookie", &self.scratch.cookies);
        }
        let error = self.error.or_else(|| crate::h1::check_fields(self.head).err());
        (self.priority, error)
    }

    fn add_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        check_value(value)?;
        if let [b':', pseudo @ ..] = name {
            return if self.began {
                Err(ParseError::InvalidPseudoField)
            } else {
                self.add_pseudo_field(pseudo, value)
            };
        }
        self.build_request_line();
        let odd = check_name(name, self.limits.underscores_in_headers)?;
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if odd && self.limits.ignore_invalid_headers {
            return Ok(());
        }
        self.add_regular_field(name, value.trim_ascii())
    }

    fn add_pseudo_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        let slot = match name {
            b"method" => &mut self.method,
            b"path" => &mut self.path,
            b"scheme" => &mut self.scheme,
            b"authority" => &mut self.authority,
            _ => return Err(ParseError::InvalidPseudoField),
        };
        if slot.is_some() {
            return Err(ParseError::InvalidPseudoField);
        }
        let start = self.scratch.text.len();
        self.scratch.text.extend_from_slice(value);
        *slot = Some(start..self.scratch.text.len());
        Ok(())
    }

    /// Builds the request line from the pseudo-fields, and adds `Host` with the value of `:authority` if there is one.
    /// Further calls do nothing.
    fn build_request_line(&mut self) {
        if std::mem::replace(&mut self.began, true) {
            return;
        }
        let text = &self.scratch.text;
        let (method, path) = (part(text, self.method.as_ref()), part(text, self.path.as_ref()));
        let scheme = part(text, self.scheme.as_ref());
        self.head.rebuild(method, path, self.version);
        if let Err(error) = check_line(method, path, scheme) {
            self.error.get_or_insert(error);
        }
        if self.authority.is_some() {
            self.head.fields_mut().push(b"host", part(text, self.authority.as_ref()));
        }
    }

    fn add_regular_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        match name {
            // RFC 9113 §8.2.2: fields about the connection make the request malformed.
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                return Err(ParseError::ConnectionField);
            }
            b"te" if !value.eq_ignore_ascii_case(b"trailers") => return Err(ParseError::ConnectionField),
            // RFC 9113 §8.2.3: several `cookie` fields are joined into one. Empty values are dropped, because the
            // joined value would end with white space, unlike any regular value.
            b"cookie" if value.is_empty() => return Ok(()),
            b"cookie" => {
                if !self.scratch.cookies.is_empty() {
                    self.scratch.cookies.extend_from_slice(b"; ");
                }
                self.scratch.cookies.extend_from_slice(value);
                return Ok(());
            }
            b"host" => {
                self.hosts += 1;
                if self.hosts > 1 {
                    return Err(ParseError::RepeatedField);
                }
                // As in nginx, `host` must equal `:authority` (RFC 9113 §8.3.1). Otherwise two recipients could use
                // different hosts.
                if self.authority.is_some() {
                    let authority = part(&self.scratch.text, self.authority.as_ref());
                    let same = value.eq_ignore_ascii_case(authority);
                    return if same { Ok(()) } else { Err(ParseError::HostMismatch) };
                }
            }
            b"priority" => self.priority = Priority::parse(value),
            _ => {}
        }
        // The `host` field made from `:authority` does not count.
        let own = self.head.fields().len() - usize::from(self.authority.is_some());
        if own >= self.limits.fields {
            return Err(ParseError::TooManyFields);
        }
        self.head.fields_mut().try_push(name, value)
    }
}

fn part<'a>(text: &'a [u8], range: Option<&Range<usize>>) -> &'a [u8] {
    range.and_then(|range| text.get(range.clone())).unwrap_or_default()
}

/// Rejects a missing or invalid method, path or scheme (RFC 9113 §8.3.1). The only valid path without a leading slash
/// is `*`, with the method OPTIONS.
fn check_line(method: &[u8], path: &[u8], scheme: &[u8]) -> Result<(), ParseError> {
    if method.is_empty() || path.is_empty() || scheme.is_empty() {
        return Err(ParseError::InvalidPseudoField);
    }
    if !method.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'_' | b'-')) {
        return Err(ParseError::InvalidMethod);
    }
    let scheme_sound = scheme[0].is_ascii_alphabetic()
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !scheme_sound {
        return Err(ParseError::InvalidPseudoField);
    }
    let form = path[0] == b'/' || path == b"*" && Method::from_bytes(method) == Method::Options;
    if form && path.iter().all(|byte| *byte > b' ' && *byte != 0x7f) {
        Ok(())
    } else {
        Err(ParseError::InvalidTarget)
    }
}

/// Rejects names that are not valid in HTTP/2 (RFC 9113 §8.2.1, RFC 9110 §5.1) or exceed [`Fields::MAX_NAME`]. Returns
/// whether the name contains bytes that nginx calls invalid, which includes `_` unless `underscores` is true.
pub(crate) fn check_name(name: &[u8], underscores: bool) -> Result<bool, ParseError> {
    if name.is_empty() {
        return Err(ParseError::InvalidFieldName);
    }
    if name.len() > Fields::MAX_NAME {
        return Err(ParseError::HeaderTooLarge);
    }
    let mut odd = false;
    for byte in name {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => {}
            b'_' if underscores => {}
            b'A'..=b'Z' => return Err(ParseError::InvalidFieldName),
            byte if !is_tchar(*byte) => return Err(ParseError::InvalidFieldName),
            _ => odd = true,
        }
    }
    Ok(odd)
}

/// Rejects field values with control bytes other than tabs (RFC 9110 §5.5), as in HTTP/1. RFC 9113 §8.2.1 requires this
/// for only three of them, but origins reject the others or interpret them differently.
pub(crate) fn check_value(value: &[u8]) -> Result<(), ParseError> {
    if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        Err(ParseError::ControlByte)
    } else {
        Ok(())
    }
}

/// Returns whether a field is valid in a trailer section (RFC 9113 §8.1, RFC 9110 §6.5.1): it is well-formed, and is
/// neither a pseudo-field nor `Connection`, `Keep-Alive`, `Transfer-Encoding` or `Upgrade`.
pub(crate) fn is_trailer(name: &[u8], value: &[u8]) -> bool {
    check_name(name, true).is_ok()
        && check_value(value).is_ok()
        && !matches!(
            Known::from_bytes(name),
            Some(Known::Connection | Known::KeepAlive | Known::TransferEncoding | Known::Upgrade)
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "https"), (":path", "/a?b"), (":authority", "a.example")];

    fn build(fields: &[(&str, &str)]) -> (RequestHead, Priority, Option<ParseError>) {
        let mut head = RequestHead::new();
        let limits = HeadLimits { fields: 5, ..HeadLimits::default() };
        let mut scratch = HeadBuffers::default();
        let mut builder = RequestBuilder::new(HttpVersion::Http2, &mut head, &limits, &mut scratch);
        for (name, value) in fields {
            builder.field(name.as_bytes(), value.as_bytes());
        }
        let (priority, error) = builder.finish();
        (head, priority, error)
    }

    fn error(more: &[(&str, &str)]) -> Option<ParseError> {
        build(&[&LINE[..], more].concat()).2
    }

    #[test]
    fn a_request_reads_like_one_of_http_1() {
        let more = [("cookie", "a=1"), ("x-a", " 1 "), ("cookie", "b=2"), ("priority", "u=1")];
        let (head, priority, error) = build(&[&LINE[..], &more].concat());
        assert_eq!(error, None);
        assert_eq!(head.request_line(), b"GET /a?b HTTP/2.0");
        assert_eq!(head.version(), HttpVersion::Http2);
        assert_eq!(head.known(Known::Host), Some(&b"a.example"[..]));
        assert_eq!(head.known(Known::Cookie), Some(&b"a=1; b=2"[..]));
        assert_eq!(head.fields().get(b"x-a"), Some(&b"1"[..]));
        assert_eq!(priority.urgency, 1);
    }

    #[test]
    fn crumbs_of_cookies_are_joined_and_empty_ones_left_out() {
        for (crumbs, joined) in [
            (&["a=1", "b=2"][..], Some(&b"a=1; b=2"[..])),
            (&["a=1", "", " "], Some(b"a=1")),
            (&["", "a=1", "", "b=2"], Some(b"a=1; b=2")),
            (&["", ""], None),
        ] {
            let crumbs: Vec<_> = crumbs.iter().map(|crumb| ("cookie", *crumb)).collect();
            let (head, _, error) = build(&[&LINE[..], &crumbs].concat());
            assert_eq!((head.known(Known::Cookie), error), (joined, None), "{crumbs:?}");
        }
    }

    #[test]
    fn pseudo_fields_are_whole_single_known_and_first() {
        for left_out in 0..3 {
            let fields: Vec<_> =
                LINE.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, f)| *f).collect();
            assert_eq!(build(&fields).2, Some(ParseError::InvalidPseudoField));
        }
        assert_eq!(build(&LINE[..3]).2, Some(ParseError::MissingHost));
        assert_eq!(build(&[]).2, Some(ParseError::InvalidPseudoField));
        for field in [(":method", "GET"), (":status", "200"), (":Method", "GET"), (":", "")] {
            assert_eq!(error(&[field]), Some(ParseError::InvalidPseudoField));
        }
        assert_eq!(build(&[LINE[0], LINE[1], ("x", "y"), LINE[2]]).2, Some(ParseError::InvalidPseudoField));
    }

    #[test]
    fn malformed_lines_and_fields_are_refused() {
        let line = |method, path, scheme| {
            build(&[(":method", method), (":path", path), (":scheme", scheme), LINE[3]]).2
        };
        assert_eq!(line("get", "/", "http"), Some(ParseError::InvalidMethod));
        assert_eq!(line("CONNECT", "", "http"), Some(ParseError::InvalidPseudoField));
        assert_eq!(line("GET", "/", "a/b"), Some(ParseError::InvalidPseudoField));
        for path in ["x", "*", "/ HTTP/1.1", "http://a/"] {
            assert_eq!(line("GET", path, "http"), Some(ParseError::InvalidTarget), "{path}");
        }
        assert_eq!(line("OPTIONS", "*", "http"), None);
        assert_eq!(error(&[("X-A", "1")]), Some(ParseError::InvalidFieldName));
        for name in ["x a", "x[a", "x\"a", "x/a", "é", "x:a", "(x)", "x\x01"] {
            assert_eq!(error(&[(name, "1")]), Some(ParseError::InvalidFieldName), "{name}");
        }
        assert_eq!(error(&[("", "1")]), Some(ParseError::InvalidFieldName));
        let longest = "a".repeat(Fields::MAX_NAME);
        assert_eq!(error(&[(&longest, "1")]), None);
        assert_eq!(error(&[(&format!("{longest}a"), "1")]), Some(ParseError::HeaderTooLarge));
        assert!(is_trailer(longest.as_bytes(), b"1"));
        assert!(!is_trailer(&[longest.as_bytes(), b"a"].concat(), b"1"));
        assert_eq!(error(&[("host", "a.example"), ("host", "a.example")]), Some(ParseError::RepeatedField));
        assert_eq!(
            error(&[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""), ("f", "")]),
            Some(ParseError::TooManyFields)
        );
        for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"] {
            assert_eq!(error(&[(name, "x")]), Some(ParseError::ConnectionField));
        }
        assert_eq!(error(&[("te", "trailers")]), None);
    }

    #[test]
    fn a_control_byte_other_than_a_tab_is_refused_wherever_it_stands() {
        let limits = HeadLimits::default();
        let error = |at: usize, value: &[u8]| {
            let mut head = RequestHead::new();
            let mut scratch = HeadBuffers::default();
            let mut builder = RequestBuilder::new(HttpVersion::Http3, &mut head, &limits, &mut scratch);
            for (number, (name, usual)) in LINE.iter().chain(&[("x-a", "1")]).enumerate() {
                builder.field(name.as_bytes(), if number == at { value } else { usual.as_bytes() });
            }
            builder.finish().1
        };
        for byte in (0..=255_u8).filter(u8::is_ascii_control) {
            for place in 0..5 {
                for value in [&[byte, b'a'][..], &[b'/', byte, b'a'], &[b'/', b'a', byte]] {
                    let allowed = place == 4 && byte == b'\t';
                    assert_eq!(error(place, value).is_none(), allowed, "{byte} at {place}");
                }
            }
        }
        for byte in 0x80..=0xff {
            assert_eq!(error(4, &[byte]), None);
            assert!(!is_trailer(b"x", b"a\x01") && is_trailer(b"x", &[byte]));
        }
    }

    #[test]
    fn the_authority_is_the_only_host() {
        let (head, _, error) = build(&[&LINE[..], &[("host", "A.example")]].concat());
        assert_eq!(error, None);
        assert_eq!(head.fields().known_all(Known::Host).collect::<Vec<_>>(), [b"a.example"]);
        for other in ["other.example", "a.example:81", ""] {
            let (head, _, error) = build(&[&LINE[..], &[("host", other)]].concat());
            assert_eq!(error, Some(ParseError::HostMismatch));
            assert_eq!(head.fields().known_all(Known::Host).collect::<Vec<_>>(), [b"a.example"]);
        }
        let (head, _, error) = build(&[LINE[0], LINE[1], LINE[2], ("host", "other.example")]);
        assert_eq!((error, head.known(Known::Host)), (None, Some(&b"other.example"[..])));
    }

    #[test]
    fn names_that_nginx_calls_invalid_are_dropped() {
        let (head, _, error) = build(&[&LINE[..], &[("x_a", "1"), ("x!", "2"), ("x-b", "3")]].concat());
        assert_eq!((error, head.fields().len()), (None, 2));
    }
}
