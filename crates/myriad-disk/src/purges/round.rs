//! Progress of the periodic work for purges.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::index::FileName;

/// Progress of the periodic work for purges.
#[derive(Default)]
pub(super) struct PurgeRound {
    /// Check of all files against purges by rule, if in progress: the number of the newest rule at its start, and the
    /// next slot of the file index.
    pub(super) file_check: Option<(u64, u32)>,
    /// Removal of obsolete purges from the log, if in progress.
    pub(super) settling: Option<Settling>,
    /// Time of the next attempt to remove obsolete purges, in milliseconds.
    pub(super) settle_at: u64,
    /// Highest sequence number of the zone when removing obsolete purges was last attempted.
    pub(super) tried_at: u64,
}

/// Removal of obsolete purges from the log, in progress.
pub(super) struct Settling {
    /// Number up to which purges are removed.
    pub(super) upto: u64,
    /// Files that must be deleted before the purges are removed.
    pub(super) doomed: Vec<FileName>,
    /// Number of a page write; writes with lower numbers must finish before the purges are removed.
    pub(super) writes: u64,
    /// Sync of the file system, the last step; `None` before it.
    pub(super) sync: Option<Arc<Syncing>>,
}

/// State of a sync of the file system, which runs on a disk thread.
#[derive(Default)]
pub(super) struct Syncing {
    pub(super) is_finished: AtomicBool,
    /// Set if the sync succeeded.
    pub(super) done: AtomicBool,
}
