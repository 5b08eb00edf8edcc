//! Files of the page cache: whatever stands in one, reading it gives an error or the body it says it has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_store::examine;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a header, the last eight of which are its checksum.
const HEADER: usize = 128;

fuzz_target!(|input: (bool, Vec<u8>)| {
    let (mend, mut file) = input;
    // With the checksum of its header made right, a file comes further than chance would let it.
    if mend && file.len() >= HEADER {
        let sum = xxh3_64(&file[..HEADER - 8]).to_le_bytes();
        file[HEADER - 8..HEADER].copy_from_slice(&sum);
    }
    if let Ok(body) = examine(&file, 1) {
        assert!(body <= (file.len() - HEADER) as u64);
    }
});
