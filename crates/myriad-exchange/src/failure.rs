//! Shutdown of a process that cannot continue because a panic has terminated a part of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// Maximum time that the failing process may spend on saving its state. Its successor waits until it exits.
const SAVE_TIMEOUT: Duration = Duration::from_millis(700);

/// Flag that records that the process has failed. All threads share it.
#[derive(Debug, Default)]
pub struct ProcessFailure(AtomicBool);

impl ProcessFailure {
    /// Terminates the process with SIGTERM, so that zones can save their state, and forcibly after a short time limit.
    pub fn end_process(&self) {
        if self.0.swap(true, Ordering::AcqRel) {
            return;
        }
        let end = || {
            std::thread::sleep(SAVE_TIMEOUT);
            std::process::exit(1);
        };
        let watched = std::thread::Builder::new().name("end".to_owned()).spawn(end);
        if watched.is_err() || kill_process(getpid(), Signal::TERM).is_err() {
            std::process::exit(1);
        }
    }

    /// Returns whether the process has failed.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
