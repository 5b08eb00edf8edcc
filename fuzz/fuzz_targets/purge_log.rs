//! Purge log of a zone: parsed records of any file survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_disk::index::examine_purges;
use xxhash_rust::xxh3::xxh3_64;

/// Size of a record before its payload, in bytes.
const FRAME: usize = 16;

fuzz_target!(|payloads: (bool, Vec<Vec<u8>>)| {
    let (framed, payloads) = payloads;
    let mut log = b"\x89Myrban\n\x01\0\0\0".to_vec();
    for payload in payloads {
        if framed {
            // Correct lengths and checksums, because random values would be rejected early.
            let mut frame = [0; FRAME];
            let length = payload.len() as u32;
            frame[..4].copy_from_slice(&length.to_le_bytes());
            frame[4..8].copy_from_slice(&(!length).to_le_bytes());
            frame[8..].copy_from_slice(&xxh3_64(&payload).to_le_bytes());
            log.extend_from_slice(&frame);
        }
        log.extend_from_slice(&payload);
    }
    let (whole, same) = examine_purges(&log);
    assert!(whole <= log.len() && same);
});
