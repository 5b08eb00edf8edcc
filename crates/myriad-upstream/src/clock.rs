//! Milliseconds that never go back, shared by all workers of the process.

use std::sync::LazyLock;
use std::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since the process first asked, plus one hour: far enough from 0 that "never" is in the past.
pub(crate) fn now() -> u64 {
    START.elapsed().as_millis() as u64 + 3_600_000
}
