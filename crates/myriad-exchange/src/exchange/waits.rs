//! Recording of the intervals in which a traced request waits.

use std::rc::Rc;

use super::{RecordedWait, Request, RequestTrace};

/// Maximum number of recorded waits per traced request, because a page may have thousands of fragments.
const MAX_WAITS: usize = 64;

/// Wait in progress of a traced request. Dropping this value records the wait, even if the client has disconnected
/// meanwhile, unless [`MAX_WAITS`] waits of the request are recorded already.
pub struct WaitGuard {
    traced: Rc<RequestTrace>,
    what: &'static str,
    since_us: u64,
}

impl Request {
    /// Starts a wait of the request caused by the directive or operation `what`; dropping the returned guard finishes
    /// it. Returns `None` for a request that is not recorded for tracing.
    pub fn begin_wait(&self, what: &'static str) -> Option<WaitGuard> {
        let traced = self.received.trace.get().filter(|traced| traced.is_sampled())?;
        Some(WaitGuard { traced: Rc::clone(traced), what, since_us: myriad_net::clock::now_us() })
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut waits = self.traced.waits.borrow_mut();
        if waits.len() < MAX_WAITS {
            waits.push(RecordedWait {
                what: self.what,
                times_us: (self.since_us, myriad_net::clock::now_us()),
            });
        }
    }
}
