//! Purges of keys and labels.

use std::sync::atomic::AtomicUsize;

use super::request::PurgeKind;
use crate::index::FileName;

/// Numbers of the newest purges (hard and soft) of one key or label; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeNumbers {
    /// Number of the newest hard purge.
    pub hard: u64,
    /// Number of the newest soft purge.
    pub soft: u64,
}

impl PurgeNumbers {
    /// Records the number of a hard or soft purge, unless a newer one of the same kind is recorded.
    pub fn note(&mut self, number: u64, purge: PurgeKind) {
        let newest = match purge {
            PurgeKind::Hard => &mut self.hard,
            PurgeKind::Soft => &mut self.soft,
        };
        *newest = (*newest).max(number);
    }

    /// Returns the number of the newest purge, hard or soft; 0 if there is none.
    pub fn newest(self) -> u64 {
        self.hard.max(self.soft)
    }

    /// Returns the number of the newest purge of a kind; 0 if there is none.
    pub fn of(self, purge: PurgeKind) -> u64 {
        match purge {
            PurgeKind::Hard => self.hard,
            PurgeKind::Soft => self.soft,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.hard = self.hard.max(other.hard);
        self.soft = self.soft.max(other.soft);
    }
}

/// Purge of keys and labels, with a counter of the pages that it covers.
pub struct ExactPurge {
    /// Number of this purge in the sequence of all fetches and purges of the zone.
    pub number: u64,
    /// Kind of the purge: hard (removes pages) or soft (makes them stale).
    pub purge: PurgeKind,
    /// Hashes of the purged keys under the zone's seed.
    pub keys: Box<[u128]>,
    /// File name of each key, in the order of `keys`; empty in a zone without a folder, and for purges of another
    /// process.
    pub names: Box<[FileName]>,
    /// Purged labels: hashes of URLs and tags.
    pub labels: Box<[u64]>,
    /// Number of pages found so far that this purge covers, in memory and on disk.
    pub count: AtomicUsize,
}

impl ExactPurge {
    /// Returns true if the purge names a page by key or label, regardless of when the page was fetched.
    pub(super) fn covers(&self, key: Option<u128>, labels: &[u64]) -> bool {
        key.is_some_and(|key| self.keys.contains(&key))
            || labels.iter().any(|label| self.labels.contains(label))
    }
}
