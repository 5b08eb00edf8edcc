//! Exit of a process that cannot continue, because a thread that it needs has panicked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// Maximum time for saving state before a failed process exits. The successor process starts only after the exit.
const SAVE_TIMEOUT: Duration = Duration::from_millis(700);

/// Flag that the process has failed and is exiting. Shared by all threads.
#[derive(Debug, Default)]
pub struct ProcessFailure(AtomicBool);

impl ProcessFailure {
    /// Terminates the process: sends it SIGTERM, so that zones save their state, and calls `exit` with status 1 after
    /// [`SAVE_TIMEOUT`], or immediately if the signal cannot be sent or no thread can be created. Repeated calls have
    /// no effect.
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

    /// Returns true if [`Self::end_process`] has been called.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
