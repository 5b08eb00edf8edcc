//! Length of a body and persistence of the connection (RFC 9112 §6.3, §9.3).

use crate::{Fields, HttpVersion, Known, Method, ParseError, RequestHead, ResponseHead};

/// Framing of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    None,
    /// Body of this length in bytes; 0 if the client sent `Content-Length: 0`.
    Length(u64),
    /// Chunked coding.
    Chunked,
}

/// Framing of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    /// No body, regardless of the fields: HEAD, 1xx, 204, 304, and a successful CONNECT.
    None,
    /// Body of this length in bytes.
    Length(u64),
    /// Chunked coding.
    Chunked,
    /// Body up to the close of the connection.
    UntilClose,
}

/// Options of `Connection` fields that a proxy handles (RFC 9110 §7.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `close`.
    pub close: bool,
    /// `keep-alive`.
    pub keep_alive: bool,
    /// `upgrade`.
    pub upgrade: bool,
}

/// Returns the framing of the body of request `head`. Ambiguous framing is an error (RFC 9112 §6.3).
#[inline]
pub fn request_framing(head: &RequestHead) -> Result<Framing, ParseError> {
    let fields = head.fields();
    if fields.has(Known::TransferEncoding) {
        if head.version() == HttpVersion::Http10 {
            return Err(ParseError::TransferEncodingInHttp10);
        }
        check_chunked(fields)?;
        return Ok(Framing::Chunked);
    }
    Ok(content_length(fields)?.map_or(Framing::None, Framing::Length))
}

/// Returns the framing of the body of response `head` to a request with `method` (RFC 9112 §6.3); an error means 502.
///
/// The rules are as strict as for requests, except that `Transfer-Encoding` in HTTP/1.0 is accepted: some origins
/// respond to nginx's HTTP/1.0 requests in this way. The connection is not reused after such a response.
pub fn response_framing(head: &ResponseHead, method: Method) -> Result<ResponseFraming, ParseError> {
    let bodiless = method == Method::Head || head.status < 200 || matches!(head.status, 204 | 304);
    if bodiless || (method == Method::Connect && head.status < 300) {
        return Ok(ResponseFraming::None);
    }
    if head.fields.has(Known::TransferEncoding) {
        check_chunked(&head.fields)?;
        return Ok(ResponseFraming::Chunked);
    }
    Ok(content_length(&head.fields)?.map_or(ResponseFraming::UntilClose, ResponseFraming::Length))
}

/// Rejects every `Transfer-Encoding` except a single `chunked` without `Content-Length`.
fn check_chunked(fields: &Fields) -> Result<(), ParseError> {
    if fields.has(Known::ContentLength) {
        return Err(ParseError::LengthAndEncoding);
    }
    if fields.is_repeated(Known::TransferEncoding) {
        return Err(ParseError::RepeatedField);
    }
    match fields.known(Known::TransferEncoding) {
        Some(value) if value.eq_ignore_ascii_case(b"chunked") => Ok(()),
        Some(value) if has_chunked_before_last(value) => Err(ParseError::ChunkedNotLast),
        _ => Err(ParseError::UnknownTransferEncoding),
    }
}

/// Returns whether all codings of a list are HTTP codings (RFC 9112 §7) and include `chunked`, but not as the last.
///
/// A list with an unknown coding returns false, because it is reported as an unknown coding.
fn has_chunked_before_last(value: &[u8]) -> bool {
    const OTHERS: [&[u8]; 5] = [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"];
    let codings = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|name| !name.is_empty());
    let (mut chunked, mut last) = (false, false);
    for coding in codings {
        last = coding.eq_ignore_ascii_case(b"chunked");
        chunked |= last;
        if !last && !OTHERS.iter().any(|other| coding.eq_ignore_ascii_case(other)) {
            return false;
        }
    }
    chunked && !last
}

/// Returns the value of `Content-Length`; a second field is an error even if its value is the same.
fn content_length(fields: &Fields) -> Result<Option<u64>, ParseError> {
    let Some(value) = fields.known(Known::ContentLength) else { return Ok(None) };
    if fields.is_repeated(Known::ContentLength) {
        return Err(ParseError::RepeatedField);
    }
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let length = value.iter().try_fold(0_i64, |length, &digit| {
        length.checked_mul(10)?.checked_add(i64::from(digit.wrapping_sub(b'0')))
    });
    match length {
        Some(length) if digits => Ok(Some(length as u64)),
        _ => Err(ParseError::InvalidLength),
    }
}

/// Parses the options of a `Connection` value.
pub fn connection_options(value: &[u8]) -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    // Most values have one of these spellings; this check takes a tenth of the time of parsing a list.
    match value {
        b"keep-alive" => return ConnectionOptions { keep_alive: true, ..options },
        b"close" => return ConnectionOptions { close: true, ..options },
        _ => {}
    }
    for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        options.close |= option.eq_ignore_ascii_case(b"close");
        options.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        options.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
    }
    options
}

/// Returns whether the client requests a persistent connection (RFC 9112 §9.3).
#[inline]
pub fn wants_keep_alive(head: &RequestHead) -> bool {
    persists(head.version(), head.fields())
}

/// Returns whether the origin keeps the connection open after this response (RFC 9112 §9.3). The caller must check for
/// [`ResponseFraming::UntilClose`], after which the connection never stays open.
pub fn response_keeps_alive(head: &ResponseHead) -> bool {
    let faulty = head.version == HttpVersion::Http10 && head.fields.has(Known::TransferEncoding);
    !faulty && persists(head.version, &head.fields)
}

fn persists(version: HttpVersion, fields: &Fields) -> bool {
    let mut all = ConnectionOptions::default();
    for value in fields.known_all(Known::Connection) {
        let options = connection_options(value);
        all.close |= options.close;
        all.keep_alive |= options.keep_alive;
    }
    !all.close && (version >= HttpVersion::Http11 || all.keep_alive)
}

#[cfg(test)]
mod tests;
