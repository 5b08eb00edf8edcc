//! Objects under keys: memory and disk tiers, eviction and in-flight objects, knowing no HTTP.
//!
//! A [`Zone`] maps opaque keys to immutable [`Object`]s that carry the caller's metadata. A hit takes one shard lock,
//! one table probe and one `Arc` clone. A miss is a [`Claim`]: one caller leads and writes a *flight*, the others wait for it
//! and read the body while it arrives. Objects and arriving bodies count against one cap per zone.
//!
//! Below it are `myriad-index` (keys, tables, eviction, purges) and `myriad-disk` (files); their names that callers need are
//! handed on here.
//!
//! | file | what |
//! |---|---|
//! | `zone/` | look-up, claims, purges, removal, eviction, sweep, inspection; the disk tier of a zone |
//! | `object/`, `body`, `variants` | what is stored |
//! | `flight/` | the state machine of an object while it is fetched; its writers and readers |
//! | `shard` | the part of a zone that one lock guards |
//! | `disk/` | objects in files, files as objects |
//! | `gone` | why keys are no longer stored |
//! | `limits`, `stats`, `persist` | limits and figures of a zone; metadata that can be kept on disk |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. Nothing here needs a runtime; waiting
//! uses [`std::task`] wakers.

#![forbid(unsafe_code)]

mod body;
mod disk;
mod flight;
mod gone;
mod limits;
mod object;
mod persist;
mod shard;
mod stats;
#[cfg(test)]
mod tests;
mod variants;
mod zone;

pub use body::{Body, Segments};
pub use disk::DiskPage;
pub use flight::{
    Abort, Admission, BodyWriter, Capacity, Completed, Completion, Failure, FlightEnd, FlightHead,
    FlightReader, FlightWriter, Push, Unstored,
};
pub use gone::Gone;
pub use limits::ZoneLimits;
pub use myriad_disk::{
    BodyReader, Clock, ClockReference, DiskEvent, DiskLimits, DiskOptions, DiskPool, DiskStats, FormatError,
    OpenBody, Opening, Pace, ReadError, Reference, Report, StoredBody,
};
pub use myriad_index::{
    Count, Covered, Covers, KeyRef, MOST_RULE, Metadata, Purge, PurgeError, Purged, Purging, Retired,
    Selection,
};
pub use object::{ALTERNATIVES, Alternative, AttachError, Object};
pub use persist::Persist;
pub use stats::{Swept, ZoneStats};
pub use zone::{Claim, ClaimOptions, Cursor, LivePurge, PageFile, Zone};
