use super::*;

fn request(version: HttpVersion, fields: &[(&str, &str)]) -> RequestHead {
    let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    RequestHead::from_parts(b"POST", b"/", version, fields)
}

fn response(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    ResponseHead { fields: fields.iter().copied().collect(), ..ResponseHead::new(status) }
}

#[test]
fn requests_are_framed_by_length_or_chunks_or_have_no_body() {
    let framing = |fields: &[(&str, &str)]| request_framing(&request(HttpVersion::Http11, fields));
    assert_eq!(framing(&[]), Ok(Framing::None));
    assert_eq!(framing(&[("content-length", "0")]), Ok(Framing::Length(0)));
    assert_eq!(framing(&[("Content-Length", "42")]), Ok(Framing::Length(42)));
    assert_eq!(framing(&[("Content-Length", "9223372036854775807")]), Ok(Framing::Length(i64::MAX as u64)));
    assert_eq!(framing(&[("Transfer-Encoding", "CHUNKED")]), Ok(Framing::Chunked));
}

#[test]
fn ambiguous_framing_is_refused_in_requests_and_responses_alike() {
    let cases: [(&[(&str, &str)], ParseError); 12] = [
        (&[("Content-Length", "1"), ("Transfer-Encoding", "chunked")], ParseError::LengthAndEncoding),
        (&[("Content-Length", "1"), ("Content-Length", "1")], ParseError::RepeatedField),
        (&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], ParseError::RepeatedField),
        (&[("Transfer-Encoding", "gzip, chunked")], ParseError::UnknownTransferEncoding),
        (&[("Transfer-Encoding", "chunked, chunked")], ParseError::UnknownTransferEncoding),
        (&[("Transfer-Encoding", "gzip")], ParseError::UnknownTransferEncoding),
        (&[("Transfer-Encoding", "chunked, gzip")], ParseError::ChunkedNotLast),
        (&[("Transfer-Encoding", "gzip ,CHUNKED , x-gzip,")], ParseError::ChunkedNotLast),
        (&[("Transfer-Encoding", "chunked, identity")], ParseError::UnknownTransferEncoding),
        (&[("Transfer-Encoding", "chunked, gzip, chunked")], ParseError::UnknownTransferEncoding),
        (&[("Content-Length", "1,1")], ParseError::InvalidLength),
        (&[("Content-Length", "")], ParseError::InvalidLength),
    ];
    for (fields, error) in cases {
        assert_eq!(request_framing(&request(HttpVersion::Http11, fields)), Err(error), "{fields:?}");
        assert_eq!(response_framing(&response(200, fields), Method::Get), Err(error), "{fields:?}");
    }
}

#[test]
fn bodiless_responses_have_no_body_despite_content_length() {
    let fields = [("Content-Length", "5")];
    assert_eq!(response_framing(&response(200, &fields), Method::Head), Ok(ResponseFraming::None));
    for status in [100, 101, 103, 204, 304] {
        assert_eq!(
            response_framing(&response(status, &fields), Method::Get),
            Ok(ResponseFraming::None),
            "{status}"
        );
    }
    assert_eq!(response_framing(&response(200, &[]), Method::Connect), Ok(ResponseFraming::None));
}

#[test]
fn responses_are_framed_by_chunks_length_or_the_end_of_the_connection() {
    let framing = |fields: &[(&str, &str)]| response_framing(&response(200, fields), Method::Get);
    assert_eq!(framing(&[("Transfer-Encoding", "chunked")]), Ok(ResponseFraming::Chunked));
    assert_eq!(framing(&[("Content-Length", "5")]), Ok(ResponseFraming::Length(5)));
    assert_eq!(framing(&[]), Ok(ResponseFraming::UntilClose));
}

#[test]
fn connection_options_are_whole_tokens() {
    let options = connection_options(b"Keep-Alive , UPGRADE");
    assert_eq!(options, ConnectionOptions { close: false, keep_alive: true, upgrade: true });
    assert_eq!(connection_options(b"closed, x-close, keepalive"), ConnectionOptions::default());
    assert!(connection_options(b",close,").close);
}

#[test]
fn persistence_follows_version_and_connection_options() {
    let keeps = |version, fields: &[(&str, &str)]| wants_keep_alive(&request(version, fields));
    assert!(keeps(HttpVersion::Http11, &[]));
    assert!(!keeps(HttpVersion::Http11, &[("Connection", "close")]));
    assert!(!keeps(HttpVersion::Http11, &[("Connection", "keep-alive"), ("Connection", "close")]));
    assert!(!keeps(HttpVersion::Http10, &[]));
    assert!(keeps(HttpVersion::Http10, &[("Connection", "Keep-Alive")]));
    assert!(!keeps(HttpVersion::Http10, &[("Connection", "keep-alive, close")]));
}

#[test]
fn origins_keep_the_connection_likewise() {
    assert!(response_keeps_alive(&response(200, &[])));
    assert!(!response_keeps_alive(&response(200, &[("Connection", "close")])));
    let old = |fields| response_keeps_alive(&response(200, fields).with_version(HttpVersion::Http10));
    assert!(!old(&[]));
    assert!(old(&[("Connection", "keep-alive")]));
    assert!(!old(&[("Connection", "keep-alive"), ("Transfer-Encoding", "chunked")]));
}
