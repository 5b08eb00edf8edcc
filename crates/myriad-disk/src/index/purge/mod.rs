//! Purges: requests, active purges, and their log.
//!
//! ```text
//!   of keys and labels --> in force: checked at look-ups, when a fetch completes, when a file is read
//!   by rule, of all    --> in force --> every stored page was checked: counted
//!                             '---- no older fetch is in progress, every file was checked ---------'--> forgotten
//! ```
//!
//! Each purge gets a number from the sequence that also numbers fetches. It covers pages whose fetch began before it,
//! independent of clocks. An object that remains records the number of the newest purge that it was checked against, so
//! each purge is applied once.
//!
//! | file | contents |
//! |---|---|
//! | `request` | requests of callers, and their results |
//! | `exact` | a purge of keys and labels while it counts pages; numbers of purges |
//! | `verdict` | verdicts of purges on a page |
//! | `live_purges`, `active_purges` | the active purges: addition, removal, verdicts on pages |
//! | `record` | a purge as a log record |
//! | `purge_set`, `log` | all purges that must survive a restart, and the format of their log |

mod active_purges;
mod exact;
mod live_purges;
mod log;
mod purge_set;
mod record;
mod request;
#[cfg(test)]
mod tests;
mod verdict;

pub use exact::{ExactPurge, PurgeNumbers};
pub use live_purges::LivePurges;
pub use log::{PurgeLogContents, examine_purges};
pub use purge_set::PurgeSet;
pub use record::{PurgeRecord, RulePurge};
pub use request::{
    FinishedPurge, LoggedPurge, MAX_RULE_LEN, NAME_OF_ALL, NAME_OF_EXPIRY, PurgeCount, PurgeError,
    PurgeFuture, PurgeKind, PurgeScope,
};
pub use verdict::{PurgeVerdict, Purgeable, SoftPurgedPage};
