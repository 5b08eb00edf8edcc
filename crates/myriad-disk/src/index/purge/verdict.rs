//! Verdicts of purges on pages.

use crate::index::Metadata;

/// Combined verdict of purges on a page. A greater verdict overrides a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeVerdict {
    /// No purge covers the page.
    Unaffected,
    /// A soft purge covers the page: it remains stored, but is not fresh any more.
    Stale,
    /// A hard purge covers the page: it must be removed.
    Removed,
}

/// Page in memory that a soft purge covered, so that the disk tier marks its file as stale.
#[derive(Clone, Copy, Debug)]
pub struct SoftPurgedPage {
    /// Hash of the page's key under the zone's seed.
    pub key: u128,
    /// Sequence number at the start of the page's fetch; a later fetch has a higher number.
    pub generation: u64,
    /// Number of the newest purge when the page was checked against purges.
    pub number: u64,
}

/// Stored object to which purges are applied.
pub trait Purgeable<M: Metadata> {
    /// Returns the bytes of the object's key.
    fn key(&self) -> &[u8];
    /// Returns the caller's metadata of the object.
    fn meta(&self) -> M::MetaView<'_>;
    /// Returns the sequence number at the start of the object's fetch. Purges with higher numbers may cover the object.
    fn generation(&self) -> u64;
    /// Returns the number of the newest purge that the object was checked against; initially its generation.
    fn last_purge_applied(&self) -> u64;
    /// Records that the object was checked against all purges up to `number`.
    fn note_purges_applied(&self, number: u64);
    /// Lowers the time until which the object is fresh to `from` (milliseconds since the epoch; 0 if unknown), and in
    /// any case to 1 ms below the time that its metadata declares, so that even an object that was stale already can be
    /// recognised as purged. A time that is lower already remains.
    fn expire(&self, from: u64);
}
