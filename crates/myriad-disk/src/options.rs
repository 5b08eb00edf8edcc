//! Options and limits of a disk tier, and its events.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::clock_reference::ClockReference;

/// Pace of background work: steps of a number of files, none longer than the threshold, with pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPace {
    /// Number of files per step.
    pub files: u64,
    /// Pause between two steps, in milliseconds.
    pub sleep_ms: u64,
    /// Maximum duration of a step, in milliseconds.
    pub threshold_ms: u64,
}

/// Limits, which may change while the tier is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Maximum number of bytes for files, accounted in blocks of 4 KB (`max_size=`).
    pub max_bytes: u64,
    /// Minimum number of free bytes in the file system (`min_free=`).
    pub min_free_bytes: u64,
    /// Maximum number of files (`keys_zone=`), at 128 bytes each. Every four labels beyond two count as one more file.
    pub max_files: usize,
    /// Pace of the search for files at the start (`loader_*=`).
    pub loader: WorkPace,
    /// Pace of the removal of inactive files (`manager_*=`).
    pub manager: WorkPace,
}

impl Default for DiskLimits {
    fn default() -> Self {
        Self {
            max_bytes: u64::MAX,
            min_free_bytes: 0,
            max_files: usize::MAX,
            loader: WorkPace { files: 10_000, sleep_ms: 10, threshold_ms: 200 },
            manager: WorkPace { files: 100, sleep_ms: 50, threshold_ms: 200 },
        }
    }
}

/// Event for administrators, reported once for each change, not for each file.
#[derive(Debug)]
pub enum DiskEvent {
    /// Reading or writing fails from now on. Pages come from memory and origin meanwhile.
    Failed {
        /// Failed operation, such as `rename()`.
        what: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Cause of the failure.
        error: std::io::Error,
    },
    /// Reading and writing work again.
    Works,
    /// A file was quarantined because it is damaged, truncated, or of another program or version. The first and each
    /// thousandth are reported.
    Quarantined {
        /// Path of the file.
        path: PathBuf,
        /// Set if the file is retained. A long file, or a file without room in the quarantine, is removed.
        is_kept: bool,
        /// Reason why the file is invalid.
        why: crate::FormatError,
        /// Number of such files.
        count: u64,
    },
    /// The log of purges is damaged. The purges that could be read are in force, and a copy is stored in the folder.
    PurgesDamaged {
        /// Path of the log.
        path: PathBuf,
        /// Set if completed purges may have been lost, so that everything was purged.
        all: bool,
    },
    /// The folder was removed from outside, with all pages in it.
    Removed {
        /// Path of the folder.
        path: PathBuf,
        /// Set if the folder could be created again. Until then the event is repeated periodically.
        is_made: bool,
        /// Set for the first report of the removal.
        is_news: bool,
    },
    /// The recovery is complete: all files are known.
    Recovered {
        /// Number of files.
        files: usize,
        /// Bytes that they occupy.
        bytes: u64,
        /// Duration of the recovery, in milliseconds.
        took_ms: u64,
    },
}

/// Function that returns the milliseconds of a clock that never jumps.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
/// Function that returns the reference points of a [`Clock`].
pub type ClockReferenceFn = Arc<dyn Fn() -> ClockReference + Send + Sync>;
/// Function that receives events.
pub type DiskEventHandler = Arc<dyn Fn(&DiskEvent) + Send + Sync>;

/// Options of a disk tier.
#[derive(Clone)]
pub struct DiskOptions {
    /// Path of its folder.
    pub path: PathBuf,
    /// Digits of the folders below it, at most three levels of one or two digits (`levels=`).
    pub levels: Vec<u8>,
    /// Limits, which may change later.
    pub limits: DiskLimits,
    /// Clock for the times of pages, and for background work.
    pub clock: Clock,
    /// Reference points of the clock, which are written to files with the times.
    pub reference: ClockReferenceFn,
    /// Receiver of events.
    pub report: DiskEventHandler,
}

impl fmt::Debug for DiskOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskOptions")
            .field("path", &self.path)
            .field("levels", &self.levels)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Snapshot of a disk tier's statistics. Counters start when it was opened unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Number of known files.
    pub files: usize,
    /// Bytes accounted, in blocks of 4 KB, for files and for writes in progress.
    pub bytes: u64,
    /// Set once all files are known.
    pub recovered: bool,
    /// Number of pages read.
    pub reads: u64,
    /// Number of pages written.
    pub writes: u64,
    /// Number of pages not written because too many were pending, memory dropped them before they could be written, no
    /// space was left, or writing failed.
    pub dropped: u64,
    /// Number of files removed to free space.
    pub evictions: u64,
    /// Number of files removed because they were inactive.
    pub expired: u64,
    /// Number of files removed from outside.
    pub vanished: u64,
    /// Number of files quarantined, or removed if they could not be retained, because they were damaged, truncated,
    /// foreign or of another version.
    pub quarantined: u64,
    /// Number of failures of the system to read a file.
    pub unreadable: u64,
}
