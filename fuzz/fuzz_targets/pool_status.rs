//! Status of a php-fpm pool: accepted figures add up, and unknown fields change nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_upstream::fastcgi_protocol::PoolStatus;

fuzz_target!(|text: &[u8]| {
    let Ok(status) = PoolStatus::parse(text) else { return };
    assert!((1..=65_535).contains(&status.total));
    assert_eq!(status.idle + status.active, status.total);
    let Some(rest) = text.trim_ascii_start().strip_prefix(b"{") else { return };
    let more = [b"{\"another\":[1],", rest].concat();
    if more.len() <= myriad_upstream::fastcgi_protocol::pool_status::MAX_BYTES
        && !text.windows(7).any(|part| part == b"another")
    {
        assert_eq!(PoolStatus::parse(&more), Ok(status));
    }
});
