//! Encoding of responses as HTTP/3 frames.

use super::frame::{kind, write_head};
use super::qpack::QpackEncoder;

/// Appends the head of a response to `out`: `:status` and the fields, whose names may contain capital letters. Fields
/// that are specific to HTTP/1 connections are omitted. `section` is a buffer that callers reuse.
pub fn response_head<'a>(
    status: u16,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    encoder: &mut QpackEncoder,
    section: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    section.clear();
    QpackEncoder::begin(section);
    QpackEncoder::status(status, section);
    for (name, value) in fields {
        if !is_http1_only(name) {
            encoder.field(name, value, section);
        }
    }
    write_head(out, kind::HEADERS, section.len());
    out.extend_from_slice(section);
}

/// Appends an interim response (1xx) to `out`.
pub fn interim_response<'a>(
    status: u16,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) {
    response_head(status, fields, &mut QpackEncoder::default(), &mut Vec::new(), out);
}

/// Appends trailer fields to `out`.
pub fn trailers<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>, out: &mut Vec<u8>) {
    let mut section = Vec::new();
    let mut encoder = QpackEncoder::default();
    QpackEncoder::begin(&mut section);
    for (name, value) in fields {
        encoder.field(name, value, &mut section);
    }
    write_head(out, kind::HEADERS, section.len());
    out.extend_from_slice(&section);
}

/// Appends the type and length of a DATA frame to `out`; `length` bytes of a body, fewer than 2⁶², must follow.
pub fn data_frame(length: u64, out: &mut Vec<u8>) {
    super::frame::write_integer(out, kind::DATA);
    super::frame::write_integer(out, length);
}

/// Returns whether a field is specific to HTTP/1 connections (RFC 9114 §4.2), such as `Connection`.
fn is_http1_only(name: &[u8]) -> bool {
    let names: [&[u8]; 5] =
        [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];
    matches!(name.len(), 7 | 10 | 16 | 17) && names.iter().any(|known| name.eq_ignore_ascii_case(known))
}
