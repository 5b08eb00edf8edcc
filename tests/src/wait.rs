//! Waiting for events.

use std::fmt::Debug;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Timeout that exceeds the duration of any step on a loaded machine; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Polls until `holds` returns true. On timeout, the test fails with `what` in the message.
pub fn wait_for(what: &str, holds: impl FnMut() -> bool) {
    wait_patiently_for(what, PATIENCE, holds);
}

/// Polls like [`wait_for`], with another timeout.
pub fn wait_patiently_for(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !holds() {
        assert!(Instant::now() < deadline, "timeout while waiting for {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Polls until `holds` of the observed state returns true. The test fails with `what` and the state in the message if the
/// state does not change for `patience`. For work that takes long on a loaded machine.
pub fn wait_for_progress<S: PartialEq + Debug>(
    what: &str,
    patience: Duration,
    mut observe: impl FnMut() -> S,
    holds: impl Fn(&S) -> bool,
) {
    let mut state = observe();
    while !holds(&state) {
        let mut next = None;
        wait_patiently_for(&format!("{what}; last state: {state:?}"), patience, || {
            next = Some(observe()).filter(|next| *next != state);
            next.is_some()
        });
        state = next.unwrap_or(state);
    }
}

/// Gate at which threads block until it is opened.
#[derive(Debug, Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for all current and later threads.
    pub fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Blocks until the gate is open, at most [`PATIENCE`].
    pub fn pass(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_timeout_while(open, PATIENCE, |open| !*open));
    }
}
