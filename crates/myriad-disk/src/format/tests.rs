//! Tests of the file format with systematic damage.

use super::*;
use crate::clock_reference::ClockReference;

const CLOCK: ClockReference = ClockReference { boot: 8, boot_at_ms: -9, epoch_at_ms: i64::MAX };

/// Returns pseudo-random bytes that depend on a seed.
fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| rng.u8(..)).collect()
}

fn file(body: &[u8]) -> Vec<u8> {
    let mut encodings = Vec::new();
    write_encoding(0, b"meta of gzip", b"bytes of gzip", &mut encodings);
    write_encoding(3, b"", b"", &mut encodings);
    let sections = Sections {
        kind: ContentKind::Object,
        version: 5,
        generation: 1 << 40,
        family: 77,
        stored_at: 123,
        fresh_until: 456,
        clock: CLOCK,
        labels: &[3, u64::MAX],
        key: b"key",
        key_hash: crate::index::Seed(7).hash(b"key"),
        selector: b"selector",
        variant: b"variant",
        meta: b"metadata",
        encodings: &encodings,
    };
    let mut sums = PieceSums::default();
    // The body arrives in parts of odd lengths.
    body.chunks(1000).for_each(|stretch| sums.update(stretch));
    let (header, tail) = sections.around(body.len() as u64, &sums.finish()).unwrap();
    [&header[..], body, &tail].concat()
}

#[test]
fn what_was_written_is_read() {
    for len in [0, 1, 1000, PIECE as usize - 1, PIECE as usize, PIECE as usize + 1, 3 * PIECE as usize] {
        let body = content(3, len);
        let bytes = file(&body);
        let whole = WholeFile::parse(&bytes, 5).unwrap();
        assert_eq!(whole.body, body);
        assert_eq!((whole.header.generation, whole.header.family), (1 << 40, 77));
        let header = &whole.header;
        assert_eq!((header.stored_at, header.fresh_until, header.clock), (123, 456, CLOCK));
        let tail = whole.tail;
        assert_eq!(
            (tail.head.key, tail.head.selector, tail.head.variant, tail.head.meta),
            (&b"key"[..], &b"selector"[..], &b"variant"[..], &b"metadata"[..])
        );
        assert_eq!(*tail.head.labels, [3, u64::MAX]);
        assert_eq!(tail.encodings, [(0, &b"meta of gzip"[..], &b"bytes of gzip"[..]), (3, b"", b"")]);
    }
}

#[test]
fn damage_of_any_byte_is_found() {
    let bytes = file(&content(3, 700));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(examine(&damaged, 5).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn a_file_cut_short_or_too_long_is_found() {
    let bytes = file(&content(3, 700));
    for len in 0..bytes.len() {
        assert!(examine(&bytes[..len], 5).is_err(), "{len} bytes");
    }
    assert_eq!(examine(&[&bytes[..], b"x"].concat(), 5), Err(FormatError::Length));
    let mut zeros = bytes.clone();
    // Result of a power loss before the blocks of a file reached the disk.
    zeros[HEADER..].fill(0);
    assert_eq!(examine(&zeros, 5), Err(FormatError::Damaged));
}

#[test]
fn other_versions_and_other_programs_are_foreign() {
    let bytes = file(b"body");
    assert_eq!(examine(&bytes, 5), Ok(4));
    assert_eq!(examine(&bytes, 6), Err(FormatError::Foreign));
    assert_eq!(examine(&[b"\x05\0\0\0", &[0; 400][..]].concat(), 5), Err(FormatError::Foreign));
    assert_eq!(examine(b"", 5), Err(FormatError::Length));
}

#[test]
fn random_bytes_never_pass_and_never_panic() {
    let good = file(&content(1, 100));
    for seed in 0..20_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = good.clone();
        for _ in 0..rng.usize(1..20) {
            let at = rng.usize(..bytes.len());
            bytes[at] = rng.u8(..);
        }
        // The header's own checksum is corrected, so that the sections after it are reached.
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..HEADER - 8]);
        bytes[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
        if examine(&bytes, 5).is_ok() {
            let whole = WholeFile::parse(&bytes, 5).unwrap();
            let sections = |w: &WholeFile<'_>| [w.body, w.tail.head.key, w.tail.head.meta].concat();
            assert_eq!(sections(&whole), sections(&WholeFile::parse(&good, 5).unwrap()), "seed {seed}");
        }
    }
}
