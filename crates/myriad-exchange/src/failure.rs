//! The end of a process that cannot go on: a panic has ended a part of it that it needs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// How long the process has to write down what outlives it. The next one waits for its end.
const PATIENCE: Duration = Duration::from_millis(700);

/// Whether the process has failed; all its threads share one.
#[derive(Debug, Default)]
pub struct Failure(AtomicBool);

impl Failure {
    /// Ends the process as the signal TERM does, which lets zones write down what they know, and in any case soon.
    pub fn end_process(&self) {
        if self.0.swap(true, Ordering::AcqRel) {
            return;
        }
        let end = || {
            std::thread::sleep(PATIENCE);
            std::process::exit(1);
        };
        let watched = std::thread::Builder::new().name("end".to_owned()).spawn(end);
        if watched.is_err() || kill_process(getpid(), Signal::TERM).is_err() {
            std::process::exit(1);
        }
    }

    /// Whether it has failed.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
