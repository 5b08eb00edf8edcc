//! What purges say of a page.

use crate::Metadata;

/// What the purges say of a page. A greater verdict overrides a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No purge covers it.
    Stays,
    /// A soft purge covers it: it stays, but is not fresh any more.
    Stale,
    /// A hard purge covers it: it is taken out.
    Goes,
}

/// A page in memory that a soft purge covers; the disk tier has yet to hear of it.
#[derive(Clone, Copy, Debug)]
pub struct Softened {
    /// The hash of its key under the zone's seed.
    pub key: u128,
    /// The sequence number at which its fetch began.
    pub generation: u64,
    /// The newest purge that the page was asked by.
    pub number: u64,
}

/// A stored object, as purges judge it.
pub trait Judged<M: Metadata> {
    /// The key's bytes.
    fn key(&self) -> &[u8];
    /// What the caller keeps with it.
    fn meta(&self) -> M::View<'_>;
    /// The sequence number at which its fetch began: later purges may cover it.
    fn generation(&self) -> u64;
    /// The number of the newest purge that it was asked by; at first its generation.
    fn asked_by(&self) -> u64;
    /// Notes that all purges up to a number have asked it.
    fn note_asked(&self, number: u64);
    /// Makes it stale from a time on, in ms since the epoch, unless it became stale before; 0 where the time is not known.
    fn expire(&self, from: u64);
}
