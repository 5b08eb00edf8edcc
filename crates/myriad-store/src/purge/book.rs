//! The purges that a restart must know of, and the log that they are written to.
//!
//! ```text
//! magic, version | record | record | ... | zeros
//! record: length, its complement, checksum (XXH3-64) | kind | what it is of
//! ```
//!
//! Numbers are little-endian. A record is written before its purge is answered, into zeros that are there already. So a
//! record at the end that a power loss has torn has a sector of zeros in it, and its purge was answered to nobody; any
//! other damage may be of a purge that was, and [`Reading::is_lost`] says so.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use xxhash_rust::xxh3::xxh3_64;

use super::exact::{Exact, Numbers};
use super::request::{MOST_RULE, Purge};

const MAGIC: [u8; 8] = *b"\x89Myrban\n";
const VERSION: u32 = 1;
/// Magic and version.
const HEAD: usize = 12;
/// Bytes before the payload of a record.
const FRAME: usize = 16;
/// What a disk writes whole or not at all.
const SECTOR: usize = 512;
/// Most keys or labels of one record.
const MOST_OF_ONE: usize = 4096;
/// Most bytes of a payload.
const MOST_PAYLOAD: usize = MOST_OF_ONE * 48 + 2 * MOST_RULE + 64;

/// A purge by rule, or of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ruled {
    pub(crate) number: u64,
    pub(crate) purge: Purge,
    pub(crate) name: Box<str>,
    /// `None` is everything.
    pub(crate) rule: Option<Box<[u8]>>,
}

/// One purge, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Exact { number: u64, purge: Purge, keys: Box<[u128]>, labels: Box<[u64]> },
    Ruled(Ruled),
}

/// All purges that pages may still be covered by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Book {
    pub(crate) keys: HashMap<u128, Numbers>,
    pub(crate) labels: HashMap<u64, Numbers>,
    /// In the order of their numbers.
    pub(crate) rules: Vec<Ruled>,
}

/// What reading a log came to.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) book: Book,
    /// Bytes that are whole.
    pub(crate) len: usize,
    /// Something is behind them that was not written so.
    pub(crate) is_damaged: bool,
    /// It may have been a purge that was answered.
    pub(crate) is_lost: bool,
}

impl Entry {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Exact { number, .. } | Self::Ruled(Ruled { number, .. }) => *number,
        }
    }

    /// The same purge under another number.
    pub(crate) fn numbered(mut self, new: u64) -> Self {
        match &mut self {
            Self::Exact { number, .. } | Self::Ruled(Ruled { number, .. }) => *number = new,
        }
        self
    }

    /// Appends the records of this purge.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Exact { number, purge, keys, labels } => {
                let mut numbers = Numbers::default();
                numbers.note(*number, *purge);
                let keys = keys.iter().map(|key| (*key, numbers));
                write_marks(keys, labels.iter().map(|label| (*label, numbers)), out);
            }
            Self::Ruled(ruled) => ruled.write(out),
        }
    }
}

impl Ruled {
    fn write(&self, out: &mut Vec<u8>) {
        frame(out, |out| {
            out.push(if self.rule.is_some() { 1 } else { 2 });
            out.push(u8::from(self.purge == Purge::Soft));
            out.extend_from_slice(&self.number.to_le_bytes());
            out.extend_from_slice(&(self.name.len() as u32).to_le_bytes());
            out.extend_from_slice(self.name.as_bytes());
            out.extend_from_slice(self.rule.as_deref().unwrap_or_default());
        });
    }
}

impl Book {
    pub(crate) fn note(&mut self, entry: &Entry) {
        match entry {
            Entry::Exact { number, purge, keys, labels } => {
                for key in keys {
                    self.keys.entry(*key).or_default().note(*number, *purge);
                }
                for label in labels {
                    self.labels.entry(*label).or_default().note(*number, *purge);
                }
            }
            Entry::Ruled(ruled) => self.note_rule(ruled),
        }
    }

    fn note_rule(&mut self, ruled: &Ruled) {
        if ruled.rule.is_none() && ruled.purge == Purge::Hard {
            // Whatever there was before is gone, whoever else covers it.
            self.drop_through(ruled.number);
        }
        // The later of two that are the same covers what the earlier does.
        self.rules.retain(|other| {
            other.number > ruled.number || other.purge != ruled.purge || other.rule != ruled.rule
        });
        let at = self.rules.partition_point(|other| other.number < ruled.number);
        self.rules.insert(at, ruled.clone());
    }

    /// Notes all of another, each under its own number.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.merge_marks(other, u64::MAX);
        other.rules.iter().for_each(|ruled| self.note_rule(ruled));
    }

    /// Notes keys and labels of another whose numbers are below `below`.
    pub(crate) fn merge_marks(&mut self, other: &Self, below: u64) {
        for (key, numbers) in other.keys.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.keys.entry(*key).or_default().add(*numbers);
        }
        for (label, numbers) in other.labels.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.labels.entry(*label).or_default().add(*numbers);
        }
    }

    /// Forgets the keys and labels that another does not have.
    pub(crate) fn keep_marks_of(&mut self, other: &Self) {
        self.keys.retain(|key, _| other.keys.contains_key(key));
        self.labels.retain(|label, _| other.labels.contains_key(label));
    }

    /// The purges of keys and labels in it, hard and soft, of which each must have one number.
    pub(crate) fn exact(&self) -> Vec<Exact> {
        let of = |purge: Purge| {
            let number = move |numbers: &Numbers| match purge {
                Purge::Hard => numbers.hard,
                Purge::Soft => numbers.soft,
            };
            let keys = self.keys.iter().filter(|(_, numbers)| number(numbers) > 0).map(|(key, _)| *key);
            let labels = self.labels.iter().filter(|(_, numbers)| number(numbers) > 0);
            let all = self.keys.values().chain(self.labels.values()).map(number);
            Exact {
                number: all.max().unwrap_or(0),
                purge,
                keys: keys.collect(),
                names: Box::default(),
                labels: labels.map(|(label, _)| *label).collect(),
                count: AtomicUsize::new(0),
            }
        };
        [Purge::Soft, Purge::Hard].map(of).into()
    }

    /// Drops what is known already: numbers below `comparable` that do not go beyond `ours`, and those that were `heard`.
    pub(crate) fn drop_known(&mut self, ours: &Self, comparable: u64, heard: &Self) {
        let is_known = |number: u64, ours: u64, heard: u64| {
            number == 0 || number < comparable && number <= ours || number == heard
        };
        let are_known = |theirs: &Numbers, ours: Option<&Numbers>, heard: Option<&Numbers>| {
            let (ours, heard) = (ours.copied().unwrap_or_default(), heard.copied().unwrap_or_default());
            is_known(theirs.hard, ours.hard, heard.hard) && is_known(theirs.soft, ours.soft, heard.soft)
        };
        self.keys.retain(|key, numbers| !are_known(numbers, ours.keys.get(key), heard.keys.get(key)));
        self.labels
            .retain(|label, numbers| !are_known(numbers, ours.labels.get(label), heard.labels.get(label)));
        self.rules.retain(|ruled| !ours.rules.contains(ruled));
    }

    /// Notes the records that the bytes begin with; how many bytes are whole.
    pub(crate) fn read_records(&mut self, bytes: &[u8]) -> usize {
        let mut len = 0;
        while let Some(payload) = payload(&bytes[len..]) {
            if self.read_record(payload).is_none() {
                break;
            }
            len += FRAME + payload.len();
        }
        len
    }

    /// Forgets the purges up to a number.
    pub(crate) fn drop_through(&mut self, number: u64) {
        self.keys.retain(|_, numbers| numbers.newest() > number);
        self.labels.retain(|_, numbers| numbers.newest() > number);
        self.rules.retain(|ruled| ruled.number > number);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.labels.is_empty() && self.rules.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.keys.len() + self.labels.len() + self.rules.len()
    }

    /// The oldest number in it.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let marks = self.keys.values().chain(self.labels.values());
        marks.map(|numbers| numbers.newest()).chain(self.rules.iter().map(|ruled| ruled.number)).min()
    }

    /// The newest number in it.
    pub(crate) fn newest(&self) -> u64 {
        let marks = self.keys.values().chain(self.labels.values());
        marks
            .map(|numbers| numbers.newest())
            .chain(self.rules.iter().map(|ruled| ruled.number))
            .max()
            .unwrap_or(0)
    }

    /// A log that says all of it, without the zeros.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        // Rules come first, the newest of them before the others: whoever reads them forgets what is older than a purge of
        // everything and was noted before it, and a purge of another process may be older by its number alone.
        self.rules.iter().rev().for_each(|ruled| ruled.write(&mut out));
        let keys = self.keys.iter().map(|(key, numbers)| (*key, *numbers));
        write_marks(keys, self.labels.iter().map(|(label, numbers)| (*label, *numbers)), &mut out);
        out
    }

    /// Reads a log.
    pub(crate) fn read(bytes: &[u8]) -> Reading {
        let mut reading = Reading { book: Self::default(), len: 0, is_damaged: false, is_lost: false };
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        if !bytes.starts_with(&head) {
            // It is made whole before it gets its name.
            (reading.is_damaged, reading.is_lost) = (true, true);
            return reading;
        }
        reading.len = HEAD;
        while let Some(payload) = payload(&bytes[reading.len..]) {
            if reading.book.read_record(payload).is_none() {
                (reading.is_damaged, reading.is_lost) = (true, true);
                return reading;
            }
            reading.len += FRAME + payload.len();
        }
        reading.is_damaged = bytes[reading.len..].iter().any(|byte| *byte != 0);
        reading.is_lost = reading.is_damaged && !is_torn(bytes, reading.len);
        reading
    }

    fn read_record(&mut self, payload: &[u8]) -> Option<()> {
        let (kind, rest) = payload.split_first()?;
        if *kind == 0 {
            return self.read_marks(rest);
        }
        let (purge, rest) = rest.split_first()?;
        let purge = match purge {
            0 => Purge::Hard,
            1 => Purge::Soft,
            _ => return None,
        };
        let (number, rest) = rest.split_first_chunk()?;
        let (name_len, rest) = rest.split_first_chunk()?;
        let (name, rule) = rest.split_at_checked(u32::from_le_bytes(*name_len) as usize)?;
        let rule = match kind {
            1 => Some(rule.into()),
            2 if rule.is_empty() => None,
            _ => return None,
        };
        let name = std::str::from_utf8(name).ok()?.into();
        self.note_rule(&Ruled { number: u64::from_le_bytes(*number), purge, name, rule });
        Some(())
    }

    fn read_marks(&mut self, bytes: &[u8]) -> Option<()> {
        let (key_count, rest) = bytes.split_first_chunk()?;
        let keys_len = (u32::from_le_bytes(*key_count) as usize).checked_mul(32)?;
        let (keys, labels) = rest.split_at_checked(keys_len)?;
        if labels.len() % 24 != 0 {
            return None;
        }
        for mark in keys.chunks_exact(32) {
            let key = u128::from_le_bytes(*mark.first_chunk()?);
            self.keys.entry(key).or_default().add(numbers(&mark[16..])?);
        }
        for mark in labels.chunks_exact(24) {
            let label = u64::from_le_bytes(*mark.first_chunk()?);
            self.labels.entry(label).or_default().add(numbers(&mark[8..])?);
        }
        Some(())
    }
}

/// Reads a log of purges as a start does, for whoever tests with bytes from outside: how many bytes of it are whole, and
/// whether writing what was read gives the same.
pub fn examine_purges(bytes: &[u8]) -> (usize, bool) {
    let reading = Book::read(bytes);
    let again = Book::read(&reading.book.write());
    (reading.len, !again.is_damaged && again.book == reading.book)
}

fn numbers(bytes: &[u8]) -> Option<Numbers> {
    let (hard, soft) = bytes.split_first_chunk()?;
    Some(Numbers { hard: u64::from_le_bytes(*hard), soft: u64::from_le_bytes(soft.try_into().ok()?) })
}

/// The payload of the record that the bytes begin with, if it is whole.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let len = declared(frame)?;
    let payload = rest.get(..len)?;
    (xxh3_64(payload).to_le_bytes() == frame[8..]).then_some(payload)
}

/// The length that a frame declares; `None` where it is none that was written.
fn declared(frame: &[u8; FRAME]) -> Option<usize> {
    let len = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
    let complement = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
    (len == !complement && len > 0 && len as usize <= MOST_PAYLOAD).then_some(len as usize)
}

/// Whether the bytes from `at` on are what a power loss leaves of a write: some of its sectors, zeros for the others.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    let len = rest.first_chunk::<FRAME>().and_then(declared).map_or(FRAME, |len| FRAME + len);
    if rest.len() < len {
        return true;
    }
    // The part of its first sector that it has, then whole sectors.
    let first = (SECTOR - at % SECTOR).min(len);
    let (first, others) = rest[..len].split_at(first);
    let is_zero = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    is_zero(first) || others.chunks(SECTOR).any(is_zero)
}

fn write_marks(
    keys: impl Iterator<Item = (u128, Numbers)>,
    labels: impl Iterator<Item = (u64, Numbers)>,
    out: &mut Vec<u8>,
) {
    let (mut keys, mut labels) = (keys.peekable(), labels.peekable());
    while keys.peek().is_some() || labels.peek().is_some() {
        frame(out, |out| {
            out.push(0);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            let mut count = 0_u32;
            for (key, numbers) in keys.by_ref().take(MOST_OF_ONE) {
                out.extend_from_slice(&key.to_le_bytes());
                out.extend_from_slice(&numbers.hard.to_le_bytes());
                out.extend_from_slice(&numbers.soft.to_le_bytes());
                count += 1;
            }
            out[at..at + 4].copy_from_slice(&count.to_le_bytes());
            if keys.peek().is_some() {
                return;
            }
            for (label, numbers) in labels.by_ref().take(MOST_OF_ONE - count as usize) {
                out.extend_from_slice(&label.to_le_bytes());
                out.extend_from_slice(&numbers.hard.to_le_bytes());
                out.extend_from_slice(&numbers.soft.to_le_bytes());
            }
        });
    }
}

/// Appends a record.
fn frame(out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; FRAME]);
    payload(out);
    let len = (out.len() - at - FRAME) as u32;
    let sum = xxh3_64(&out[at + FRAME..]);
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    out[at + 4..at + 8].copy_from_slice(&(!len).to_le_bytes());
    out[at + 8..at + FRAME].copy_from_slice(&sum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(number: u64, purge: Purge, keys: &[u128], labels: &[u64]) -> Entry {
        Entry::Exact { number, purge, keys: keys.into(), labels: labels.into() }
    }

    fn ruled(number: u64, purge: Purge, rule: Option<&[u8]>) -> Entry {
        Entry::Ruled(Ruled { number, purge, name: "a name".into(), rule: rule.map(Into::into) })
    }

    /// A book, and the log that came to be entry by entry.
    fn written(entries: &[Entry]) -> (Book, Vec<u8>) {
        let (mut book, mut log) = (Book::default(), Book::default().write());
        for entry in entries {
            book.note(entry);
            entry.write(&mut log);
        }
        (book, log)
    }

    fn some() -> Vec<Entry> {
        vec![
            exact(3, Purge::Hard, &[7], &[1, 2]),
            ruled(4, Purge::Soft, Some(b"rule")),
            exact(5, Purge::Soft, &[7], &[2]),
            ruled(6, Purge::Soft, None),
            ruled(7, Purge::Hard, Some(b"rule")),
        ]
    }

    #[test]
    fn what_was_written_is_read_from_a_log_and_from_a_compacted_one() {
        let (book, mut log) = written(&some());
        assert_eq!((book.len(), book.oldest(), book.newest()), (6, Some(3), 7));
        log.extend_from_slice(&[0; 5000]);
        for bytes in [log, book.write()] {
            let reading = Book::read(&bytes);
            assert_eq!(reading.book, book);
            assert!(!reading.is_damaged && !reading.is_lost);
        }
    }

    #[test]
    fn many_marks_go_into_many_records() {
        let (keys, labels): (Vec<u128>, Vec<u64>) = ((0..9000).collect(), (0..5000).collect());
        let (book, log) = written(&[exact(3, Purge::Hard, &keys, &labels)]);
        assert_eq!((book.keys.len(), book.labels.len()), (9000, 5000));
        assert_eq!(Book::read(&log).book, book);
        assert_eq!(Book::read(&book.write()).book, book);
    }

    #[test]
    fn all_makes_what_came_before_moot_and_the_same_rule_is_kept_once() {
        let (book, _) = written(&[ruled(3, Purge::Hard, Some(b"a")), ruled(4, Purge::Hard, Some(b"a"))]);
        assert_eq!((book.len(), book.oldest()), (1, Some(4)));
        let mut entries = some();
        entries.push(ruled(8, Purge::Hard, None));
        entries.push(exact(9, Purge::Hard, &[], &[1]));
        let (book, _) = written(&entries);
        assert_eq!((book.rules.len(), book.labels.len(), book.keys.len()), (1, 1, 0));
    }

    #[test]
    fn nothing_that_was_noted_after_all_is_forgotten_when_the_log_is_compacted_whatever_its_number() {
        let (book, log) = written(&[
            exact(2, Purge::Hard, &[6], &[]),
            ruled(8, Purge::Hard, None),
            exact(3, Purge::Hard, &[7], &[1]),
            ruled(5, Purge::Soft, None),
            ruled(7, Purge::Hard, None),
            ruled(8, Purge::Hard, Some(b"of the same number")),
            ruled(10, Purge::Hard, Some(b"a")),
            ruled(9, Purge::Hard, Some(b"a")),
            exact(7, Purge::Soft, &[9], &[3]),
        ]);
        assert_eq!(book.keys.keys().min(), Some(&9), "the second purge of everything took what it could");
        assert_eq!(book.rules.iter().map(|ruled| ruled.number).collect::<Vec<_>>(), [7, 8, 8, 9, 10]);
        assert_eq!(Book::read(&book.write()).book, book);
        assert_eq!(examine_purges(&log), (log.len(), true));
    }

    #[test]
    fn rules_of_one_number_keep_their_places() {
        let rules = [b"a", b"b", b"c"].map(|rule| ruled(4, Purge::Soft, Some(rule)));
        let (book, log) = written(&rules);
        assert_eq!(book.rules.len(), 3);
        assert_eq!(examine_purges(&log), (log.len(), true));
    }

    #[test]
    fn purges_are_forgotten_up_to_a_number() {
        let (mut book, _) = written(&some());
        book.drop_through(5);
        assert_eq!((book.keys.len(), book.labels.len(), book.rules.len()), (0, 0, 2));
        book.drop_through(7);
        assert!(book.is_empty());
    }

    #[test]
    fn torn_end_is_damage_but_no_loss_wherever_it_was_torn() {
        let (book, whole) = written(&some());
        let mut log = whole.clone();
        let last: Vec<u64> = (0..300).collect();
        exact(9, Purge::Hard, &[], &last).write(&mut log);
        let size = log.len().next_multiple_of(SECTOR) + SECTOR;
        for lost in 1..2_u32.pow(4) {
            // Some of the sectors of the last write did not come to the disk.
            let mut torn = log.clone();
            torn.resize(size, 0);
            let sectors = (whole.len() / SECTOR..=(log.len() - 1) / SECTOR).take(4).enumerate();
            for (_, sector) in sectors.filter(|(bit, _)| lost & 1 << bit != 0) {
                let from = (sector * SECTOR).max(whole.len());
                torn[from..(sector + 1) * SECTOR].fill(0);
            }
            if torn[..log.len()] == log[..] {
                continue;
            }
            let reading = Book::read(&torn);
            assert_eq!((&reading.book, reading.len), (&book, whole.len()));
            assert!(!reading.is_lost, "{lost}");
        }
        for cut in whole.len()..log.len() {
            let reading = Book::read(&log[..cut]);
            assert_eq!(reading.book, book);
            assert!(!reading.is_lost);
        }
    }

    #[test]
    fn no_damage_to_what_was_whole_passes_for_a_torn_end() {
        let (book, log) = written(&some());
        let mut whole = log.clone();
        whole.extend_from_slice(&[0; 100]);
        for at in 0..log.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let reading = Book::read(&damaged);
                assert!(reading.is_lost || reading.book == book, "byte {at}");
            }
        }
    }

    #[test]
    fn any_record_with_a_right_checksum_is_read_without_harm() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..20_000 {
            let mut log = Book::default().write();
            for _ in 0..rng.usize(1..4) {
                let kind = rng.u8(..4);
                let len = rng.usize(..120);
                frame(&mut log, |out| {
                    out.push(kind);
                    out.extend((0..len).map(|at| if at < 12 && rng.bool() { 0 } else { rng.u8(..) }));
                });
            }
            let (len, same) = examine_purges(&log);
            assert!(len <= log.len() && same);
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let (_, log) = written(&some());
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let mut bytes = log.clone();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(..bytes.len());
                match rng.u8(..3) {
                    0 => bytes[at] = rng.u8(..),
                    1 => bytes.truncate(at + 1),
                    _ => bytes.insert(at, rng.u8(..)),
                }
            }
            let (len, same) = examine_purges(&bytes);
            assert!(len <= bytes.len() && same);
        }
    }
}
