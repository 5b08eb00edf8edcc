//! Interface through which the disk tier calls the memory tier of its zone.

use std::sync::Arc;

use crate::index::{ExactPurge, FileName, PurgeKind, PurgeRecord, PurgeSet, PurgeVerdict, SoftPurgedPage};

use crate::file_index::IndexedFile;

/// Memory tier of a zone, as the disk tier calls it. During calls, the disk tier does not hold the lock of its file
/// index.
pub trait MemoryTier: MemoryPurges {
    /// Returns the time of the last use of a key's pages in memory (hit, storing or reading from a file), in
    /// milliseconds; `None` if none is in memory.
    fn last_used(&self, hash: u128) -> Option<u64>;
    /// Returns the maximum number of variants per key.
    fn max_variants(&self) -> usize;
    /// Returns the variants of a key in memory: low half of [`crate::variant_hash`], and last use in seconds since the
    /// epoch.
    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)>;
    /// Drops the pages of a key from memory, because its file was removed.
    fn forget(self: Arc<Self>, hash: u128);
    /// Like [`Self::forget`], for a file that another program removed: results of fetches in progress are not stored
    /// either.
    fn remove(self: Arc<Self>, hash: u128);
    /// Drops all pages from memory, because all files were removed. Results of fetches in progress are not stored
    /// either.
    fn forget_all(self: Arc<Self>);
    /// Returns the time without a request after which a page is removed, in milliseconds.
    fn inactive_ms(&self) -> u64;
    /// Queues writes of pages whose encodings or validity have changed since they were written, as far as they are due
    /// at `now` (milliseconds).
    fn write_changed(self: Arc<Self>, now: u64);
    /// Queues writes of some pages of the write backlog. Returns false if the backlog had none, or writing is not
    /// possible now.
    fn write_backlog(self: Arc<Self>) -> bool;
    /// Loads the page in a file into memory without a request for it, after a restart. Returns false if the memory for
    /// such pages is used up, or the read queue is full.
    fn warm(self: Arc<Self>, name: FileName, hash: u128, now: u64) -> bool;
    /// Returns the sequence number that the next fetch or purge will get.
    fn sequence(&self) -> u64;
    /// Raises the sequence number of the next fetch or purge to at least `least`.
    fn sequence_at_least(&self, least: u64);
}

/// Active purges of a zone, as the disk tier uses them. During calls, the disk tier does not hold the lock of its file
/// index.
pub trait MemoryPurges: Send + Sync {
    /// Activates the logged purges of former runs (`book`), or a purge of everything if some were lost (`is_lost`).
    /// Returns the purges to log: those made by this run before, with new numbers, because they cover the files too.
    fn begin_purges(&self, book: &PurgeSet, is_lost: bool) -> Vec<PurgeRecord>;
    /// Activates the purges of another process, for all pages fetched before now. Returns them with numbers of this
    /// process.
    fn adopt_purges(&self, news: &PurgeSet) -> PurgeSet;
    /// Applies a purge of keys and labels to the pages in memory.
    fn apply_exact(self: Arc<Self>, exact: &ExactPurge);
    /// Adds `count` pages found in the file index to a purge of this kind that names their key or labels and is still
    /// counting.
    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: PurgeKind, count: usize);
    /// Stops counting the pages of a purge and returns the number of pages that it covered.
    fn end_count(&self, exact: &ExactPurge) -> usize;
    /// Removes and returns the pages in memory that soft purges have covered since the last call.
    fn take_softened(&self) -> Vec<SoftPurgedPage>;
    /// Returns the verdict of the purges of keys and labels with numbers above `since` on a page, which these purges
    /// count. Rules are not checked.
    fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> PurgeVerdict;
    /// Returns the verdict of the purges with numbers above `since` on the page in a file, and the number of the newest
    /// purge. Purges with numbers above `count` count the page; none if `count` is `None`.
    fn judge_file(&self, filed: &IndexedFile, since: u64, count: Option<u64>) -> (PurgeVerdict, u64);
    /// Returns true if a purge of keys or labels is still counting pages.
    fn is_counting(&self) -> bool;
    /// Returns true if memory has a newer page than a file, of the same key and variant.
    fn holds_newer(&self, filed: &IndexedFile) -> bool;
    /// Returns the number of the newest purge by rule or of everything, or 0.
    fn newest_rule(&self) -> u64;
    /// Returns the number of the newest purge by rule or of everything with a number below `number`, or 0.
    fn newest_rule_before(&self, number: u64) -> u64;
    /// Returns the highest number up to which purges by rule have been checked against all pages in memory.
    fn checked_in_memory(&self) -> u64;
    /// Returns the sequence number of the oldest fetch in progress whose result may be stored; `u64::MAX` if there is
    /// none.
    fn oldest_flight(&self) -> u64;
    /// Returns true if at least half of the maximum number of purges is active. Slow fetches are then prevented from
    /// storing their pages, so that purges which are active only for these fetches can be removed.
    fn is_crowded(&self) -> bool;
    /// Prevents the results of all fetches that began before `number` from being stored.
    fn prevent_storing_before(&self, number: u64);
}
