//! Purges as records of the purge log, and their encoding.

use xxhash_rust::xxh3::xxh3_64;

use super::exact::PurgeNumbers;
use super::request::PurgeKind;

/// Number of bytes before the payload of a record in the purge log: the payload's length, the complement of the length,
/// and its checksum.
pub(super) const FRAME: usize = 16;
/// Maximum number of keys and labels in one record of the purge log.
pub(super) const MAX_PER_RECORD: usize = 4096;

/// First byte of the payload of a record in the purge log: purge of keys and labels.
pub(super) const EXACT: u8 = 0;
/// First byte of the payload of a record in the purge log: purge by rule.
pub(super) const RULE: u8 = 1;
/// First byte of the payload of a record in the purge log: purge of everything.
pub(super) const ALL: u8 = 2;

/// Purge by rule, or of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePurge {
    /// Number of this purge in the sequence of all fetches and purges of the zone.
    pub number: u64,
    /// Kind of the purge: hard (removes pages) or soft (makes them stale).
    pub purge: PurgeKind,
    /// Name of the purge, shown with its result.
    pub name: Box<str>,
    /// Rule as given by the caller; `None` for a purge of everything.
    pub rule: Option<Box<[u8]>>,
}

/// Purge as it is written to the purge log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeRecord {
    /// Purge of keys and labels.
    Exact {
        /// Number of this purge in the sequence of all fetches and purges of the zone.
        number: u64,
        /// Kind of the purge: hard (removes pages) or soft (makes them stale).
        purge: PurgeKind,
        /// Hashes of the purged keys under the zone's seed.
        keys: Box<[u128]>,
        /// Purged labels: hashes of URLs and tags.
        labels: Box<[u64]>,
    },
    /// Purge by rule, or of everything.
    Rule(RulePurge),
}

impl PurgeRecord {
    /// Returns the purge's number in the sequence of all fetches and purges of the zone.
    pub fn number(&self) -> u64 {
        match self {
            Self::Exact { number, .. } | Self::Rule(RulePurge { number, .. }) => *number,
        }
    }

    /// Returns the same purge with another number.
    #[must_use]
    pub fn numbered(mut self, new: u64) -> Self {
        match &mut self {
            Self::Exact { number, .. } | Self::Rule(RulePurge { number, .. }) => *number = new,
        }
        self
    }

    /// Appends the purge to `out` in the format of the purge log. A purge with more than [`MAX_PER_RECORD`] keys and
    /// labels becomes several records.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Exact { number, purge, keys, labels } => {
                let mut numbers = PurgeNumbers::default();
                numbers.note(*number, *purge);
                let keys = keys.iter().map(|key| (*key, numbers));
                write_exact(keys, labels.iter().map(|label| (*label, numbers)), out);
            }
            Self::Rule(rule) => rule.write(out),
        }
    }
}

impl RulePurge {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        frame(out, |out| {
            out.push(if self.rule.is_some() { RULE } else { ALL });
            out.push(u8::from(self.purge == PurgeKind::Soft));
            out.extend_from_slice(&self.number.to_le_bytes());
            out.extend_from_slice(&(self.name.len() as u32).to_le_bytes());
            out.extend_from_slice(self.name.as_bytes());
            out.extend_from_slice(self.rule.as_deref().unwrap_or_default());
        });
    }
}

/// Appends records of purged keys and labels to a purge log, at most [`MAX_PER_RECORD`] per record.
pub(super) fn write_exact(
    keys: impl Iterator<Item = (u128, PurgeNumbers)>,
    labels: impl Iterator<Item = (u64, PurgeNumbers)>,
    out: &mut Vec<u8>,
) {
    let (mut keys, mut labels) = (keys.peekable(), labels.peekable());
    while keys.peek().is_some() || labels.peek().is_some() {
        frame(out, |out| {
            out.push(EXACT);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            let mut count = 0_u32;
            for (key, numbers) in keys.by_ref().take(MAX_PER_RECORD) {
                out.extend_from_slice(&key.to_le_bytes());
                out.extend_from_slice(&numbers.hard.to_le_bytes());
                out.extend_from_slice(&numbers.soft.to_le_bytes());
                count += 1;
            }
            out[at..at + 4].copy_from_slice(&count.to_le_bytes());
            if keys.peek().is_some() {
                return;
            }
            for (label, numbers) in labels.by_ref().take(MAX_PER_RECORD - count as usize) {
                out.extend_from_slice(&label.to_le_bytes());
                out.extend_from_slice(&numbers.hard.to_le_bytes());
                out.extend_from_slice(&numbers.soft.to_le_bytes());
            }
        });
    }
}

/// Appends a record to a purge log: length and checksum, then the payload that `payload` appends.
pub(super) fn frame(out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; FRAME]);
    payload(out);
    let len = (out.len() - at - FRAME) as u32;
    let sum = xxh3_64(&out[at + FRAME..]);
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    out[at + 4..at + 8].copy_from_slice(&(!len).to_le_bytes());
    out[at + 8..at + FRAME].copy_from_slice(&sum.to_le_bytes());
}
