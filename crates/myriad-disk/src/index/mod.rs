//! Data structures by which both tiers of a zone find, purge and evict pages. This crate stores no pages, and is
//! independent of memory and disk.
//!
//! | file | contents |
//! |---|---|
//! | `key`, `selection`, `name` | keys and their hash; variants of a key; the names of their files |
//! | `table` | look-up table: from the hash of a key to a slot |
//! | `s3_fifo`, `ghost` | eviction order in both tiers; recently evicted values |
//! | `labels` | index from labels (URL or tag) to slots |
//! | `notes` | small facts about keys that are not stored |
//! | `ledger` | the cap on bytes |
//! | `metadata` | callers' metadata of a page, and its stored form |
//! | `purge/` | purges: requests, purges in force, records for a restart |
//! | `ticket` | waiting for a value from another thread |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. Waiting uses [`std::task`] wakers.

mod ghost;
mod key;
mod labels;
mod ledger;
mod metadata;
mod name;
mod notes;
mod purge;
mod s3_fifo;
mod selection;
mod table;
mod ticket;

pub use key::{HashedKey, HashedKeyRef, KeyRef, Seed};
pub use labels::{LabelIndex, LabelWalk};
pub use ledger::ZoneBudget;
pub use metadata::{Metadata, PurgePredicate};
pub use name::FileName;
pub use notes::KeyNotes;
pub use purge::{
    ExactPurge, FinishedPurge, LivePurges, LoggedPurge, MAX_RULE_LEN, PurgeCount, PurgeError, PurgeFuture,
    PurgeKind, PurgeLogContents, PurgeNumbers, PurgeRecord, PurgeScope, PurgeSet, PurgeVerdict, Purgeable,
    RulePurge, SoftPurgedPage, examine_purges,
};
pub use s3_fifo::{EvictionPosition, Lane, S3Fifo};
pub use selection::Selection;
pub use table::SlotTable;
pub use ticket::{ValueReceiver, ValueSender, value_channel};
