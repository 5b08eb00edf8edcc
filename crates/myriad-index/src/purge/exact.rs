//! Purges of keys and labels, and their numbers.

use std::sync::atomic::AtomicUsize;

use super::request::Purge;
use crate::Name;

/// The newest purges of one key or label; zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The newest hard purge.
    pub hard: u64,
    /// The newest soft purge.
    pub soft: u64,
}

impl Numbers {
    /// Notes one more purge, which need not be the newest.
    pub fn note(&mut self, number: u64, purge: Purge) {
        let newest = match purge {
            Purge::Hard => &mut self.hard,
            Purge::Soft => &mut self.soft,
        };
        *newest = (*newest).max(number);
    }

    /// The newest purge, hard or soft.
    pub fn newest(self) -> u64 {
        self.hard.max(self.soft)
    }

    /// The newest purge of one kind.
    pub fn of(self, purge: Purge) -> u64 {
        match purge {
            Purge::Hard => self.hard,
            Purge::Soft => self.soft,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.hard = self.hard.max(other.hard);
        self.soft = self.soft.max(other.soft);
    }
}

/// A purge of keys and labels while the pages that it covers are counted.
pub struct ExactPurge {
    /// Its place in the zone's sequence.
    pub number: u64,
    /// What it does with the pages.
    pub purge: Purge,
    /// Hashes of the keys under the zone's seed.
    pub keys: Box<[u128]>,
    /// The file of each key, in the order of `keys`; empty in a zone without a folder.
    pub names: Box<[Name]>,
    /// The labels, with those that claims tell (addresses).
    pub labels: Box<[u64]>,
    /// Pages found so far, in memory and on disk.
    pub count: AtomicUsize,
}

impl ExactPurge {
    /// Whether it names a page, whenever that was fetched.
    pub(super) fn covers(&self, key: Option<u128>, labels: &[u64]) -> bool {
        key.is_some_and(|key| self.keys.contains(&key))
            || labels.iter().any(|label| self.labels.contains(label))
    }
}
