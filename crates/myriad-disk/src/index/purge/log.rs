//! Binary format of the purge log.
//!
//! ```text
//! magic, version | record | record | ... | zeros
//! record: length, its complement, checksum (XXH3-64) | kind | contents
//! ```
//!
//! Numbers are little-endian. A record is written into existing zeros, before its purge is reported as complete. If a
//! power loss interrupts this, at least one sector of the last record is still zero, and its purge was not reported.
//! Any other damage may have destroyed a completed purge: [`PurgeLogContents::is_lost`] is set then.

use xxhash_rust::xxh3::xxh3_64;

use super::exact::PurgeNumbers;
use super::purge_set::PurgeSet;
use super::record::{ALL, EXACT, FRAME, MAX_PER_RECORD, RULE, RulePurge, write_exact};
use super::request::{MAX_RULE_LEN, PurgeKind};

const MAGIC: [u8; 8] = *b"\x89Myrban\n";
const VERSION: u32 = 1;
/// Length of magic number and version at the start of a purge log, in bytes.
const HEAD: usize = 12;
/// Number of bytes that a disk writes atomically.
pub(super) const SECTOR: usize = 512;
/// Maximum length of the payload of one record in the purge log, in bytes.
const MOST_PAYLOAD: usize = MAX_PER_RECORD * 48 + 2 * MAX_RULE_LEN + 64;

/// Contents of a purge log that was read.
#[derive(Debug)]
pub struct PurgeLogContents {
    /// Purges of the intact records before the first invalid bytes.
    pub book: PurgeSet,
    /// Length of magic number, version and the records before the first invalid bytes, in bytes; 0 without a valid
    /// header.
    pub len: usize,
    /// Set if invalid bytes follow the intact records, or the log has no valid header.
    pub is_damaged: bool,
    /// Set if the invalid bytes may have contained a purge that was reported as complete.
    pub is_lost: bool,
}

impl PurgeSet {
    /// Adds the records at the start of `bytes`, up to the first that is not intact. Returns the length of the added
    /// records in bytes.
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

    /// Returns the contents of a log with all purges, without the zeros at the end.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        // Rules are written before keys and labels, newest first. Reading a purge of everything drops all purges with
        // lower numbers read before it, and a purge by another process may have a lower number although it is later.
        self.rules.iter().rev().for_each(|rule| rule.write(&mut out));
        let keys = self.keys.iter().map(|(key, numbers)| (*key, *numbers));
        write_exact(keys, self.labels.iter().map(|(label, numbers)| (*label, *numbers)), &mut out);
        out
    }

    /// Parses the contents of a purge log file.
    pub fn read(bytes: &[u8]) -> PurgeLogContents {
        let mut reading =
            PurgeLogContents { book: Self::default(), len: 0, is_damaged: false, is_lost: false };
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        if !bytes.starts_with(&head) {
            // A valid log is never incomplete at its start: it is renamed to its name after it was written.
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

/// Parses arbitrary bytes as a purge log, for fuzzing. Returns the number of intact bytes, and true if the purges are
/// the same after they are written and read again.
pub fn examine_purges(bytes: &[u8]) -> (usize, bool) {
    let reading = PurgeSet::read(bytes);
    let again = PurgeSet::read(&reading.book.write());
    (reading.len, !again.is_damaged && again.book == reading.book)
}

fn parse_numbers(bytes: &[u8]) -> Option<PurgeNumbers> {
    let (hard, soft) = bytes.split_first_chunk()?;
    Some(PurgeNumbers { hard: u64::from_le_bytes(*hard), soft: u64::from_le_bytes(soft.try_into().ok()?) })
}

/// Returns the payload of the record at the start of `bytes`; `None` if the record is not intact.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let len = declared(frame)?;
    let payload = rest.get(..len)?;
    (xxh3_64(payload).to_le_bytes() == frame[8..]).then_some(payload)
}

/// Returns the payload length that a record's frame declares; `None` if the frame is invalid.
fn declared(frame: &[u8; FRAME]) -> Option<usize> {
    let len = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
    let complement = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
    (len == !complement && len > 0 && len as usize <= MOST_PAYLOAD).then_some(len as usize)
}

/// Returns true if the bytes from `at` on may be one record whose write was interrupted by a power loss: at least one
/// of its sectors is still zero, or the file ends within it.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    let len = rest.first_chunk::<FRAME>().and_then(declared).map_or(FRAME, |len| FRAME + len);
    if rest.len() < len {
        return true;
    }
    // The record's part of its first sector, then whole sectors.
    let first = (SECTOR - at % SECTOR).min(len);
    let (first, others) = rest[..len].split_at(first);
    let is_zero = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    is_zero(first) || others.chunks(SECTOR).any(is_zero)
}
