//! TLS client hello, as parsed by `ssl_preread`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_stream::preread::{Reading, read};

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes);
    if let Reading::Done(Some(hello)) = &whole {
        assert!(hello.server_name.len() + hello.alpn.len() <= 2 * bytes.len());
    }
    // More bytes do not change a result.
    for length in 0..bytes.len().min(600) {
        if let Reading::Done(early) = read(&bytes[..length]) {
            assert_eq!(Reading::Done(early), whole);
            break;
        }
    }
});
