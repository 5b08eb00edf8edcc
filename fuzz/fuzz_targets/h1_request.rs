//! Request heads: parsing as a whole and resumed parsing agree, and all parsed parts are in the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::RequestHead;
use myriad_http::h1::{
    HeadLimits, HeadScanState, ParseStatus, parse_request, request_framing, resume_request, wants_keep_alive,
};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (step, options, text) = input;
    let limits = HeadLimits {
        ignore_invalid_headers: options & 1 != 0,
        underscores_in_headers: options & 2 != 0,
        line: if options & 4 != 0 { 64 } else { 8192 },
        total: if options & 8 != 0 { 128 } else { 32_768 },
        fields: if options & 16 != 0 { 3 } else { 1000 },
    };
    let mut whole = RequestHead::new();
    let result = parse_request(text, &limits, &mut whole);

    let mut resumed = RequestHead::new();
    let mut progress = HeadScanState::default();
    let mut last = Ok(ParseStatus::Partial);
    let ends = (0..text.len()).step_by(usize::from(step).max(1)).chain([text.len()]);
    for end in ends {
        last = resume_request(&text[..end], &mut progress, &limits, &mut resumed);
        if last != Ok(ParseStatus::Partial) {
            break;
        }
    }
    match result {
        Ok(ParseStatus::Complete(len)) => {
            assert_eq!(last, result);
            assert_eq!(resumed.raw(), whole.raw());
            assert!(resumed.fields().iter().eq(whole.fields().iter()));
            assert!(text[..len].ends_with(whole.raw()));
            let _ = (request_framing(&whole), wants_keep_alive(&whole));
            for (name, value) in whole.fields().iter() {
                assert!(
                    !name.is_empty() && name.iter().all(|&byte| byte > b' ' && byte != 0x7F && byte != b':')
                );
                assert!(!value.iter().any(|&byte| byte != b'\t' && (byte < b' ' || byte == 0x7F)));
                assert!(whole.fields().get(name).is_some());
            }
        }
        Ok(ParseStatus::Partial) => assert_eq!(last, result),
        Err(_) if text.ends_with(b"\n") => assert!(last.is_err()),
        Err(_) => assert!(!matches!(last, Ok(ParseStatus::Complete(_)))),
    }
});
