//! Binary format of the purge log.
//!
//! ```text
//! magic, version | record | record | ... | zeros
//! record: length, its complement, checksum (XXH3-64) | kind | contents
//! ```
//!
//! Numbers are little-endian. A record is written before its purge completes, into existing zeros. If a power loss
//! tears the last record, the record therefore has a sector of zeros, and its purge was never reported as complete. Any
//! other damage may have affected a complete purge: [`PurgeLogContents::is_lost`] is then set.

use xxhash_rust::xxh3::xxh3_64;

use super::exact::PurgeNumbers;
use super::purge_set::PurgeSet;
use super::record::{ALL, EXACT, FRAME, MAX_PER_RECORD, RULE, RulePurge, write_exact};
use super::request::{MAX_RULE_LEN, PurgeKind};

const MAGIC: [u8; 8] = *b"\x89Myrban\n";
const VERSION: u32 = 1;
/// Length of magic number and version, in bytes.
const HEAD: usize = 12;
/// Number of bytes that a disk writes atomically.
pub(super) const SECTOR: usize = 512;
/// Maximum length of a payload, in bytes.
const MOST_PAYLOAD: usize = MAX_PER_RECORD * 48 + 2 * MAX_RULE_LEN + 64;

/// Result of reading a log.
#[derive(Debug)]
pub struct PurgeLogContents {
    /// Purges of the intact records.
    pub book: PurgeSet,
    /// Number of intact bytes.
    pub len: usize,
    /// Set if invalid bytes follow them.
    pub is_damaged: bool,
    /// Set if these bytes may have been a complete purge.
    pub is_lost: bool,
}

impl PurgeSet {
    /// Adds the records at the start of the bytes, up to the first that is not intact. Returns their length in bytes.
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

    /// Returns the bytes of a log with all purges, without the zeros.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        // Rules are written first, the newest before the others: reading a purge of everything removes older numbers
        // that were read before it, and a purge of another process may be older only by its number.
        self.rules.iter().rev().for_each(|rule| rule.write(&mut out));
        let keys = self.keys.iter().map(|(key, numbers)| (*key, *numbers));
        write_exact(keys, self.labels.iter().map(|(label, numbers)| (*label, *numbers)), &mut out);
        out
    }

    /// Parses a log.
    pub fn read(bytes: &[u8]) -> PurgeLogContents {
        let mut reading =
            PurgeLogContents { book: Self::default(), len: 0, is_damaged: false, is_lost: false };
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        if !bytes.starts_with(&head) {
            // A log is complete before it is renamed to its name.
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
            0 => PurgeKind::Hard,
            1 => PurgeKind::Soft,
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

/// Parses a log of purges like a start, for tests with arbitrary bytes. Returns the number of intact bytes, and whether
/// the purges are the same after they are written and read again.
pub fn examine_purges(bytes: &[u8]) -> (usize, bool) {
    let reading = PurgeSet::read(bytes);
    let again = PurgeSet::read(&reading.book.write());
    (reading.len, !again.is_damaged && again.book == reading.book)
}

fn parse_numbers(bytes: &[u8]) -> Option<PurgeNumbers> {
    let (hard, soft) = bytes.split_first_chunk()?;
    Some(PurgeNumbers { hard: u64::from_le_bytes(*hard), soft: u64::from_le_bytes(soft.try_into().ok()?) })
}

/// Returns the payload of the record at the start of the bytes, if it is intact.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let len = declared(frame)?;
    let payload = rest.get(..len)?;
    (xxh3_64(payload).to_le_bytes() == frame[8..]).then_some(payload)
}

/// Returns the length that a frame declares; `None` if it is invalid.
fn declared(frame: &[u8; FRAME]) -> Option<usize> {
    let len = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
    let complement = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
    (len == !complement && len > 0 && len as usize <= MOST_PAYLOAD).then_some(len as usize)
}

/// Returns whether the bytes from `at` on are the result of a write during a power loss: some of its sectors, and zeros
/// in place of the others.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    let len = rest.first_chunk::<FRAME>().and_then(declared).map_or(FRAME, |len| FRAME + len);
    if rest.len() < len {
        return true;
    }
    // The part of its first sector, then whole sectors.
    let first = (SECTOR - at % SECTOR).min(len);
    let (first, others) = rest[..len].split_at(first);
    let is_zero = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    is_zero(first) || others.chunks(SECTOR).any(is_zero)
}
