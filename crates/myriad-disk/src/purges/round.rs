//! Progress of the work for purges.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::index::FileName;

/// State of the periodic work for purges.
#[derive(Default)]
pub(super) struct PurgeRound {
    /// Check of files in progress: the newest rule at its start, and the next slot of the catalogue.
    pub(super) file_check: Option<(u64, u32)>,
    /// Removal of obsolete purges in progress.
    pub(super) settling: Option<Settling>,
    /// Time of the next removal of purges, in milliseconds.
    pub(super) settle_at: u64,
    /// Newest number at the last attempt to forget purges.
    pub(super) tried_at: u64,
}

/// Purges that are about to be forgotten.
pub(super) struct Settling {
    /// Number of the newest of them.
    pub(super) upto: u64,
    /// Files that must be removed before.
    pub(super) doomed: Vec<FileName>,
    /// Number below which writes must have finished before.
    pub(super) writes: u64,
    /// Sync of the file system, the last step.
    pub(super) sync: Option<Arc<Syncing>>,
}

/// Sync of the file system, on a disk thread.
#[derive(Default)]
pub(super) struct Syncing {
    pub(super) is_finished: AtomicBool,
    /// Set if it succeeded.
    pub(super) done: AtomicBool,
}
