//! Limit of the rate of reading from an origin (`*_limit_rate`), for responses that are read ahead of the client or
//! stored in the cache.

use std::time::Duration;

use myriad_net::clock::monotonic_ms;

/// Rate limiter for reading from an origin: the caller counts the bytes read and waits before each read.
pub struct ReadRateLimiter {
    /// Maximum rate; 0 for no limit.
    bytes_per_second: u64,
    /// Start of the limiter, in milliseconds since boot.
    began_ms: u64,
    /// Number of bytes read so far.
    bytes_read: u64,
}

impl ReadRateLimiter {
    /// Creates a limiter and starts its clock. 0 means no limit.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, began_ms: monotonic_ms(), bytes_read: 0 }
    }

    /// Waits until more bytes may be read; returns immediately without a limit.
    pub async fn wait(&self) {
        if self.bytes_per_second == 0 {
            return;
        }
        loop {
            let elapsed = monotonic_ms() - self.began_ms;
            // As in nginx, the bytes of the first second may be read immediately.
            let allowed = self.bytes_per_second.saturating_mul(elapsed / 1000 + 1);
            if self.bytes_read < allowed {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1000 - elapsed % 1000)).await;
        }
    }

    /// Counts `bytes` bytes that were read.
    pub fn count_read(&mut self, bytes: usize) {
        self.bytes_read += bytes as u64;
    }
}
