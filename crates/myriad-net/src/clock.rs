//! The only place of this layer that reads the clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch. Jumps when the system clock is set; use [`monotonic_ms`] to measure.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

/// Microseconds since the Unix epoch, for durations of requests that are not worth a second clock: it jumps, as [`now_ms`].
pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| {
        elapsed.as_secs().wrapping_mul(1_000_000).wrapping_add(u64::from(elapsed.subsec_micros()))
    })
}

/// Milliseconds since the first call in this process. Never jumps.
pub fn monotonic_ms() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}
