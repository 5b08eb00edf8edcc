//! State of the disk: failures are reported once, and writing pauses after them.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clock_reference::{ClockReference, Times};
use crate::format::Header;
use crate::options::{Clock, DiskEvent, Reference, Report};

/// Pause after a failed write, in milliseconds.
const RETRY_MS: u64 = 1000;
/// Time without a failure after which trouble is over, in milliseconds. A disk whose space is exhausted intermittently
/// is therefore reported once.
const CALM_MS: u64 = 10_000;

/// State of a folder.
pub(crate) struct Health {
    clock: Clock,
    reference: Reference,
    report: Report,
    /// Set once the folder exists and the sequence numbers of this start are known.
    pub(crate) begun: AtomicBool,
    /// Set after the shutdown: nothing is written any more.
    pub(crate) closed: AtomicBool,
    /// Time of the next attempt to write, in milliseconds; 0 while writing works.
    write_again_at: AtomicU64,
    /// Time of the last failure, in milliseconds; 0 after the trouble is over.
    failed_at: AtomicU64,
    /// Set if a write has succeeded since.
    worked_since: AtomicBool,
}

impl Health {
    pub(crate) fn new(clock: Clock, reference: Reference, report: Report) -> Self {
        Self {
            clock,
            reference,
            report,
            begun: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            write_again_at: AtomicU64::new(0),
            failed_at: AtomicU64::new(0),
            worked_since: AtomicBool::new(false),
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
    pub(crate) fn times_of(&self, header: &Header) -> Times {
        Times::of((header.stored_at, header.fresh_until), header.clock, self.clock_reference(), self.now())
    }

    pub(crate) fn tell(&self, event: &DiskEvent) {
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
    pub(crate) fn is_time_to_write(&self) -> bool {
        let at = self.write_again_at.load(Relaxed);
        (at == 0 || self.now() >= at) && !self.is_closed()
    }

    /// Pauses writing for [`RETRY_MS`].
    pub(crate) fn put_writing_off(&self) {
        self.write_again_at.store(self.now().saturating_add(RETRY_MS), Relaxed);
    }

    /// Records a failed write: reports it once and pauses writing for [`RETRY_MS`].
    pub(crate) fn failed(&self, what: &'static str, path: &Path, error: io::Error) {
        self.put_writing_off();
        self.troubled(what, path, error);
    }

    /// Records a failure, and reports it unless the current trouble has already been reported.
    pub(crate) fn troubled(&self, what: &'static str, path: &Path, error: io::Error) {
        self.worked_since.store(false, Relaxed);
        if self.failed_at.swap(self.now().max(1), Relaxed) == 0 {
            self.tell(&DiskEvent::Failed { what, path: path.to_owned(), error });
        }
    }

    /// Records a successful write.
    pub(crate) fn works(&self) {
        if self.write_again_at.load(Relaxed) != 0 {
            self.write_again_at.store(0, Relaxed);
        }
        if self.failed_at.load(Relaxed) != 0 {
            self.worked_since.store(true, Relaxed);
            self.end_trouble();
        }
    }

    /// Reports recovery after a successful write and [`CALM_MS`] without a failure.
    pub(crate) fn end_trouble(&self) {
        let failed_at = self.failed_at.load(Relaxed);
        if failed_at != 0
            && self.worked_since.load(Relaxed)
            && self.now().saturating_sub(failed_at) >= CALM_MS
        {
            self.trouble_is_over();
        }
    }

    /// Reports recovery at once, because the cause of the failures is known to be removed.
    pub(crate) fn trouble_is_over(&self) {
        self.write_again_at.store(0, Relaxed);
        if self.failed_at.swap(0, Relaxed) != 0 {
            self.tell(&DiskEvent::Works);
        }
    }
}
