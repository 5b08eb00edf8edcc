//! Lines that would fill a log if they were written each time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Least time between two lines about the same matter, ms.
const INTERVAL_MS: u64 = 1000;

/// Lets one line about a matter through in a second, over all threads that share it.
#[derive(Debug, Default)]
pub struct OnceASecond {
    /// When the latest line was let through, ms since the epoch.
    told_ms: AtomicU64,
}

impl OnceASecond {
    /// Whether to write a line now, `now_ms` after the epoch; whoever gets `true` must write it.
    pub fn admits(&self, now_ms: u64) -> bool {
        let told = self.told_ms.load(Relaxed);
        now_ms >= told.saturating_add(INTERVAL_MS)
            && self.told_ms.compare_exchange(told, now_ms, Relaxed, Relaxed).is_ok()
    }
}
