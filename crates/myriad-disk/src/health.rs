//! State of a zone's folder: pauses writing after failures, and reports the first failure and the recovery.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clock_reference::{ClockReference, ConvertedTimes};
use crate::format::Header;
use crate::options::{Clock, ClockReferenceFn, DiskEvent, DiskEventHandler};

/// Pause of all writes to the folder after a failed write, in milliseconds.
const RETRY_MS: u64 = 1000;
/// Time since the last failed file operation after which the folder is reported as working again, if a write has
/// succeeded since, in milliseconds. A disk that repeatedly runs full is therefore reported once.
const RECOVERY_MS: u64 = 10_000;

/// State of a zone's folder: whether it can be written, and the failures to report.
pub(crate) struct FolderHealth {
    clock: Clock,
    reference: ClockReferenceFn,
    report: DiskEventHandler,
    /// Set once the folder exists and the sequence numbers of this start are known, so that the disk tier can be used.
    pub(crate) begun: AtomicBool,
    /// Set at shutdown: nothing is written to the folder any more.
    pub(crate) closed: AtomicBool,
    /// Time from which writing to the folder may be attempted again, in milliseconds; 0 while writing works.
    write_again_at: AtomicU64,
    /// Time of the last failed file operation, in milliseconds; 0 if there was none or recovery has been reported.
    failed_at: AtomicU64,
    /// Set if a write has succeeded since the last failure.
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

    /// Returns the current time of the zone's clock, in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Returns the current reference points of the zone's clock.
    pub(crate) fn clock_reference(&self) -> ClockReference {
        (self.reference)()
    }

    /// Converts the times in a page file's header to the clock of this process.
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

    /// Returns true once the folder has been opened by this process, so that files may exist.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Returns true if writing is neither paused after a failure nor closed.
    pub(crate) fn may_attempt_write(&self) -> bool {
        let at = self.write_again_at.load(Relaxed);
        (at == 0 || self.now() >= at) && !self.is_closed()
    }

    /// Pauses writing to the folder for [`RETRY_MS`].
    pub(crate) fn pause_writes(&self) {
        self.write_again_at.store(self.now().saturating_add(RETRY_MS), Relaxed);
    }

    /// Records a failed write: pauses writing for [`RETRY_MS`], and reports the failure like [`Self::record_failure`].
    pub(crate) fn record_write_failure(&self, what: &'static str, path: &Path, error: io::Error) {
        self.pause_writes();
        self.record_failure(what, path, error);
    }

    /// Records a failed operation `what` on `path`. It is reported only if no other failure was recorded since the
    /// start or since the last reported recovery.
    pub(crate) fn record_failure(&self, what: &'static str, path: &Path, error: io::Error) {
        self.succeeded_since_failure.store(false, Relaxed);
        if self.failed_at.swap(self.now().max(1), Relaxed) == 0 {
            let pauses_writes = !self.may_attempt_write();
            self.report_event(&DiskEvent::Failed { pauses_writes, what, path: path.to_owned(), error });
        }
    }

    /// Records a successful write: ends the pause, and reports recovery if it is due.
    pub(crate) fn record_success(&self) {
        if self.write_again_at.load(Relaxed) != 0 {
            self.write_again_at.store(0, Relaxed);
        }
        if self.failed_at.load(Relaxed) != 0 {
            self.succeeded_since_failure.store(true, Relaxed);
            self.report_recovery();
        }
    }

    /// Reports recovery if a write has succeeded and [`RECOVERY_MS`] have passed since the last failure.
    pub(crate) fn report_recovery(&self) {
        let failed_at = self.failed_at.load(Relaxed);
        if failed_at != 0
            && self.succeeded_since_failure.load(Relaxed)
            && self.now().saturating_sub(failed_at) >= RECOVERY_MS
        {
            self.report_recovery_now();
        }
    }

    /// Stops the pause, and reports recovery if a failure was recorded.
    pub(crate) fn report_recovery_now(&self) {
        self.write_again_at.store(0, Relaxed);
        if self.failed_at.swap(0, Relaxed) != 0 {
            self.report_event(&DiskEvent::Works);
        }
    }
}
