//! State of the disk: failures are reported once, and writing pauses after them.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clock_reference::{ClockReference, ConvertedTimes};
use crate::format::Header;
use crate::options::{Clock, ClockReferenceFn, DiskEvent, DiskEventHandler};

/// Pause after a failed write, in milliseconds.
const RETRY_MS: u64 = 1000;
/// Time without a failure after which trouble is over, in milliseconds. A disk whose space is exhausted intermittently
/// is therefore reported once.
const RECOVERY_MS: u64 = 10_000;

/// State of a folder.
pub(crate) struct FolderHealth {
    clock: Clock,
    reference: ClockReferenceFn,
    report: DiskEventHandler,
    /// Set once the folder exists and the sequence numbers of this start are known.
    pub(crate) begun: AtomicBool,
    /// Set after the shutdown: nothing is written any more.
    pub(crate) closed: AtomicBool,
    /// Time of the next attempt to write, in milliseconds; 0 while writing works.
    write_again_at: AtomicU64,
    /// Time of the last failure, in milliseconds; 0 after the trouble is over.
    failed_at: AtomicU64,
    /// Set if a write has succeeded since.
    succeeded_since_failure: AtomicBool,
}

impl FolderHealth {
    pub(crate) fn new(clock: Clock, reference: ClockReferenceFn, report: DiskEventHandler) -> Self {
        Self {
            clock,
            reference,
            report,
            begun: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            write_again_at: AtomicU64::new(0),
            failed_at: AtomicU64::new(0),
            succeeded_since_failure: AtomicBool::new(false),
        }
    }

    /// Returns the time in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Returns the reference points of the clock.
    pub(crate) fn clock_reference(&self) -> ClockReference {
        (self.reference)()
    }

    /// Converts the times of a file to the clock of this process.
    pub(crate) fn times_of(&self, header: &Header) -> ConvertedTimes {
        ConvertedTimes::convert(
            (header.stored_at, header.fresh_until),
            header.clock,
            self.clock_reference(),
            self.now(),
        )
    }

    pub(crate) fn report_event(&self, event: &DiskEvent) {
        (self.report)(event);
    }

    /// Returns whether the folder has been available in this run, so that files may exist.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Returns whether writing may be attempted.
    pub(crate) fn may_attempt_write(&self) -> bool {
        let at = self.write_again_at.load(Relaxed);
        (at == 0 || self.now() >= at) && !self.is_closed()
    }

    /// Pauses writing for [`RETRY_MS`].
    pub(crate) fn pause_writes(&self) {
        self.write_again_at.store(self.now().saturating_add(RETRY_MS), Relaxed);
    }

    /// Records a failed write: reports it once and pauses writing for [`RETRY_MS`].
    pub(crate) fn record_write_failure(&self, what: &'static str, path: &Path, error: io::Error) {
        self.pause_writes();
        self.record_failure(what, path, error);
    }

    /// Records a failure, and reports it unless the current trouble has already been reported.
    pub(crate) fn record_failure(&self, what: &'static str, path: &Path, error: io::Error) {
        self.succeeded_since_failure.store(false, Relaxed);
        if self.failed_at.swap(self.now().max(1), Relaxed) == 0 {
            self.report_event(&DiskEvent::Failed { what, path: path.to_owned(), error });
        }
    }

    /// Records a successful write.
    pub(crate) fn record_success(&self) {
        if self.write_again_at.load(Relaxed) != 0 {
            self.write_again_at.store(0, Relaxed);
        }
        if self.failed_at.load(Relaxed) != 0 {
            self.succeeded_since_failure.store(true, Relaxed);
            self.report_recovery();
        }
    }

    /// Reports recovery after a successful write and [`RECOVERY_MS`] without a failure.
    pub(crate) fn report_recovery(&self) {
        let failed_at = self.failed_at.load(Relaxed);
        if failed_at != 0
            && self.succeeded_since_failure.load(Relaxed)
            && self.now().saturating_sub(failed_at) >= RECOVERY_MS
        {
            self.report_recovery_now();
        }
    }

    /// Reports recovery at once, because the cause of the failures is known to be removed.
    pub(crate) fn report_recovery_now(&self) {
        self.write_again_at.store(0, Relaxed);
        if self.failed_at.swap(0, Relaxed) != 0 {
            self.report_event(&DiskEvent::Works);
        }
    }
}
