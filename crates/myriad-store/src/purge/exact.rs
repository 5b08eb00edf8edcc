//! Purges of keys and labels, and their numbers.

use std::sync::atomic::AtomicUsize;

use super::request::Purge;
use crate::disk::Name;

/// The newest purges of something, hard and soft; zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) hard: u64,
    pub(crate) soft: u64,
}

impl Numbers {
    pub(crate) fn note(&mut self, number: u64, purge: Purge) {
        let newest = match purge {
            Purge::Hard => &mut self.hard,
            Purge::Soft => &mut self.soft,
        };
        *newest = (*newest).max(number);
    }

    pub(crate) fn newest(self) -> u64 {
        self.hard.max(self.soft)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.hard = self.hard.max(other.hard);
        self.soft = self.soft.max(other.soft);
    }
}

/// A purge of keys and labels while what it covers is being counted.
pub(crate) struct Exact {
    pub(crate) number: u64,
    pub(crate) purge: Purge,
    pub(crate) keys: Box<[u128]>,
    /// The file of each key, where there is a folder.
    pub(crate) names: Box<[Name]>,
    /// Addresses among them.
    pub(crate) labels: Box<[u64]>,
    pub(crate) count: AtomicUsize,
}

impl Exact {
    pub(crate) fn covers(&self, key: Option<u128>, labels: &[u64]) -> bool {
        key.is_some_and(|key| self.keys.contains(&key))
            || labels.iter().any(|label| self.labels.contains(label))
    }
}
