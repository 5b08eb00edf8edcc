//! Purges, as look-ups, fetches and sweeps ask them.
//!
//! ```text
//!   exact --> live: asked at look-ups, by fetches that end, by what is read from disk
//!   rule, all --> live --> swept: every stored object was asked
//!                   '---- no fetch from before it is left, no file that was not asked ----'--> retired
//! ```
//!
//! A purge has a number out of the sequence that also numbers fetches, so what it covers is what began before it,
//! whatever the clocks say. An object that no purge covers remembers the newest it was asked by: each costs one question.
//!
//! | file | what |
//! |---|---|
//! | `request` | what callers say and are told |
//! | `exact`, `verdict` | a purge of keys and labels; what purges say of a page |
//! | `live` | the purges that hold, and how pages ask them |
//! | `book` | what a restart must know, and how it is written |

mod book;
mod exact;
mod live;
mod request;
mod verdict;

#[cfg(test)]
pub(crate) use book::Ruled;
pub use book::examine_purges;
pub(crate) use book::{Book, Entry};
pub(crate) use exact::Exact;
pub(crate) use live::LivePurges;
pub use request::{Count, Covered, MOST_RULE, Purge, PurgeError, Purged, Purging, Retired};
pub(crate) use verdict::{Softened, Verdict};
