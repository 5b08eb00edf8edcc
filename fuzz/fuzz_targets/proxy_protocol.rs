//! PROXY protocol headers, and addresses that proxies forward.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::forwarded::forwarded_address;
use myriad_http::proxy_protocol::{HeaderParseStatus, LONGEST, Tlv, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    match &whole {
        Ok(HeaderParseStatus::Complete(length, header)) => {
            assert!(*length <= bytes.len() && *length <= LONGEST);
            // Bytes after the header do not influence it, and a part of a header is not accepted.
            assert_eq!(parse(&bytes[..*length]), whole);
            assert_eq!(parse(&bytes[..length - 1]), Ok(HeaderParseStatus::Partial));
            if let Some(header) = header {
                for kind in 0..=255 {
                    let mut out = Vec::new();
                    let told = header.tlv(Tlv::Type(kind), &mut out) || header.tlv(Tlv::Ssl(kind), &mut out);
                    assert!(told || out.is_empty());
                }
            }
        }
        Ok(HeaderParseStatus::Partial) => assert!(bytes.len() < LONGEST),
        Err(_) => {}
    }
    let client = Some("127.0.0.1".parse().unwrap());
    assert_eq!(forwarded_address(client, [bytes].into_iter(), |_| false, true), None);
    let _ = forwarded_address(client, [bytes, bytes].into_iter(), |_| true, true);
});
