//! How far the work for purges has come.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use myriad_index::Name;

/// The work that is done for purges from time to time.
#[derive(Default)]
pub(super) struct Round {
    /// Asking files, while it is under way: the newest rule when it began, and the next slot of the catalogue.
    pub(super) asking: Option<(u64, u32)>,
    /// Forgetting purges, while it is under way.
    pub(super) settling: Option<Settling>,
    /// When purges are to be forgotten next, in ms.
    pub(super) settle_at: u64,
    /// The newest number when purges were last tried to forget.
    pub(super) tried_at: u64,
}

/// Purges that are about to be forgotten.
pub(super) struct Settling {
    /// Those up to this number.
    pub(super) upto: u64,
    /// Files that must be removed before.
    pub(super) doomed: Vec<Name>,
    /// Writes that must have ended before: those with lower numbers.
    pub(super) writes: u64,
    /// The sync of the file system that comes last.
    pub(super) sync: Option<Arc<Syncing>>,
}

/// A sync of the file system, on a thread of the disk.
#[derive(Default)]
pub(super) struct Syncing {
    pub(super) ended: AtomicBool,
    /// Whether it succeeded.
    pub(super) done: AtomicBool,
}
