//! Purges: what is asked for, which of them are in force, and what a restart must know of them.
//!
//! ```text
//!   of keys and labels --> in force: asked at look-ups, when a fetch ends, when a file is read
//!   by rule, of all    --> in force --> every stored page was asked: counted
//!                             '---- no fetch from before it is under way, every file was asked ----'--> forgotten
//! ```
//!
//! A purge has a number out of the sequence that also numbers fetches. It covers what began to be fetched before it,
//! whatever the clocks say. An object that no purge covers remembers the newest purge that it was asked by, so each purge
//! asks it once.
//!
//! | file | what |
//! |---|---|
//! | `request` | what callers ask for, and what they are told |
//! | `exact` | a purge of keys and labels while it is counted; numbers of purges |
//! | `verdict` | what purges say of a page |
//! | `live`, `in_force` | the purges in force: adding and forgetting them; asking them about a page |
//! | `record` | one purge as it is written down |
//! | `book`, `log` | all purges that a restart must know, and the log that they are read from |

mod book;
mod exact;
mod in_force;
mod live;
mod log;
mod record;
mod request;
#[cfg(test)]
mod tests;
mod verdict;

pub use book::Book;
pub use exact::{ExactPurge, Numbers};
pub use live::LivePurges;
pub use log::{Reading, examine_purges};
pub use record::{PurgeRecord, RulePurge};
pub use request::{Count, Covered, MOST_RULE, Purge, PurgeError, Purged, Purging, Retired};
pub use verdict::{Judged, Softened, Verdict};
