//! The log of purges, as bytes.
//!
//! ```text
//! magic, version | record | record | ... | zeros
//! record: length, its complement, checksum (XXH3-64) | kind | what it is of
//! ```
//!
//! Numbers are little-endian. A record is written before its purge is answered, into zeros that are there already. So a
//! record at the end that a power loss has torn has a sector of zeros in it, and its purge was answered to nobody. Any
//! other damage may have been of a purge that was answered: [`Reading::is_lost`] says so.

use xxhash_rust::xxh3::xxh3_64;

use super::book::Book;
use super::exact::Numbers;
use super::record::{ALL, EXACT, FRAME, MOST_OF_ONE, RULE, RulePurge, write_exact};
use super::request::{MOST_RULE, Purge};

const MAGIC: [u8; 8] = *b"\x89Myrban\n";
const VERSION: u32 = 1;
/// Bytes of magic and version.
const HEAD: usize = 12;
/// Bytes that a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;
/// Most bytes of a payload.
const MOST_PAYLOAD: usize = MOST_OF_ONE * 48 + 2 * MOST_RULE + 64;

/// What reading a log came to.
#[derive(Debug)]
pub struct Reading {
    /// The purges of the records that are whole.
    pub book: Book,
    /// Bytes that are whole.
    pub len: usize,
    /// Whether something follows them that was not written so.
    pub is_damaged: bool,
    /// Whether that may have been a purge that was answered.
    pub is_lost: bool,
}

impl Book {
    /// Notes the records that the bytes begin with, up to the first that is not whole; how many bytes those are.
    pub fn read_records(&mut self, bytes: &[u8]) -> usize {
        let mut len = 0;
        while let Some(payload) = payload(&bytes[len..]) {
            if self.read_record(payload).is_none() {
                break;
            }
            len += FRAME + payload.len();
        }
        len
    }

    /// The bytes of a log that says all of it, without the zeros.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        // Rules come first, the newest before the others: reading a purge of everything forgets what was noted before it under
        // an older number, and a purge of another process may be older by its number alone.
        self.rules.iter().rev().for_each(|rule| rule.write(&mut out));
        let keys = self.keys.iter().map(|(key, numbers)| (*key, *numbers));
        write_exact(keys, self.labels.iter().map(|(label, numbers)| (*label, *numbers)), &mut out);
        out
    }

    /// Reads a log.
    pub fn read(bytes: &[u8]) -> Reading {
        let mut reading = Reading { book: Self::default(), len: 0, is_damaged: false, is_lost: false };
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        if !bytes.starts_with(&head) {
            // A log is made whole before it gets its name.
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
        if *kind == EXACT {
            return self.read_exact(rest);
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
        let rule = match *kind {
            RULE => Some(rule.into()),
            ALL if rule.is_empty() => None,
            _ => return None,
        };
        let name = std::str::from_utf8(name).ok()?.into();
        self.note_rule(&RulePurge { number: u64::from_le_bytes(*number), purge, name, rule });
        Some(())
    }

    fn read_exact(&mut self, bytes: &[u8]) -> Option<()> {
        let (key_count, rest) = bytes.split_first_chunk()?;
        let keys_len = (u32::from_le_bytes(*key_count) as usize).checked_mul(32)?;
        let (keys, labels) = rest.split_at_checked(keys_len)?;
        if labels.len() % 24 != 0 {
            return None;
        }
        for pair in keys.chunks_exact(32) {
            let key = u128::from_le_bytes(*pair.first_chunk()?);
            self.keys.entry(key).or_default().add(parse_numbers(&pair[16..])?);
        }
        for pair in labels.chunks_exact(24) {
            let label = u64::from_le_bytes(*pair.first_chunk()?);
            self.labels.entry(label).or_default().add(parse_numbers(&pair[8..])?);
        }
        Some(())
    }
}

/// Reads a log of purges as a start does, for tests with bytes from outside: how many bytes of it are whole, and whether
/// what was read is the same after it was written and read again.
pub fn examine_purges(bytes: &[u8]) -> (usize, bool) {
    let reading = Book::read(bytes);
    let again = Book::read(&reading.book.write());
    (reading.len, !again.is_damaged && again.book == reading.book)
}

fn parse_numbers(bytes: &[u8]) -> Option<Numbers> {
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
