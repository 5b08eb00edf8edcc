//! Requests that two implementations could interpret differently: the parser or the framing rejects each.

use super::*;
use crate::h1::request_framing;

fn verdict(text: &[u8]) -> Result<(), ParseError> {
    let (result, head) = parse_with(text, &HeadLimits::default());
    match result? {
        ParseStatus::Partial => panic!("not complete: {}", text.escape_ascii()),
        ParseStatus::Complete(_) => request_framing(&head).map(|_| ()),
    }
}

#[test]
fn field_lines_that_smuggle_are_refused() {
    use ParseError as E;
    let lines: &[(&str, ParseError)] = &[
        ("Content-Length : 5", E::InvalidFieldName),
        ("Content-Length\t: 5", E::InvalidFieldName),
        ("Content-Length\x0B: 5", E::ControlByte),
        ("Content-Length\0: 5", E::ControlByte),
        ("Content-Length\r: 5", E::BareCarriageReturn),
        ("Content Length: 5", E::InvalidFieldName),
        (": 5", E::InvalidFieldName),
        (" X: 5", E::ObsoleteFold),
        ("\tX: 5", E::ObsoleteFold),
        ("X: a\r\n b", E::ObsoleteFold),
        ("X: a\r\n\tb: c", E::ObsoleteFold),
        ("X", E::MissingColon),
        ("X\r\nY: 1", E::MissingColon),
        ("X y\r\nY: 1", E::InvalidFieldName),
        ("X: a\rb", E::BareCarriageReturn),
        ("X: a\r\rb", E::BareCarriageReturn),
        ("X: a\rContent-Length: 5", E::BareCarriageReturn),
        ("\rX: a", E::BareCarriageReturn),
        ("X: a\0b", E::ControlByte),
        ("X: a\x01b", E::ControlByte),
        ("X: a\x7Fb", E::ControlByte),
        ("X: \x1B[31m", E::ControlByte),
        ("Content-Length: 5\r\nContent-Length: 5", E::RepeatedField),
        ("Content-Length: 5\r\nContent-Length: 6", E::RepeatedField),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", E::LengthAndEncoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0", E::LengthAndEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", E::RepeatedField),
        ("Transfer-Encoding: identity", E::UnknownTransferEncoding),
        ("Transfer-Encoding: chunked, identity", E::UnknownTransferEncoding),
        ("Transfer-Encoding: chunked, gzip", E::ChunkedNotLast),
        ("Transfer-Encoding: gzip, chunked", E::UnknownTransferEncoding),
        ("Transfer-Encoding: chunked, chunked", E::UnknownTransferEncoding),
        ("Transfer-Encoding: xchunked", E::UnknownTransferEncoding),
        ("Transfer-Encoding: \"chunked\"", E::UnknownTransferEncoding),
        ("Transfer-Encoding: chunked;a=b", E::UnknownTransferEncoding),
        ("Transfer-Encoding: ,chunked", E::UnknownTransferEncoding),
        ("Transfer-Encoding:\x0Bchunked", E::ControlByte),
        ("Transfer-Encoding:", E::UnknownTransferEncoding),
        ("Content-Length: 5, 5", E::InvalidLength),
        ("Content-Length: +5", E::InvalidLength),
        ("Content-Length: -5", E::InvalidLength),
        ("Content-Length: 0x5", E::InvalidLength),
        ("Content-Length: 5 5", E::InvalidLength),
        ("Content-Length: 5.", E::InvalidLength),
        ("Content-Length: \u{b2}", E::InvalidLength),
        ("Content-Length:", E::InvalidLength),
        ("Content-Length: 9223372036854775808", E::InvalidLength),
        ("Content-Length: 99999999999999999999999999", E::InvalidLength),
    ];
    for &(line, error) in lines {
        assert_eq!(verdict(with_line(line).as_bytes()), Err(error), "{line:?}");
        let status = if error == E::UnknownTransferEncoding { 501 } else { 400 };
        assert_eq!(error.status(), status, "{line:?}");
    }
}

#[test]
fn chunked_is_refused_in_http_1_0() {
    let text = b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(verdict(text), Err(ParseError::TransferEncodingInHttp10));
}

#[test]
fn what_all_readers_read_alike_is_taken() {
    for line in [
        "Content-Length: 5",
        "Content-Length:\t5 ",
        "Content-Length: 00005",
        "Content-Length: 9223372036854775807",
        "Transfer-Encoding: Chunked",
        "transfer-encoding:chunked ",
        "X: a\tb",
        "X: \u{e9}\u{ff}",
        "X: :",
        "X:",
    ] {
        assert_eq!(verdict(with_line(line).as_bytes()), Ok(()), "{line:?}");
    }
}

/// Inserts every byte value at every position of a small request, or replaces the byte there: the request must be
/// rejected or incomplete, or have the same fields as the lines of its text.
#[test]
fn a_byte_anywhere_never_hides_a_field() {
    let base = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX: b\r\n\r\n";
    for place in 0..base.len() {
        for byte in 0..=255_u8 {
            for insert in [false, true] {
                let mut text = base.to_vec();
                if insert {
                    text.insert(place, byte);
                } else {
                    text[place] = byte;
                }
                text.extend_from_slice(b"\r\n\r\n");
                let limits = HeadLimits { ignore_invalid_headers: false, ..HeadLimits::default() };
                let (result, head) = parse_with(&text, &limits);
                let Ok(ParseStatus::Complete(len)) = result else { continue };
                assert_agrees_with_plain_reading(&text[..len], &head);
            }
        }
    }
}

fn assert_agrees_with_plain_reading(text: &[u8], head: &RequestHead) {
    let shown = text.escape_ascii().to_string();
    let mut lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let line = lines.find(|line| !line.is_empty()).unwrap();
    assert_eq!(head.request_line(), line, "{shown}");
    let words: Vec<_> = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).collect();
    assert_eq!(words.len(), 3, "{shown}");
    assert_eq!((head.method_bytes(), head.target()), (words[0], words[1]), "{shown}");
    let plain: Vec<_> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| {
            let colon = line.iter().position(|&byte| byte == b':').expect("every line has a colon");
            (&line[..colon], line[colon + 1..].trim_ascii())
        })
        .collect();
    let mut head = head.clone();
    head.restore_host();
    assert_eq!(head.fields().iter().collect::<Vec<_>>(), plain, "{shown}");
    for (name, _) in plain {
        assert!(!name.is_empty() && name.iter().all(|&byte| byte > b' ' && byte != 0x7F), "{shown}");
    }
}
