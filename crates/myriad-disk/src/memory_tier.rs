//! The memory tier, as the disk tier below it sees it.

use std::sync::Arc;

use myriad_index::{Book, ExactPurge, Name, Purge, PurgeRecord, Softened, Verdict};

use crate::catalogue::Filed;

/// The memory tier, as the disk tier asks it. No lock of the disk tier but a stripe is held meanwhile.
pub trait MemoryTier: MemoryPurges {
    /// When a key was last hit, in ms; `None` where it is not in memory.
    fn last_used(&self, hash: u128) -> Option<u64>;
    /// Most variants of one key.
    fn max_variants(&self) -> usize;
    /// The variants of a key that are in memory: the low half of the hash of each, and when it was last hit, in seconds since the
    /// epoch.
    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)>;
    /// Drops the page of a key: its file is gone.
    fn forget(self: Arc<Self>, hash: u128);
    /// As [`Self::forget`], where somebody removed the file: pages of the key that are being fetched are not stored either.
    fn remove(self: Arc<Self>, hash: u128);
    /// Drops all pages: all files are gone.
    fn forget_all(self: Arc<Self>);
    /// Milliseconds without use after which a page goes.
    fn inactive_ms(&self) -> u64;
    /// Writes pages that have changed in memory since they were written.
    fn write_changed(self: Arc<Self>, now: u64);
    /// Writes some pages of the backlog; whether there were any.
    fn write_backlog(self: Arc<Self>) -> bool;
    /// Brings a page into memory before anybody asks for it; false where there is no more room for such.
    fn warm(self: Arc<Self>, name: Name, hash: u128, now: u64) -> bool;
    /// The next sequence number that a fetch will get.
    fn sequence(&self) -> u64;
    /// Raises the next sequence number to at least this one.
    fn sequence_at_least(&self, least: u64);
}

/// The purges in force, as the disk tier asks them. No lock of the disk tier but a stripe is held meanwhile.
pub trait MemoryPurges: Send + Sync {
    /// The purges of the runs before are in force from now on. Returns those of this run, which cover what is in the folder as
    /// well, under the numbers that they have now. Where some were lost, everything is purged.
    fn begin_purges(&self, book: &Book, is_lost: bool) -> Vec<PurgeRecord>;
    /// The purges of another process are in force from now on, over all that was fetched before; the numbers they got.
    fn adopt_purges(&self, news: &Book) -> Book;
    /// Finds the pages of a purge's keys and labels in memory.
    fn take_exact(self: Arc<Self>, exact: &ExactPurge);
    /// Counts pages of a key or a label that were found in a snapshot, for a purge that is counting such.
    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: Purge, count: usize);
    /// How many pages a purge covered; those that are found later are not counted.
    fn end_count(&self, exact: &ExactPurge) -> usize;
    /// Pages that soft purges have covered in memory since the last call.
    fn take_softened(&self) -> Vec<Softened>;
    /// What the purges of keys and labels after `since` say of a page; rules are not asked.
    fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> Verdict;
    /// What the purges after `since` say of a page in a file, and the newest of them; those after `count` count it.
    fn ask_file(&self, filed: &Filed, since: u64, count: Option<u64>) -> (Verdict, u64);
    /// Whether pages are being counted for a purge of keys or labels.
    fn is_counting(&self) -> bool;
    /// Whether a newer page than that of a file is in memory.
    fn holds_newer(&self, filed: &Filed) -> bool;
    /// The newest purge by rule; zero where there is none.
    fn newest_rule(&self) -> u64;
    /// The newest purge by rule below a number; zero where there is none.
    fn newest_rule_before(&self, number: u64) -> u64;
    /// The newest rule such that it and all before it have asked all pages in memory.
    fn asked_in_memory(&self) -> u64;
    /// The number at which the oldest fetch under way began whose page may be stored.
    fn oldest_flight(&self) -> u64;
    /// Whether so many purges are kept that no fetch may keep them from being forgotten.
    fn is_crowded(&self) -> bool;
    /// Has no page stored whose fetch began before a number.
    fn let_fetches_go(&self, number: u64);
}
