//! Objects under keys: memory and disk tiers, eviction and in-flight objects, independent of HTTP.
//!
//! A [`Zone`] maps opaque keys to immutable [`Object`]s that carry the caller's metadata. A hit takes one shard lock,
//! one table probe and one `Arc` clone. A miss is a [`Claim`]: one caller leads and writes a *flight*, the others wait
//! for it and read the body while it arrives. Objects and arriving bodies count against one cap per zone.
//!
//! Below it are `myriad-index` (keys, tables, eviction, purges) and `myriad-disk` (files). Names that callers need are
//! re-exported here.
//!
//! | file | contents |
//! |---|---|
//! | `zone/` | look-up, claims, purges, removal, eviction, sweep, inspection; the disk tier of a zone |
//! | `object/`, `body`, `variants` | stored objects |
//! | `flight/` | the state machine of an object in flight; its writers and readers |
//! | `shard` | the part of a zone guarded by one lock |
//! | `disk/` | conversion between objects and files |
//! | `removed_keys` | reasons why keys are no longer stored |
//! | `limits`, `stats`, `persist` | limits and statistics of a zone; metadata that can be stored on disk |
//!
//! Time is a parameter everywhere: `now` is milliseconds since the Unix epoch. No runtime is required; waiting uses
//! [`std::task`] wakers.

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
    FinishedPurge, KeyRef, LoggedPurge, MAX_RULE_LEN, Metadata, PurgeCount, PurgeError, PurgeFuture,
    PurgeKind, PurgePredicate, PurgeScope, Selection,
};
pub use myriad_disk::{
    BodyReader, Clock, ClockReference, ClockReferenceFn, DiskEvent, DiskEventHandler, DiskLimits,
    DiskOptions, DiskPool, DiskStats, FormatError, OpenBody, OpeningBody, ReadError, StoredBody, WorkPace,
};
pub use object::{ALTERNATIVES, AlternativeEncoding, AttachError, Object};
pub use persist::Persist;
pub use removed_keys::RemovalReason;
pub use stats::{SweepResult, ZoneStats};
pub use zone::{Claim, ClaimOptions, Cursor, LivePurge, PageFile, Zone};
