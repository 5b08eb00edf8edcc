//! Interface of the memory tier for the disk tier below it.

use std::sync::Arc;

use crate::index::{ExactPurge, FileName, PurgeKind, PurgeRecord, PurgeSet, PurgeVerdict, SoftPurgedPage};

use crate::file_index::IndexedFile;

/// Memory tier of a zone. During a call, the disk tier holds no lock except a stripe.
pub trait MemoryTier: MemoryPurges {
    /// Returns the time of a key's last hit, in milliseconds; `None` if it is not in memory.
    fn last_used(&self, hash: u128) -> Option<u64>;
    /// Returns the maximum number of variants of a key.
    fn max_variants(&self) -> usize;
    /// Returns the variants of a key in memory: the low half of the hash of each, and the time of its last hit, in
    /// seconds since the epoch.
    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)>;
    /// Drops the page of a key whose file was removed.
    fn forget(self: Arc<Self>, hash: u128);
    /// Like [`Self::forget`], for a file removed from outside: fetches of the key in progress are not stored either.
    fn remove(self: Arc<Self>, hash: u128);
    /// Drops all pages, because all files were removed.
    fn forget_all(self: Arc<Self>);
    /// Returns the time without use after which a page is removed, in milliseconds.
    fn inactive_ms(&self) -> u64;
    /// Writes pages that have changed in memory since they were written.
    fn write_changed(self: Arc<Self>, now: u64);
    /// Writes some pages of the backlog. Returns whether it had any.
    fn write_backlog(self: Arc<Self>) -> bool;
    /// Loads a page into memory without a request for it. Returns false if the room for such pages is used up.
    fn warm(self: Arc<Self>, name: FileName, hash: u128, now: u64) -> bool;
    /// Returns the sequence number of the next fetch.
    fn sequence(&self) -> u64;
    /// Raises the next sequence number to at least this number.
    fn sequence_at_least(&self, least: u64);
}

/// Purges in force. During a call, the disk tier holds no lock except a stripe.
pub trait MemoryPurges: Send + Sync {
    /// Puts the purges of former runs in force. Returns those of this run, which cover the contents of the folder as
    /// well, under their new numbers. If some were lost, everything is purged.
    fn begin_purges(&self, book: &PurgeSet, is_lost: bool) -> Vec<PurgeRecord>;
    /// Puts the purges of another process in force, over all pages fetched before. Returns their numbers.
    fn adopt_purges(&self, news: &PurgeSet) -> PurgeSet;
    /// Applies a purge of keys and labels to the pages in memory.
    fn apply_exact(self: Arc<Self>, exact: &ExactPurge);
    /// Counts pages of a key or a label that were found in a snapshot, for the purges that count them.
    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: PurgeKind, count: usize);
    /// Returns the number of pages that a purge covered. Pages found later are not counted.
    fn end_count(&self, exact: &ExactPurge) -> usize;
    /// Returns the pages that soft purges have covered in memory since the last call.
    fn take_softened(&self) -> Vec<SoftPurgedPage>;
    /// Returns the verdict of the purges of keys and labels after `since` on a page. Rules are not checked.
    fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> PurgeVerdict;
    /// Returns the verdict of the purges after `since` on a page in a file, and the number of the newest of them.
    /// Purges after `count` count the page.
    fn judge_file(&self, filed: &IndexedFile, since: u64, count: Option<u64>) -> (PurgeVerdict, u64);
    /// Returns whether pages are being counted for a purge of keys or labels.
    fn is_counting(&self) -> bool;
    /// Returns whether memory has a newer page than a file.
    fn holds_newer(&self, filed: &IndexedFile) -> bool;
    /// Returns the number of the newest purge by rule, or zero.
    fn newest_rule(&self) -> u64;
    /// Returns the number of the newest purge by rule below a number, or zero.
    fn newest_rule_before(&self, number: u64) -> u64;
    /// Returns the number of the newest rule that, with all rules before it, has checked all pages in memory.
    fn checked_in_memory(&self) -> u64;
    /// Returns the number of the oldest fetch in progress whose page may be stored.
    fn oldest_flight(&self) -> u64;
    /// Returns whether the number of purges is so high that no fetch may prevent them from being forgotten.
    fn is_crowded(&self) -> bool;
    /// Prevents storing for all fetches that began before a number.
    fn prevent_storing_before(&self, number: u64);
}
