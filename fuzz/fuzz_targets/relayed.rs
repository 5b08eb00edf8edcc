//! Messages between processes that share QUIC sockets: a parsed message survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_net::examine_relayed;

fuzz_target!(|bytes: &[u8]| {
    assert!(examine_relayed(bytes));
});
