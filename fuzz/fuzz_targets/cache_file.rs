//! Files of the page cache: reading any content returns an error or the body that the header declares.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use myriad_disk::examine;
use xxhash_rust::xxh3::xxh3_64;

/// Size of a header, in bytes; the last eight are its checksum.
const HEADER: usize = 128;

/// File with correct checksums, because random checksums would be rejected early.
#[derive(Arbitrary, Debug)]
struct File<'a> {
    is_marker: bool,
    labels: Vec<u64>,
    /// Key, selector, variant, metadata.
    head: [&'a [u8]; 4],
    encodings: Vec<(u8, &'a [u8], &'a [u8])>,
    body: &'a [u8],
    /// Changes to the header: position and byte.
    lie: Option<(u8, u8)>,
    /// Changes to the bytes after the header.
    damage: Option<(u16, u8)>,
}

impl File<'_> {
    fn write(&self) -> Vec<u8> {
        let mut labels: Vec<u8> = self.labels.iter().flat_map(|label| label.to_le_bytes()).collect();
        labels.extend_from_slice(&xxh3_64(&labels).to_le_bytes());
        let mut encodings = Vec::new();
        for (index, meta, bytes) in &self.encodings {
            encodings.push(*index);
            encodings.extend_from_slice(&(meta.len() as u32).to_le_bytes());
            encodings.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            encodings.extend_from_slice(meta);
            encodings.extend_from_slice(bytes);
        }
        let pieces =
            if self.body.is_empty() { Vec::new() } else { xxh3_64(self.body).to_le_bytes().to_vec() };
        let head = self.head.concat();

        let mut file = b"\x89Myriad\n\x03\0".to_vec();
        file.extend_from_slice(&[if self.is_marker { 2 } else { 1 }, 0, 1, 0, 0, 0]);
        file.extend_from_slice(&[7; 32]);
        for length in self.head.iter().map(|part| part.len()).chain([encodings.len(), labels.len()]) {
            file.extend_from_slice(&(length as u32).to_le_bytes());
        }
        let sums = [xxh3_64(&head), xxh3_64(&encodings), xxh3_64(&pieces)];
        for number in [self.body.len() as u64].iter().chain(&sums) {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.resize(HEADER - 8, 0);
        if let Some((at, byte)) = self.lie {
            file[usize::from(at) % (HEADER - 8)] = byte;
        }
        file.extend_from_slice(&xxh3_64(&file).to_le_bytes());
        for part in [self.body, &pieces, &labels, &head, &encodings] {
            file.extend_from_slice(part);
        }
        if let Some((at, byte)) = self.damage {
            let at = usize::from(at) % file.len();
            file[at] = byte;
        }
        file
    }
}

fuzz_target!(|input: (File<'_>, &[u8])| {
    let (sound, bytes) = input;
    let file = sound.write();
    let read = examine(&file, 1);
    if sound.lie.is_none() && sound.damage.is_none() {
        assert_eq!(read, Ok(sound.body.len() as u64), "what is sound is read");
    }
    for file in [&file[..], bytes] {
        if let Ok(body) = examine(file, 1) {
            assert!(body <= (file.len() - HEADER) as u64);
        }
    }
});
