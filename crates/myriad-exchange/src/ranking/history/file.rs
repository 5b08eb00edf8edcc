//! File format of the statistics history (`history`).

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::record::{HistoryRecord, RECORD_BYTES};
use super::steps::{HEAD_BYTES, History, LENGTHS, offset};

const MAGIC: &[u8; 8] = b"MYRIADHI";
/// Version of the format, incremented when the meaning of records changes.
const VERSION: u32 = 1;
/// Maximum number of records with a wrong checksum or time. A crash damages at most the few records being written
/// (three at a time); if more are wrong, the whole file counts as damaged.
const MAX_WRONG: usize = 8;

/// Reason why a history file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryError {
    /// The file has no valid head, or not the length of a history file.
    Head,
    /// The file has this version of the format instead of the supported version.
    Version(u32),
    /// Too many records have a wrong checksum or time; the file is not used.
    Records(usize),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("it is not a history file, or is truncated"),
            Self::Version(version) => write!(f, "it has version {version} instead of {VERSION}"),
            Self::Records(count) => write!(f, "{count} of its records have a wrong checksum or time"),
        }
    }
}

impl std::error::Error for HistoryError {}

/// Returns the length of a history file, in bytes; all history files have the same length.
pub fn file_bytes() -> u64 {
    offset(LENGTHS.len(), 0)
}

/// Returns the head of the file: magic number, version, size of a record, checksum of these (little-endian), and zeros.
pub fn head() -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
    let sum = xxh3_64(&head[..16]);
    head[16..24].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Parses a whole file. Returns the history, and the number of records that were skipped because their checksum is
/// wrong or their time does not belong to their position. Fails if the head or the length is wrong, or if more than
/// [`MAX_WRONG`] records are.
pub fn read(bytes: &[u8]) -> Result<(History, usize), HistoryError> {
    let whole = bytes.len() as u64 == file_bytes();
    match bytes.get(..HEAD_BYTES) {
        Some(found) if *found == head() && whole => {}
        Some(found) if found[..8] == *MAGIC && found[8..12] != VERSION.to_le_bytes() => {
            return Err(HistoryError::Version(u32::from_le_bytes([
                found[8], found[9], found[10], found[11],
            ])));
        }
        _ => return Err(HistoryError::Head),
    }
    let (mut history, mut wrong) = (History::default(), 0);
    let (records, _) = bytes[HEAD_BYTES..].as_chunks::<RECORD_BYTES>();
    let mut records = records.iter();
    for (ring, (length, number)) in LENGTHS.into_iter().enumerate() {
        for (place, record) in records.by_ref().take(number).enumerate() {
            match HistoryRecord::decode(record) {
                Ok(Some(record))
                    if record.at_ms % length == 0 && History::position(ring, record.at_ms) == place =>
                {
                    history.rings[ring][place] = record;
                }
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => wrong += 1,
            }
        }
    }
    if wrong > MAX_WRONG { Err(HistoryError::Records(wrong)) } else { Ok((history, wrong)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::history::Figures;

    fn file(records: &[(usize, u64, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; file_bytes() as usize];
        bytes[..HEAD_BYTES].copy_from_slice(&head());
        let mut history = History::default();
        for (ring, at_ms, requests) in records {
            let written = history.set(*ring, *at_ms, &Figures { requests: *requests, ..Figures::default() });
            let at = written.offset as usize;
            bytes[at..at + RECORD_BYTES].copy_from_slice(&written.bytes);
        }
        bytes
    }

    fn requests(history: &History, ring: usize, at_ms: u64) -> Option<u64> {
        let (_, figures) = history.steps(ring, at_ms, at_ms + LENGTHS[ring].0)[0];
        figures.map(|figures| figures.requests)
    }

    #[test]
    fn what_was_written_is_there_after_a_restart_and_goes_on_being_counted() {
        let bytes = file(&[(0, 700_010_000, 5), (1, 700_020_000, 6), (2, 699_600_000, 7)]);
        let (mut history, wrong) = read(&bytes).expect("sound");
        assert_eq!(wrong, 0);
        assert_eq!(requests(&history, 0, 700_010_000), Some(5));
        assert_eq!(requests(&history, 1, 700_020_000), Some(6));
        assert_eq!(requests(&history, 2, 699_600_000), Some(7));
        for own in [1, 2] {
            history.set(0, 700_010_000, &Figures { requests: own, ..Figures::default() });
        }
        assert_eq!(
            requests(&history, 0, 700_010_000),
            Some(7),
            "5 of an earlier process and 2 of this process"
        );
    }

    #[test]
    fn a_record_cut_by_a_crash_is_passed_over_and_a_damaged_file_is_refused() {
        let sound = file(&[(0, 700_010_000, 5), (1, 700_020_000, 6)]);
        let mut torn = sound.clone();
        let at = offset(1, History::position(1, 700_020_000)) as usize;
        torn[at + 100] ^= 1;
        let (history, wrong) = read(&torn).expect("all records except one");
        assert_eq!((wrong, requests(&history, 0, 700_010_000)), (1, Some(5)));
        assert_eq!(requests(&history, 1, 700_020_000), None);
        let mut noise = sound.clone();
        noise[HEAD_BYTES..].fill(7);
        assert!(matches!(read(&noise), Err(HistoryError::Records(_))));
        assert_eq!(read(&sound[..sound.len() - 1]).err(), Some(HistoryError::Head));
        assert_eq!(read(b"").err(), Some(HistoryError::Head));
        let mut other = sound.clone();
        other[8] = 9;
        assert_eq!(read(&other).err(), Some(HistoryError::Version(9)));
        let mut misplaced = sound;
        misplaced.copy_within(at..at + RECORD_BYTES, at + RECORD_BYTES);
        assert_eq!(read(&misplaced).map(|(_, wrong)| wrong).ok(), Some(1));
    }

    #[test]
    fn no_bytes_harm() {
        let sound = file(&[(0, 700_010_000, 5), (1, 700_020_000, 6), (2, 699_600_000, 7)]);
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let mut bytes = sound.clone();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            if rng.bool() {
                bytes.truncate(rng.usize(..bytes.len()));
            }
            if let Ok((history, _)) = read(&bytes) {
                for ring in 0..3 {
                    history.steps(ring, 0, u64::MAX / 2);
                }
            }
        }
    }
}
