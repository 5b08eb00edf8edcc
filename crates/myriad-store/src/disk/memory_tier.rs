//! The memory tier, as the disk tier below it sees it.

use std::sync::Arc;

use super::catalogue::Filed;
use super::name::Name;
use crate::Purge;
use crate::purge::{Book, Entry, Exact, Softened, Verdict};

/// What the disk tier needs of the memory tier. Called with no lock of the shelf held but a stripe.
pub(crate) trait MemoryTier: MemoryPurges {
    /// When a key was last hit, in ms; `None` where it is not in memory.
    fn last_used(&self, hash: u128) -> Option<u64>;
    /// Most variants of one key.
    fn max_variants(&self) -> usize;
    /// Of each variant of a key that is in memory: half of its hash, and when it was last hit, in seconds since the epoch.
    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)>;
    /// Drops a key's page: its file is gone.
    fn forget(self: Arc<Self>, hash: u128);
    /// As [`Self::forget`], where somebody removed the file: what is being fetched of the key is not stored either.
    fn remove(self: Arc<Self>, hash: u128);
    /// Drops all pages: all files are gone.
    fn forget_all(self: Arc<Self>);
    /// Milliseconds without use after which a page goes.
    fn inactive_ms(&self) -> u64;
    /// Writes what has changed in memory since it was written.
    fn write_changed(self: Arc<Self>, now: u64);
    /// Writes some of what came when the disk had too much to do; whether there was any.
    fn write_backlog(self: Arc<Self>) -> bool;
    /// Brings a page into memory before anybody asks for it; false where there is no more room for such.
    fn warm(self: Arc<Self>, name: Name, hash: u128, now: u64) -> bool;
    /// The next sequence number that a fetch will get.
    fn sequence(&self) -> u64;
    /// Has sequence numbers go on from at least this one.
    fn sequence_at_least(&self, least: u64);
}

/// What purges need of the memory tier. Called with no lock of the shelf held but a stripe.
pub(crate) trait MemoryPurges: Send + Sync {
    /// The purges of the runs before hold from now on. Returns those of this run that cover what is in the folder as well,
    /// under the numbers that they have now; where some were lost, everything is purged.
    fn begin_purges(&self, book: &Book, is_lost: bool) -> Vec<Entry>;
    /// The purges of another process hold from now on, over what was fetched before; under which numbers.
    fn adopt_purges(&self, news: &Book) -> Book;
    /// Finds in memory what a purge names exactly.
    fn take_exact(self: Arc<Self>, exact: &Exact);
    /// Pages of a key or a label were found in a snapshot, for a purge that may be counting such.
    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: Purge, count: usize);
    /// How many pages a purge covered; those that are found later are not counted.
    fn end_count(&self, exact: &Exact) -> usize;
    /// Pages that soft purges have covered in memory since the last call.
    fn take_softened(&self) -> Vec<Softened>;
    /// What the purges after `since` say of a page by its key and labels, rules apart.
    fn judge_marks(&self, since: u64, key: u128, labels: &[u64]) -> Verdict;
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
    /// All that is in memory was asked by the rules up to this number.
    fn asked_in_memory(&self) -> u64;
    /// The number at which the oldest fetch under way began whose page may be stored.
    fn oldest_flight(&self) -> u64;
    /// Whether so many purges are kept that no fetch may keep them from being forgotten.
    fn is_crowded(&self) -> bool;
    /// What began to be fetched before a number is not stored.
    fn let_fetches_go(&self, number: u64);
}
