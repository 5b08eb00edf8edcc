//! Options and limits of a disk tier, and its events.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::clock_reference::ClockReference;

/// Pace of a background task on a folder: steps of limited size and duration, with pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPace {
    /// Maximum number of files per step.
    pub files: u64,
    /// Pause between two steps, in milliseconds.
    pub sleep_ms: u64,
    /// Maximum duration of a step, in milliseconds.
    pub threshold_ms: u64,
}

/// Limits of a disk tier, which may be changed while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Maximum number of bytes for files, accounted in blocks of 4 KB (`max_size=`).
    pub max_bytes: u64,
    /// Minimum number of free bytes in the file system (`min_free=`).
    pub min_free_bytes: u64,
    /// Maximum number of files (`keys_zone=`, 128 bytes each). The labels (hashes by which purges find the page) of a
    /// file beyond two count as further files: one per four, rounded up.
    pub max_files: usize,
    /// Pace of the search for files after a start (`loader_*=`).
    pub loader: WorkPace,
    /// Pace of the removal of inactive pages (`manager_*=`).
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

/// Event to log for administrators.
#[derive(Debug)]
pub enum DiskEvent {
    /// An operation on the folder or a file failed, for the first time since the last [`DiskEvent::Works`].
    Failed {
        /// True if writing to the folder pauses.
        pauses_writes: bool,
        /// Name of the failed operation, such as `rename()`.
        what: &'static str,
        /// Path of the affected file or folder.
        path: PathBuf,
        /// System error that caused the failure.
        error: std::io::Error,
    },
    /// The folder works again after a failure: it could be opened or created, or writing has succeeded and nothing
    /// has failed for ten seconds.
    Works,
    /// An invalid file was quarantined or deleted ([`crate::FormatError`]). Reported for the first and every
    /// thousandth file.
    Quarantined {
        /// Former path of the quarantined file.
        path: PathBuf,
        /// True if the file is retained in quarantine; false if it was deleted, because it is too long, cannot be
        /// moved, or free space is below `min_free`.
        is_kept: bool,
        /// Reason why the file is invalid.
        why: crate::FormatError,
        /// Number of quarantined or deleted invalid files since the zone was opened.
        count: u64,
    },
    /// The purge log is damaged. The purges that could be read are active, and a copy of the log is stored in the
    /// folder.
    PurgesDamaged {
        /// Path of the purge log.
        path: PathBuf,
        /// Set if completed purges may have been lost, so that all pages of the zone were purged.
        all: bool,
    },
    /// The folder was removed by another program, and with it all pages.
    Removed {
        /// Path of the removed folder.
        path: PathBuf,
        /// Set if the folder was created again. Otherwise the event is repeated periodically until that succeeds.
        is_made: bool,
        /// Set in the first report of this removal.
        is_news: bool,
    },
    /// The search at startup is complete: all files of the folder are known.
    Recovered {
        /// Number of files in the index, including those written since the start.
        files: usize,
        /// Disk space of files (also of those that are not deleted yet) and of writes in progress, in bytes.
        bytes: u64,
        /// Duration of the search, in milliseconds.
        took_ms: u64,
    },
}

/// Function that returns the current time in milliseconds, of a clock that never jumps.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
/// Function that returns the reference points of a [`Clock`].
pub type ClockReferenceFn = Arc<dyn Fn() -> ClockReference + Send + Sync>;
/// Function that receives events of a disk tier for the log.
pub type DiskEventHandler = Arc<dyn Fn(&DiskEvent) + Send + Sync>;

/// Options of a disk tier.
#[derive(Clone)]
pub struct DiskOptions {
    /// Path of the zone's folder.
    pub path: PathBuf,
    /// Number of digits in the names of each level of subfolders: at most three levels of one or two digits
    /// (`levels=`).
    pub levels: Vec<u8>,
    /// Limits of disk space and number of files, which may change later.
    pub limits: DiskLimits,
    /// Clock for the times of pages, and for background work.
    pub clock: Clock,
    /// Function that returns the reference points of `clock`, which are stored in files together with times.
    pub reference: ClockReferenceFn,
    /// Function that receives events of the disk tier for the log.
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

/// Statistics of a disk tier. Counters start when the tier was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Number of files in the index.
    pub files: usize,
    /// Disk space of files (including those that count as removed but are not deleted yet) and of writes in progress,
    /// in bytes (multiples of 4 KB).
    pub bytes: u64,
    /// Set once the search at startup has found all files.
    pub recovered: bool,
    /// Number of page and marker files read for requests, or to load pages after a restart.
    pub reads: u64,
    /// Number of pages written to files.
    pub writes: u64,
    /// Number of pages not written to files because too many were pending, they were evicted from memory before, no
    /// space was left, or writing failed or was not possible.
    pub dropped: u64,
    /// Number of files removed to free space, or as variants beyond the maximum per key.
    pub evictions: u64,
    /// Number of files removed because their pages had no request within `inactive`.
    pub expired: u64,
    /// Number of files that other programs removed.
    pub vanished: u64,
    /// Number of invalid files ([`crate::FormatError`]) that were quarantined or deleted.
    pub quarantined: u64,
    /// Number of system errors while reading files.
    pub unreadable: u64,
}
