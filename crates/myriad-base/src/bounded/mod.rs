//! Maps of bounded size, for keys that clients can influence: many different keys evict entries, but cannot exhaust
//! memory.
//!
//! | map | bound | eviction | cost |
//! |---|---|---|---|
//! | [`Lru`] | total weight of the entries | least recently used | a lookup and a list update; memory as needed |
//! | [`DirectMapped`] | 1024 slots | entry whose slot is claimed twice | 8 bytes read per unsuccessful lookup |
//!
//! Stored pages and other data with different bounds have separate structures in their crates.

mod direct_mapped;
mod lru;

pub use direct_mapped::DirectMapped;
pub use lru::Lru;
