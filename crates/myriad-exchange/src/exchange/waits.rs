//! What a request waits for, remembered where it is traced.

use super::{Request, Wait};

/// Most waits of a request that are remembered: a page may have thousands of parts.
const MOST_WAITS: usize = 64;

impl Request {
    /// The moment at which it begins to wait, microseconds since the epoch; none for a request that is not recorded.
    pub fn begins_to_wait(&self) -> Option<u64> {
        let is_recorded = self.received.trace.get().is_some_and(|traced| traced.is_sampled());
        is_recorded.then(myriad_net::clock::now_us)
    }

    /// Remembers that it has waited since then, if it is recorded.
    pub fn has_waited(&self, what: &'static str, since_us: Option<u64>) {
        let (Some(since_us), Some(traced)) = (since_us, self.received.trace.get()) else { return };
        let mut waits = traced.waits.borrow_mut();
        if waits.len() < MOST_WAITS {
            waits.push(Wait { what, times_us: (since_us, myriad_net::clock::now_us()) });
        }
    }
}
