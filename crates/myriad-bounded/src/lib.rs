//! Maps of bounded size, for what clients have a say in: a flood of keys displaces others, and never fills the memory.
//!
//! | map | bound | displaced | cost |
//! |---|---|---|---|
//! | [`Lru`] | the weight of all entries | what was used longest ago | a look-up, an entry moved in a list; memory as entries come |
//! | [`DirectMapped`] | 1024 slots | what a key finds in its slot when it comes for the second time | eight bytes looked at where nothing is found |
//!
//! Pages, small files and what else has other bounds than these have their own structures, where they are.

#![forbid(unsafe_code)]

mod direct_mapped;
mod lru;

pub use direct_mapped::DirectMapped;
pub use lru::Lru;
