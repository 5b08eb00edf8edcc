//! The end of a body, and whether the connection goes on (RFC 9112 §6.3, §9.3).

use crate::{Fields, Known, Method, ParseError, RequestHead, ResponseHead, Version};

/// How the body of a request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes; may be 0 where the client said so.
    Length(u64),
    /// The chunked coding.
    Chunked,
}

/// How the body of a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    /// There is no body, whatever the fields say: HEAD, 1xx, 204, 304.
    None,
    /// So many bytes.
    Length(u64),
    /// The chunked coding.
    Chunked,
    /// Everything until the connection closes.
    UntilClose,
}

/// The options of `Connection` fields that a proxy acts on (RFC 9110 §7.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `close`.
    pub close: bool,
    /// `keep-alive`.
    pub keep_alive: bool,
    /// `upgrade`.
    pub upgrade: bool,
}

/// How the body of `head` is framed; whatever two readers could read differently is an error (RFC 9112 §6.3).
#[inline]
pub fn request_framing(head: &RequestHead) -> Result<Framing, ParseError> {
    let fields = head.fields();
    if fields.has(Known::TransferEncoding) {
        if head.version() == Version::Http10 {
            return Err(ParseError::TransferEncodingInHttp10);
        }
        check_chunked(fields)?;
        return Ok(Framing::Chunked);
    }
    Ok(content_length(fields)?.map_or(Framing::None, Framing::Length))
}

/// How the body of the response `head` to a request with `method` is framed (RFC 9112 §6.3); an error means 502.
///
/// As strict as for requests; only `Transfer-Encoding` in HTTP/1.0 is taken, as some origins answer nginx's HTTP/1.0
/// requests so: the connection is not used again after it.
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

/// Refuses every `Transfer-Encoding` but one `chunked` without a `Content-Length` beside it.
fn check_chunked(fields: &Fields) -> Result<(), ParseError> {
    if fields.has(Known::ContentLength) {
        return Err(ParseError::LengthAndEncoding);
    }
    if fields.is_repeated(Known::TransferEncoding) {
        return Err(ParseError::RepeatedField);
    }
    match fields.known(Known::TransferEncoding) {
        Some(value) if value.eq_ignore_ascii_case(b"chunked") => Ok(()),
        Some(value) if names_chunked_before_the_last(value) => Err(ParseError::ChunkedNotLast),
        _ => Err(ParseError::UnknownTransferEncoding),
    }
}

/// Whether all codings of a list are known to HTTP (RFC 9112 §7) and `chunked` is among them, but not the last. What names
/// another coding is not understood, which is what it is answered with.
fn names_chunked_before_the_last(value: &[u8]) -> bool {
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

/// The length that the fields state; a second `Content-Length` is an error even if it is the same.
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

/// The options in one `Connection` value.
pub fn connection_options(value: &[u8]) -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    // Most say one of these, in this spelling: a tenth of what a list takes.
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

/// Whether the client wants the connection to go on after this exchange (RFC 9112 §9.3).
#[inline]
pub fn wants_keep_alive(head: &RequestHead) -> bool {
    persists(head.version(), head.fields())
}

/// Whether the origin keeps the connection open after this response (RFC 9112 §9.3); the caller adds that a body
/// [`ResponseFraming::UntilClose`] never does.
pub fn response_keeps_alive(head: &ResponseHead) -> bool {
    let faulty = head.version == Version::Http10 && head.fields.has(Known::TransferEncoding);
    !faulty && persists(head.version, &head.fields)
}

fn persists(version: Version, fields: &Fields) -> bool {
    let mut all = ConnectionOptions::default();
    for value in fields.known_all(Known::Connection) {
        let options = connection_options(value);
        all.close |= options.close;
        all.keep_alive |= options.keep_alive;
    }
    !all.close && (version >= Version::Http11 || all.keep_alive)
}

#[cfg(test)]
mod tests;
