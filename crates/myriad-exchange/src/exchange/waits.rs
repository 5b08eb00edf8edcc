//! Recording of waits of traced requests.

use std::rc::Rc;

use super::{Request, Traced, Wait};

/// Maximum number of recorded waits of a request: a page may have thousands of parts.
const MOST_WAITS: usize = 64;

/// Wait in progress. It is recorded when this value is dropped, even if the client has disconnected meanwhile.
pub struct WaitBegun {
    traced: Rc<Traced>,
    what: &'static str,
    since_us: u64,
}

impl Request {
    /// Starts a wait caused by the directive `what`; it finishes when the returned value is dropped. Returns `None` for
    /// a request that is not recorded.
    pub fn waits_for(&self, what: &'static str) -> Option<WaitBegun> {
        let traced = self.received.trace.get().filter(|traced| traced.is_sampled())?;
        Some(WaitBegun { traced: Rc::clone(traced), what, since_us: myriad_net::clock::now_us() })
    }
}

impl Drop for WaitBegun {
    fn drop(&mut self) {
        let mut waits = self.traced.waits.borrow_mut();
        if waits.len() < MOST_WAITS {
            waits.push(Wait { what: self.what, times_us: (self.since_us, myriad_net::clock::now_us()) });
        }
    }
}
