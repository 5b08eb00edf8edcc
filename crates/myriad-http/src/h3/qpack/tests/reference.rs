//! Simple encoder that stores all entries.

use std::collections::HashMap;

use fastrand::Rng;

use crate::h2::hpack::{huffman, integer};
use crate::h3::qpack::MAX_TABLE_CAPACITY;
use crate::h3::qpack::table::STATIC;

/// Reference encoder.
#[derive(Default)]
pub(super) struct Reference {
    entries: Vec<(String, String)>,
    /// First entry that is still in the table.
    first: usize,
    capacity: usize,
    /// Unacknowledged sections with references, by stream: the lowest entry and the required insert count.
    outstanding: HashMap<u64, Vec<(usize, usize)>>,
    /// Number of entries acknowledged by the decoder.
    pub(super) known: usize,
    /// Bytes of the encoder stream.
    pub(super) stream: Vec<u8>,
}

fn string(text: &str, prefix: u32, first: u8, chance: &mut Rng, out: &mut Vec<u8>) {
    if chance.usize(..2) == 0 {
        integer::write(out, first, prefix, text.len());
        out.extend_from_slice(text.as_bytes());
    } else {
        integer::write(out, first | 1 << prefix, prefix, huffman::encoded_len(text.as_bytes()));
        huffman::encode(text.as_bytes(), out);
    }
}

impl Reference {
    fn size(&self) -> usize {
        self.entries[self.first..].iter().map(|(name, value)| name.len() + value.len() + 32).sum()
    }

    /// Returns the index of the oldest entry that must not be evicted.
    fn pinned(&self) -> usize {
        let referred = self.outstanding.values().flatten().map(|(lowest, _)| *lowest).min();
        referred.unwrap_or(usize::MAX).min(self.known)
    }

    fn make_room(&mut self, size: usize, capacity: usize) -> bool {
        let (before, pinned) = (self.first, self.pinned());
        while self.size() + size > capacity && self.first < pinned.min(self.entries.len()) {
            self.first += 1;
        }
        if self.size() + size > capacity {
            self.first = before;
        }
        self.size() + size <= capacity
    }

    pub(super) fn resize(&mut self, chance: &mut Rng) {
        let capacity = chance.usize(..=MAX_TABLE_CAPACITY);
        if self.make_room(0, capacity) {
            self.capacity = capacity;
            integer::write(&mut self.stream, 0x20, 5, capacity);
        }
    }

    /// Inserts an entry if there is capacity.
    pub(super) fn insert(&mut self, value: &str, chance: &mut Rng) {
        let live = self.entries.len() - self.first;
        let from = (live > 0).then(|| self.first + chance.usize(..live));
        let (name, value) = match (chance.usize(..4), from) {
            (0, Some(at)) => self.entries[at].clone(),
            (1, Some(at)) => (self.entries[at].0.clone(), value.to_owned()),
            (2, _) => (
                String::from_utf8_lossy(STATIC[chance.usize(..STATIC.len())].0).into_owned(),
                value.to_owned(),
            ),
            _ => (format!("x-{}", chance.usize(..9)), value.to_owned()),
        };
        if !self.make_room(name.len() + value.len() + 32, self.capacity) {
            return;
        }
        self.encode_field(&name, &value, chance);
        self.entries.push((name, value));
    }

    fn encode_field(&mut self, name: &str, value: &str, chance: &mut Rng) {
        let newest = self.entries.len();
        let live = self.first..newest;
        let same = live.clone().find(|at| self.entries[*at] == (name.to_owned(), value.to_owned()));
        let named = live.clone().find(|at| self.entries[*at].0 == name);
        let known = STATIC.iter().position(|(known, _)| *known == name.as_bytes());
        let out = &mut self.stream;
        match (same, named, known) {
            (Some(at), ..) if chance.usize(..2) == 0 => return integer::write(out, 0, 5, newest - 1 - at),
            (_, Some(at), _) if chance.usize(..2) == 0 => integer::write(out, 0x80, 6, newest - 1 - at),
            (_, _, Some(at)) if chance.usize(..4) > 0 => integer::write(out, 0xc0, 6, at),
            _ => string(name, 5, 0x40, chance, out),
        }
        string(value, 7, 0, chance, out);
    }

    /// Encodes a section of random fields. Returns its bytes and the fields.
    pub(super) fn section(&mut self, stream: u64, chance: &mut Rng) -> (Vec<u8>, Vec<(String, String)>) {
        let newest = self.entries.len();
        let base = chance.usize(..newest + 3);
        let (mut lines, mut fields, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..chance.usize(..8) {
            let live = newest - self.first;
            let at = (live > 0).then(|| self.first + chance.usize(..live));
            match (chance.usize(..5), at) {
                (0 | 1, Some(at)) => {
                    match base.checked_sub(at + 1) {
                        Some(index) => integer::write(&mut lines, 0x80, 6, index),
                        None => integer::write(&mut lines, 0x10, 4, at - base),
                    }
                    used.push(at);
                    fields.push(self.entries[at].clone());
                }
                (2, Some(at)) => {
                    match base.checked_sub(at + 1) {
                        Some(index) => integer::write(&mut lines, 0x40, 4, index),
                        None => integer::write(&mut lines, 0, 3, at - base),
                    }
                    string("own", 7, 0, chance, &mut lines);
                    used.push(at);
                    fields.push((self.entries[at].0.clone(), "own".to_owned()));
                }
                (3, _) => {
                    let at = chance.usize(..STATIC.len());
                    integer::write(&mut lines, 0xc0, 6, at);
                    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    fields.push((text(STATIC[at].0), text(STATIC[at].1)));
                }
                _ => {
                    string("lit", 3, 0x20, chance, &mut lines);
                    string("eral", 7, 0, chance, &mut lines);
                    fields.push(("lit".to_owned(), "eral".to_owned()));
                }
            }
        }
        let required = used.iter().max().map_or(0, |at| at + 1);
        let mut out = Vec::new();
        let encoded_count = if required == 0 { 0 } else { required % (2 * (MAX_TABLE_CAPACITY / 32)) + 1 };
        integer::write(&mut out, 0, 8, encoded_count);
        match (required, base.checked_sub(required)) {
            (0, _) => integer::write(&mut out, 0, 7, 0),
            (_, Some(delta)) => integer::write(&mut out, 0, 7, delta),
            (_, None) => integer::write(&mut out, 0x80, 7, required - base - 1),
        }
        if let Some(lowest) = used.iter().min() {
            self.outstanding.entry(stream).or_default().push((*lowest, required));
        }
        out.extend_from_slice(&lines);
        (out, fields)
    }

    /// Processes the decoder stream (RFC 9204 §4.4) and asserts that it is valid.
    pub(super) fn process_decoder_stream(&mut self, mut input: &[u8]) {
        while let Some(first) = input.first().copied() {
            match first {
                0x80.. => {
                    let stream = integer::read(&mut input, 7).expect("a stream") as u64;
                    let sections = self.outstanding.get_mut(&stream).expect("a section with references");
                    let (_, required) = sections.remove(0);
                    self.known = self.known.max(required);
                    if sections.is_empty() {
                        self.outstanding.remove(&stream);
                    }
                }
                0x40.. => {
                    let stream = integer::read(&mut input, 6).expect("a stream") as u64;
                    self.outstanding.remove(&stream);
                }
                _ => {
                    let more = integer::read(&mut input, 6).expect("a count");
                    self.known += more;
                    assert!(more > 0 && self.known <= self.entries.len());
                }
            }
        }
    }

    /// Returns whether the decoder has acknowledged everything.
    pub(super) fn is_settled(&self) -> bool {
        self.outstanding.is_empty() && self.known == self.entries.len()
    }
}
