//! Data structures with which both tiers of a zone find, purge and evict pages. They contain no pages, and are
//! independent of memory and disk.
//!
//! | file | contents |
//! |---|---|
//! | `key`, `selection`, `name` | keys and their hash; variants of a key; the names of their files |
//! | `table` | look-up table: from the hash of a key to a slot |
//! | `s3_fifo`, `ghost` | eviction order in both tiers; recently evicted values |
//! | `labels` | index from labels (URL or tag) to slots |
//! | `key_notes` | request counts and hit-for-miss marks of keys |
//! | `zone_budget` | limit of the bytes in memory |
//! | `metadata` | the caller's metadata of a page, and its stored form |
//! | `purge/` | purges: requests, purges in force, records for a restart |
//! | `oneshot` | channel for one value from another thread |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. Waiting uses [`std::task`] wakers.

mod ghost;
mod key;
mod key_notes;
mod labels;
mod metadata;
mod name;
mod oneshot;
mod purge;
mod s3_fifo;
mod selection;
mod table;
mod zone_budget;

pub use key::{HashedKey, HashedKeyRef, KeyRef, Seed};
pub use key_notes::KeyNotes;
pub use labels::{LabelIndex, LabelWalk};
pub use metadata::{Metadata, PurgePredicate};
pub use name::FileName;
pub use oneshot::{ValueReceiver, ValueSender, value_channel};
pub use purge::{
    ExactPurge, FinishedPurge, LivePurges, LoggedPurge, MAX_RULE_LEN, NAME_OF_ALL, NAME_OF_EXPIRY,
    PurgeCount, PurgeError, PurgeFuture, PurgeKind, PurgeLogContents, PurgeNumbers, PurgeRecord, PurgeScope,
    PurgeSet, PurgeVerdict, Purgeable, RulePurge, SoftPurgedPage, examine_purges,
};
pub use s3_fifo::{EvictionPosition, Lane, S3Fifo};
pub use selection::Selection;
pub use table::SlotTable;
pub use zone_budget::ZoneBudget;
