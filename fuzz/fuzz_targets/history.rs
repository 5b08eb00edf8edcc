//! History file: values of any file are within their bounds, and each record survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_exchange::ranking::history::{HEAD_BYTES, History, LENGTHS, RECORD_BYTES, file_bytes, head, read};
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|input: (bool, bool, Vec<(u16, Vec<u8>)>)| {
    let (whole, summed, records) = input;
    let mut bytes = vec![0; file_bytes() as usize];
    bytes[..HEAD_BYTES].copy_from_slice(&head());
    let places = (bytes.len() - HEAD_BYTES) / RECORD_BYTES;
    for (place, text) in records {
        let at = HEAD_BYTES + usize::from(place) % places * RECORD_BYTES;
        let record = &mut bytes[at..at + RECORD_BYTES];
        record.iter_mut().zip(&text).for_each(|(byte, new)| *byte = *new);
        if summed {
            // Correct the checksums, because random checksums would be rejected early.
            let sum = xxh3_64(&record[..RECORD_BYTES - 8]);
            record[RECORD_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        }
    }
    if !whole {
        bytes.pop();
    }
    let Ok((history, _)) = read(&bytes) else { return };
    let mut again = History::default();
    for (ring, (length, number)) in LENGTHS.into_iter().enumerate() {
        let to_ms = number as u64 * length * 1000;
        let steps = history.steps(ring, 0, to_ms);
        assert!(steps.len() <= number);
        for (at_ms, figures) in steps {
            if let Some(figures) = figures {
                again.set(ring, at_ms, figures);
            }
        }
    }
});
