//! What both tiers of a zone find, purge and evict pages by. It holds no page, and knows neither memory nor disk.
//!
//! | file | what |
//! |---|---|
//! | `key`, `selection`, `name` | keys and their hash; variants of a key; the names of their files |
//! | `index` | the table of a look-up: from the hash of a key to a slot |
//! | `s3_fifo`, `ghost` | which page leaves next, in both tiers; what left not long ago |
//! | `labels` | which slots bear a label: URL or tag |
//! | `notes` | small facts about keys that are not stored |
//! | `ledger` | the cap on bytes |
//! | `metadata` | what callers keep with a page, and how it is kept |
//! | `purge/` | purges: what is asked for, which are in force, what a restart must know |
//! | `ticket` | waiting for a value that another thread gives |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. Waiting uses [`std::task`] wakers.

#![forbid(unsafe_code)]

mod ghost;
mod index;
mod key;
mod labels;
mod ledger;
mod metadata;
mod name;
mod notes;
mod purge;
mod s3_fifo;
mod selection;
mod ticket;

pub use index::Index;
pub use key::{Hashed, Key, KeyRef, Seed};
pub use labels::{Labels, Walk};
pub use ledger::Ledger;
pub use metadata::{Covers, Metadata};
pub use name::Name;
pub use notes::Notes;
pub use purge::{
    Book, Count, Covered, ExactPurge, Judged, LivePurges, MOST_RULE, Numbers, Purge, PurgeError, PurgeRecord,
    Purged, Purging, Reading, Retired, RulePurge, Softened, Verdict, examine_purges,
};
pub use s3_fifo::{Lane, S3Fifo, Standing};
pub use selection::Selection;
pub use ticket::{Giver, Ticket, ticket};
