//! What a request waits for, remembered where it is traced.

use std::rc::Rc;

use super::{Request, Traced, Wait};

/// Most waits of a request that are remembered: a page may have thousands of parts.
const MOST_WAITS: usize = 64;

/// A wait that has begun. It is remembered when this is dropped, also where the visitor has gone meanwhile.
pub struct WaitBegun {
    traced: Rc<Traced>,
    what: &'static str,
    since_us: u64,
}

impl Request {
    /// Begins to wait for that, until what is returned is dropped; none for a request that is not recorded.
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
