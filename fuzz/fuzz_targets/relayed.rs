//! Messages between processes that have the same sockets for QUIC: what is read of one is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_net::examine_relayed;

fuzz_target!(|bytes: &[u8]| {
    assert!(examine_relayed(bytes));
});
