//! `*_limit_rate`: how fast an origin is read.

use std::time::Duration;

use myriad_net::clock::monotonic_ms;

/// Counts what was read, and waits where it was too much.
pub struct Pace {
    bytes_per_second: u64,
    began_ms: u64,
    taken: u64,
}

impl Pace {
    /// Begins to count; 0 bytes a second means no limit.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, began_ms: monotonic_ms(), taken: 0 }
    }

    /// Waits until more may be read.
    pub async fn wait(&self) {
        if self.bytes_per_second == 0 {
            return;
        }
        loop {
            let elapsed = monotonic_ms() - self.began_ms;
            // As nginx: the first second's worth may come at once.
            let allowed = self.bytes_per_second.saturating_mul(elapsed / 1000 + 1);
            if self.taken < allowed {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1000 - elapsed % 1000)).await;
        }
    }

    /// Counts bytes that were read.
    pub fn took(&mut self, bytes: usize) {
        self.taken += bytes as u64;
    }
}
