//! The PROXY protocol's header, and addresses that proxies pass on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::forwarded::forwarded;
use myriad_http::proxy_protocol::{LONGEST, Preface, Tlv, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    match &whole {
        Ok(Preface::Complete(length, header)) => {
            assert!(*length <= bytes.len() && *length <= LONGEST);
            // What follows the header has no say in it, and no part of it is enough.
            assert_eq!(parse(&bytes[..*length]), whole);
            assert_eq!(parse(&bytes[..length - 1]), Ok(Preface::Partial));
            if let Some(header) = header {
                for kind in 0..=255 {
                    let mut out = Vec::new();
                    let told = header.tlv(Tlv::Type(kind), &mut out) || header.tlv(Tlv::Ssl(kind), &mut out);
                    assert!(told || out.is_empty());
                }
            }
        }
        Ok(Preface::Partial) => assert!(bytes.len() < LONGEST),
        Err(_) => {}
    }
    let client = Some("127.0.0.1".parse().unwrap());
    assert_eq!(forwarded(client, [bytes].into_iter(), |_| false, true), None);
    let _ = forwarded(client, [bytes, bytes].into_iter(), |_| true, true);
});
