//! Options and limits of a disk tier, and the events that it tells of.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::clock_reference::ClockReference;

/// The pace of work in the background: stretches of so many files, none longer than the threshold, with pauses in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Files of one stretch.
    pub files: u64,
    /// Milliseconds between two stretches.
    pub sleep_ms: u64,
    /// Milliseconds of the longest stretch.
    pub threshold_ms: u64,
}

/// Limits, which may change while the tier is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes that files may take, counted in blocks of 4 KB (`max_size=`).
    pub max_bytes: u64,
    /// Bytes of the file system that are left free (`min_free=`).
    pub min_free_bytes: u64,
    /// Most files (`keys_zone=`), at 128 bytes each; every four labels beyond two count as one more.
    pub max_files: usize,
    /// How files are found at the start (`loader_*=`).
    pub loader: Pace,
    /// How files that nobody asks for are removed (`manager_*=`).
    pub manager: Pace,
}

impl Default for DiskLimits {
    fn default() -> Self {
        Self {
            max_bytes: u64::MAX,
            min_free_bytes: 0,
            max_files: usize::MAX,
            loader: Pace { files: 10_000, sleep_ms: 10, threshold_ms: 200 },
            manager: Pace { files: 100, sleep_ms: 50, threshold_ms: 200 },
        }
    }
}

/// Something that an administrator should read of; told once for each change, not for each file.
#[derive(Debug)]
pub enum DiskEvent {
    /// Reading or writing fails from now on; pages come from memory and origin meanwhile.
    Failed {
        /// What failed, such as `rename()`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Reading and writing work again.
    Works,
    /// A file was put into quarantine, since it is damaged, cut short, another program's or of another version. Told of the
    /// first, and of each thousandth.
    Quarantined {
        /// The file.
        path: PathBuf,
        /// Whether it is kept; a long one, or one for which there is no room, is removed.
        is_kept: bool,
        /// Why.
        why: crate::FormatError,
        /// How many there were.
        count: u64,
    },
    /// The log of purges is damaged. The purges that could be read are in force, and a copy is kept in the folder.
    PurgesDamaged {
        /// The log.
        path: PathBuf,
        /// Whether it may have held purges that were answered, so that everything was purged.
        all: bool,
    },
    /// Somebody removed the folder, and all pages with it.
    Removed {
        /// The folder.
        path: PathBuf,
        /// Whether it could be made anew; told again from time to time until it was.
        is_made: bool,
        /// Whether this was not told before.
        is_news: bool,
    },
    /// The recovery has ended: all files are known.
    Recovered {
        /// How many.
        files: usize,
        /// Bytes that they take.
        bytes: u64,
        /// How long it took to find them, in milliseconds.
        took_ms: u64,
    },
}

/// Returns milliseconds of a clock that never jumps.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
/// Returns the reference points of a [`Clock`].
pub type Reference = Arc<dyn Fn() -> ClockReference + Send + Sync>;
/// A function that is told of events.
pub type Report = Arc<dyn Fn(&DiskEvent) + Send + Sync>;

/// How a disk tier is opened.
#[derive(Clone)]
pub struct DiskOptions {
    /// Its folder.
    pub path: PathBuf,
    /// Digits of the folders below it, at most three of one or two (`levels=`).
    pub levels: Vec<u8>,
    /// Limits, which may change later.
    pub limits: DiskLimits,
    /// Clock of the times of pages, and of work in the background.
    pub clock: Clock,
    /// Reference points of the clock, which are written to files with the times.
    pub reference: Reference,
    /// Who is told of events.
    pub report: Report,
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

/// A snapshot of a disk tier's figures; counts since it was opened unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Files known now.
    pub files: usize,
    /// Bytes accounted now, in blocks of 4 KB, of files and of what is being written.
    pub bytes: u64,
    /// Whether every file is known.
    pub recovered: bool,
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
    /// Pages not written because too many waited, memory dropped them before they could be written, there was no room, or
    /// writing failed.
    pub dropped: u64,
    /// Files removed to make room.
    pub evictions: u64,
    /// Files removed because nobody asked for them.
    pub expired: u64,
    /// Files that somebody else removed.
    pub vanished: u64,
    /// Files put into quarantine, or removed where they could not be kept, because they were damaged, cut short, foreign or of
    /// another version.
    pub quarantined: u64,
    /// Times that the system would not give a file.
    pub unreadable: u64,
}
