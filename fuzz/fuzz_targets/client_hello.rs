//! TLS client hello, as parsed by `ssl_preread`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_origin::stream::preread::{HelloProgress, parse_hello};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse_hello(bytes);
    if let HelloProgress::Done(Some(hello)) = &whole {
        assert!(hello.server_name.len() + hello.alpn.len() <= 2 * bytes.len());
    }
    // More bytes do not change a result.
    for length in 0..bytes.len().min(600) {
        if let HelloProgress::Done(early) = parse_hello(&bytes[..length]) {
            assert_eq!(HelloProgress::Done(early), whole);
            break;
        }
    }
});
