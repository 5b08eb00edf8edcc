//! Maps of bounded size for keys that clients can influence: a flood of keys evicts entries, but cannot exhaust the
//! memory.
//!
//! | map | bound | eviction | cost |
//! |---|---|---|---|
//! | [`Lru`] | weight of all entries | least recently used entry | a lookup, an entry moved in a list; memory grows with the entries |
//! | [`DirectMapped`] | 1024 slots | entry in the slot of a key that is claimed twice | eight bytes read for an unsuccessful lookup |
//!
//! Pages, small files and other data with different bounds have separate structures in their crates.

mod direct_mapped;
mod lru;

pub use direct_mapped::DirectMapped;
pub use lru::Lru;
