//! Zones: caches of objects under keys, with a memory and a disk tier, eviction, and in-flight objects. Only the module
//! `page` knows HTTP.
//!
//! A [`Zone`] maps opaque keys to immutable [`Object`]s that carry the caller's metadata. A hit takes one shard lock,
//! one table probe and one `Arc` clone. A request that finds no usable object makes a *claim* ([`Claim`]): one request
//! becomes the leader and writes a *flight* (an object while it is fetched), the others wait for the flight and read
//! its body while it arrives. Objects and arriving bodies share one memory limit per zone.
//!
//! The crate `myriad-disk` provides the files, and in `myriad_disk::index` the data structures for keys, eviction and
//! purges. Names that callers need are re-exported here.
//!
//! | file | contents |
//! |---|---|
//! | `zone/` | look-up, claims, purges, removal, eviction, inspection; the disk tier of a zone |
//! | `object/`, `body`, `variants` | stored objects |
//! | `flight/` | state machine of an object while it is fetched; its writers and readers |
//! | `shard` | part of a zone that one lock guards |
//! | `disk/` | conversion between objects and files |
//! | `removed_keys` | reasons why keys are no longer stored |
//! | `page/` | pages: objects with the metadata of HTTP responses |
//! | `limits`, `stats`, `persist` | limits and statistics of a zone; metadata that can be written to disk |
//!
//! Time is a parameter: `now` is milliseconds since the Unix epoch. Waiting uses [`std::task`] wakers, without a
//! runtime, except in `page`.

#![forbid(unsafe_code)]

mod body;
mod disk;
mod flight;
mod limits;
mod object;
pub mod page;
mod persist;
mod removed_keys;
mod shard;
mod stats;
#[cfg(test)]
mod tests;
mod variants;
mod zone;

pub use body::{Body, Segments};
pub use disk::DiskPage;
pub use flight::{
    Abort, Admission, BodyWriter, Capacity, CollectState, Completed, Completion, FetchFailure, FlightEnd,
    FlightHead, FlightReader, FlightWriter, NotStored,
};
pub use limits::ZoneLimits;
pub use myriad_disk::index::{
    FinishedPurge, KeyRef, LoggedPurge, MAX_RULE_LEN, Metadata, NAME_OF_ALL, NAME_OF_EXPIRY, PurgeCount,
    PurgeError, PurgeFuture, PurgeKind, PurgePredicate, PurgeScope, Selection,
};
pub use myriad_disk::{
    BodyReader, Clock, ClockReference, ClockReferenceFn, DiskEvent, DiskEventHandler, DiskLimits,
    DiskOptions, DiskPool, DiskStats, FormatError, OpenBody, OpeningBody, ReadError, StoredBody, WorkPace,
};
pub use object::{
    ALTERNATIVES, AlternativeEncoding, AttachError, MAX_REPLACEMENTS, Object, Replacement, ReplacementBody,
};
pub use persist::Persist;
pub use removed_keys::RemovalReason;
pub use stats::{SweepResult, ZoneStats};
pub use zone::{Claim, ClaimOptions, Cursor, LivePurge, PageFile, Zone};
