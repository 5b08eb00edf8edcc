//! Framing of bodies and persistence of connections (RFC 9112 §6.3, §9.3).

use crate::{Fields, HttpVersion, Known, Method, ParseError, RequestHead, ResponseHead};

/// Framing of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Neither `Content-Length` nor `Transfer-Encoding`: a request in HTTP/1 has no body.
    None,
    /// Body of this length in bytes; 0 if the client sent `Content-Length: 0`.
    Length(u64),
    /// Chunked coding.
    Chunked,
}

/// Framing of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    /// No body, whatever the fields are: a response to HEAD, with status 1xx, 204 or 304, or to a successful CONNECT.
    None,
    /// Body of this length in bytes.
    Length(u64),
    /// Chunked coding.
    Chunked,
    /// The body is terminated by the close of the connection.
    UntilClose,
}

/// Options in a `Connection` field that a proxy must handle (RFC 9110 §7.6.1). Each flag is true if the field contains
/// the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// True if the field contains `close`.
    pub close: bool,
    /// True if the field contains `keep-alive`.
    pub keep_alive: bool,
    /// True if the field contains `upgrade`.
    pub upgrade: bool,
}

/// Returns the framing of the body of a request. Ambiguous framing is an error (RFC 9112 §6.3), and so is
/// `Transfer-Encoding` in HTTP/1.0.
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

/// Returns the framing of the body of a response to a request with `method` (RFC 9112 §6.3). After an error, the client
/// gets a 502.
///
/// The rules are as strict as for requests, except that `Transfer-Encoding` in HTTP/1.0 is accepted: some origins send
/// it in response to HTTP/1.0 requests. The connection is not reused after such a response.
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

/// Returns an error unless the message has a single `Transfer-Encoding: chunked` and no `Content-Length`.
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

/// Returns whether a `Transfer-Encoding` lists only codings of RFC 9112 §7 and contains `chunked`, but not as the last
/// coding. Returns false if a coding is unknown, for which the caller reports another error.
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

/// Returns the value of `Content-Length`; `None` without the field. Fails if the field is repeated, even with the same
/// value, or is not a decimal number below 2⁶³.
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

/// Parses the value of a `Connection` field; other options are ignored.
pub fn connection_options(value: &[u8]) -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    // Common spellings, compared first because that is faster than parsing a list.
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

/// Returns whether the connection may persist after this request, as far as the client is concerned (RFC 9112 §9.3).
#[inline]
pub fn wants_keep_alive(head: &RequestHead) -> bool {
    persists(head.version(), head.fields())
}

/// Returns whether the origin keeps the connection open after this response (RFC 9112 §9.3); false for HTTP/1.0 with
/// `Transfer-Encoding`. The caller must also check for [`ResponseFraming::UntilClose`], after which no connection stays
/// open.
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
