//! Data structures by which both tiers of a zone find, purge and evict pages. This crate stores no pages, and is
//! independent of memory and disk.
//!
//! | file | contents |
//! |---|---|
//! | `key`, `selection`, `name` | keys and their hash; variants of a key; the names of their files |
//! | `table` | look-up table: from the hash of a key to a slot |
//! | `s3_fifo`, `ghost` | eviction order in both tiers; recently evicted values |
//! | `labels` | index from labels (URL or tag) to slots |
//! | `key_notes` | small facts about keys that are not stored |
//! | `zone_budget` | the cap on bytes |
//! | `metadata` | callers' metadata of a page, and its stored form |
//! | `purge/` | purges: requests, purges in force, records for a restart |
//! | `oneshot` | waiting for a value from another thread |
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
    ExactPurge, FinishedPurge, LivePurges, LoggedPurge, MAX_RULE_LEN, PurgeCount, PurgeError, PurgeFuture,
    PurgeKind, PurgeLogContents, PurgeNumbers, PurgeRecord, PurgeScope, PurgeSet, PurgeVerdict, Purgeable,
    RulePurge, SoftPurgedPage, examine_purges,
};
pub use s3_fifo::{EvictionPosition, Lane, S3Fifo};
pub use selection::Selection;
pub use table::SlotTable;
pub use zone_budget::ZoneBudget;
