//! Verdicts of purges on pages.

use crate::index::Metadata;

/// Verdict of the purges on a page. A greater verdict overrides a lesser verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeVerdict {
    /// No purge covers it.
    Unaffected,
    /// A soft purge covers it: it remains, but is no longer fresh.
    Stale,
    /// A hard purge covers it: it is removed.
    Removed,
}

/// Page in memory that a soft purge covers, for the notification of the disk tier.
#[derive(Clone, Copy, Debug)]
pub struct SoftPurgedPage {
    /// Hash of its key under the zone's seed.
    pub key: u128,
    /// Sequence number at the start of its fetch.
    pub generation: u64,
    /// Newest purge that was applied to the page.
    pub number: u64,
}

/// Stored object, to which purges are applied.
pub trait Purgeable<M: Metadata> {
    /// Returns the bytes of the key.
    fn key(&self) -> &[u8];
    /// Returns the caller's metadata.
    fn meta(&self) -> M::MetaView<'_>;
    /// Returns the sequence number at the start of its fetch: later purges may cover it.
    fn generation(&self) -> u64;
    /// Returns the number of the newest purge that was applied to it; initially its generation.
    fn last_purge_applied(&self) -> u64;
    /// Records that all purges up to a number were applied to it.
    fn note_purges_applied(&self, number: u64);
    /// Makes it stale from a time on, in ms since the epoch, unless it became stale before; 0 if the time is unknown.
    fn expire(&self, from: u64);
}
