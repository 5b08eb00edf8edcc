//! Response heads and header blocks: the result depends only on the bytes of the head.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::h1::{HeadLimits, ParseStatus, parse_field_block, parse_response, response_framing};
use myriad_http::{Fields, Method, ResponseHead};

fuzz_target!(|text: &[u8]| {
    let limits = HeadLimits::default();
    let mut head = ResponseHead::default();
    if let Ok(ParseStatus::Complete(len)) = parse_response(text, &limits, &mut head) {
        let mut again = ResponseHead::default();
        assert_eq!(parse_response(&text[..len], &limits, &mut again), Ok(ParseStatus::Complete(len)));
        assert_eq!((again.status, &again.reason), (head.status, &head.reason));
        assert!(again.fields.iter().eq(head.fields.iter()));
        assert!((100..=999).contains(&head.status));
        let _ = response_framing(&head, Method::Get);
        let mut out = Vec::new();
        head.write_h1(&mut out);
        assert_eq!(
            parse_response(&out, &HeadLimits { line: 1 << 20, total: 1 << 20, ..limits }, &mut again),
            Ok(ParseStatus::Complete(out.len()))
        );
        assert!(again.fields.iter().eq(head.fields.iter()));
    }
    let mut fields: Fields = [("Before", "1")].into_iter().collect();
    match parse_field_block(text, &limits, &mut fields) {
        Ok(ParseStatus::Complete(_)) => assert!(!fields.is_empty()),
        _ => assert_eq!(fields.len(), 1),
    }
    assert_eq!(fields.get(b"before"), Some(&b"1"[..]));
});
