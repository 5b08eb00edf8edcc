//! Writing of the sections of a page file around its body.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::clock_reference::ClockReference;

use super::header::{Header, MAX_LABELS_LEN};
use super::{ContentKind, HEADER, PIECE, variant_hash};

/// Contents of a page file except the body.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    pub(crate) kind: ContentKind,
    pub(crate) version: u32,
    pub(crate) generation: u64,
    pub(crate) family: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) clock: ClockReference,
    pub(crate) labels: &'a [u64],
    pub(crate) key: &'a [u8],
    pub(crate) key_hash: u128,
    pub(crate) selector: &'a [u8],
    pub(crate) variant: &'a [u8],
    pub(crate) meta: &'a [u8],
    /// Alternative encodings of the body (such as gzip), each appended by [`write_encoding`].
    pub(crate) encodings: &'a [u8],
}

impl Sections<'_> {
    /// Returns the length of the file's sections from the labels on, in bytes.
    pub(crate) fn len(&self) -> u64 {
        let sections = [self.key, self.selector, self.variant, self.meta, self.encodings];
        self.labels_len() as u64 + sections.iter().map(|section| section.len() as u64).sum::<u64>()
    }

    fn labels_len(&self) -> usize {
        if self.kind == ContentKind::Object { self.labels.len() * 8 + 16 } else { 0 }
    }

    fn write_labels(&self, out: &mut Vec<u8>) {
        if self.kind == ContentKind::Marker {
            return;
        }
        let at = out.len();
        let variant = variant_hash((self.family != 0).then_some(self.variant));
        for number in [variant].iter().chain(self.labels) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let sum = xxh3_64(&out[at..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// Returns the bytes before and after a body of `body_len` bytes whose pieces have the checksums `pieces`: the
    /// header, and everything after the body. Returns `None` if a section is too long.
    pub(crate) fn around(&self, body_len: u64, pieces: &[u64]) -> Option<([u8; HEADER], Vec<u8>)> {
        let mut tail = Vec::with_capacity(pieces.len() * 8 + self.len() as usize);
        for sum in pieces {
            tail.extend_from_slice(&sum.to_le_bytes());
        }
        let pieces_sum = xxh3_64(&tail);
        self.write_labels(&mut tail);
        let head_at = tail.len();
        for section in [self.key, self.selector, self.variant, self.meta] {
            tail.extend_from_slice(section);
        }
        let head_sum = xxh3_64(&tail[head_at..]);
        tail.extend_from_slice(self.encodings);
        let length = |section: &[u8]| u32::try_from(section.len()).ok();
        let header = Header {
            kind: self.kind,
            version: self.version,
            generation: self.generation,
            family: self.family,
            stored_at: self.stored_at,
            fresh_until: self.fresh_until,
            clock: self.clock,
            key_len: length(self.key)?,
            selector_len: length(self.selector)?,
            variant_len: length(self.variant)?,
            meta_len: length(self.meta)?,
            encodings_len: length(self.encodings)?,
            labels_len: u32::try_from(self.labels_len()).ok().filter(|&len| len <= MAX_LABELS_LEN)?,
            body_len,
            head_sum,
            encodings_sum: xxh3_64(self.encodings),
            pieces_sum,
            key_hash: self.key_hash,
        };
        Some((header.write(), tail))
    }
}

/// Appends an alternative encoding to `out`, in the format of the section of encodings.
pub fn write_encoding(index: u8, meta: &[u8], bytes: &[u8], out: &mut Vec<u8>) {
    out.push(index);
    out.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(meta);
    out.extend_from_slice(bytes);
}

/// Computes the checksums of a body's pieces, from parts of any length.
#[derive(Default)]
pub(crate) struct PieceSums {
    sums: Vec<u64>,
    hash: Xxh3Default,
    filled: u64,
}

impl PieceSums {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min((PIECE - self.filled) as usize));
            self.hash.update(now);
            self.filled += now.len() as u64;
            bytes = rest;
            if self.filled == PIECE {
                self.end_piece();
            }
        }
    }

    fn end_piece(&mut self) {
        self.sums.push(self.hash.digest());
        self.hash.reset();
        self.filled = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<u64> {
        if self.filled > 0 {
            self.end_piece();
        }
        self.sums
    }
}
