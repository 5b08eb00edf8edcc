//! Whether the disk works: what failed is told of once, and writing rests after it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clock_reference::{ClockReference, Times};
use crate::format::Header;
use crate::options::{Clock, DiskEvent, Reference, Report};

/// Milliseconds for which writing is not tried again after it failed.
const RETRY_MS: u64 = 1000;
/// Milliseconds without a failure after which trouble is over: a disk that has room now and then is told of once.
const CALM_MS: u64 = 10_000;

/// How a folder is doing.
pub(crate) struct Health {
    clock: Clock,
    reference: Reference,
    report: Report,
    /// Whether the folder is there and the sequence numbers of this start are known.
    pub(crate) begun: AtomicBool,
    /// Whether nothing is written any more.
    pub(crate) closed: AtomicBool,
    /// When writing may be tried again, in ms; 0 while it works.
    write_again_at: AtomicU64,
    /// When something failed last, in ms; 0 where that is over.
    failed_at: AtomicU64,
    /// Whether writing has worked since.
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

    /// The time in ms.
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

    /// Whether the folder was ever there in this run, so that there may be files.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Whether writing is worth a try.
    pub(crate) fn is_time_to_write(&self) -> bool {
        let at = self.write_again_at.load(Relaxed);
        (at == 0 || self.now() >= at) && !self.is_closed()
    }

    /// Rests writing for [`RETRY_MS`].
    pub(crate) fn put_writing_off(&self) {
        self.write_again_at.store(self.now().saturating_add(RETRY_MS), Relaxed);
    }

    /// Notes that writing failed: told of once, then not tried for [`RETRY_MS`].
    pub(crate) fn failed(&self, what: &'static str, path: &Path, error: io::Error) {
        self.put_writing_off();
        self.troubled(what, path, error);
    }

    /// Notes that something failed: told of, unless trouble was told of and is not over.
    pub(crate) fn troubled(&self, what: &'static str, path: &Path, error: io::Error) {
        self.worked_since.store(false, Relaxed);
        if self.failed_at.swap(self.now().max(1), Relaxed) == 0 {
            self.tell(&DiskEvent::Failed { what, path: path.to_owned(), error });
        }
    }

    /// Notes that writing worked.
    pub(crate) fn works(&self) {
        if self.write_again_at.load(Relaxed) != 0 {
            self.write_again_at.store(0, Relaxed);
        }
        if self.failed_at.load(Relaxed) != 0 {
            self.worked_since.store(true, Relaxed);
            self.end_trouble();
        }
    }

    /// Tells that trouble is over, once writing has worked and nothing has failed for a while.
    pub(crate) fn end_trouble(&self) {
        let failed_at = self.failed_at.load(Relaxed);
        if failed_at != 0
            && self.worked_since.load(Relaxed)
            && self.now().saturating_sub(failed_at) >= CALM_MS
        {
            self.trouble_is_over();
        }
    }

    /// Ends trouble at once: the cause is known to be gone.
    pub(crate) fn trouble_is_over(&self) {
        self.write_again_at.store(0, Relaxed);
        if self.failed_at.swap(0, Relaxed) != 0 {
            self.tell(&DiskEvent::Works);
        }
    }
}
