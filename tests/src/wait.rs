//! Waiting for events.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than any step takes on a loaded machine; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Polls until it holds; a test that waits in vain says for what.
pub fn wait_for(what: &str, holds: impl FnMut() -> bool) {
    wait_patiently_for(what, PATIENCE, holds);
}

/// The same for what takes longer by its nature.
pub fn wait_patiently_for(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A gate that holds whoever comes until somebody opens it.
#[derive(Debug, Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everyone through, now and later.
    pub fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Waits until the gate is open, [`PATIENCE`] at most.
    pub fn pass(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_timeout_while(open, PATIENCE, |open| !*open));
    }
}
