//! Objects under keys: memory and disk tiers, eviction and in-flight objects, knowing no HTTP.
//!
//! A [`Zone`] maps opaque keys to immutable [`Object`]s that carry the caller's metadata. A hit takes one shard lock,
//! one table probe and one `Arc` clone. A miss is a [`Claim`]: one caller leads and writes a *flight*, the others
//! follow it and read the body while it arrives. Whatever is stored or on its way counts against one cap per zone.
//!
//! Where to look:
//!
//! | file | what |
//! |---|---|
//! | `key` | keys and their hash |
//! | `object`, `body` | what is stored |
//! | `zone/` | look-up, claims, purge, eviction, sweep, inspection |
//! | `flight/` | the state machine of an object on its way; its writers and readers |
//! | `shard`, `notes` | one lock's worth of a zone; small facts about keys not stored |
//! | `s3_fifo`, `ghost` | the eviction queue of both tiers; what left it not long ago |
//! | `purge/`, `labels` | purges: asked at look-ups, found by an inverted index |
//! | `ledger` | the cap |
//! | `disk/` | the disk tier: files, their catalogue, recovery |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. Nothing here needs a runtime; waiting
//! uses [`std::task`] wakers.

#![forbid(unsafe_code)]

mod body;
mod disk;
mod flight;
mod ghost;
mod index;
mod key;
mod labels;
mod ledger;
mod limits;
mod metadata;
mod notes;
mod object;
mod purge;
mod s3_fifo;
mod shard;
mod stats;
#[cfg(test)]
mod tests;
mod variants;
mod zone;

pub use body::{Body, Segments};
pub use disk::{
    BodyReader, Clock, DiskEvent, DiskLimits, DiskOptions, DiskPage, DiskPool, DiskStats, FormatError,
    OpenBody, Opening, Pace, ReadError, Report, StoredBody, examine,
};
pub use flight::{
    Abort, Admission, BodyWriter, Capacity, Completed, Completion, Failure, FlightEnd, FlightHead,
    FlightReader, FlightWriter, Push, Unstored,
};
pub use key::KeyRef;
pub use limits::ZoneLimits;
pub use metadata::{Covers, Metadata, Persist};
pub use object::{ALTERNATIVES, Alternative, AttachError, Object, Selection};
pub use purge::{Count, Covered, MOST_RULE, Purge, PurgeError, Purged, Purging, Retired, examine_purges};
pub use stats::{Swept, ZoneStats};
pub use zone::{Claim, ClaimOptions, Cursor, LiveBan, Sought, Zone};
