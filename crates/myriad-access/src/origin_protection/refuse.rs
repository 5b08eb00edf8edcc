//! Temporary rejection of a request.

use myriad_exchange::exchange::{Exchange, PhaseStep};

/// Maximum value of `Retry-After`, in seconds.
const LONGEST_S: u64 = 3600;

/// Rejects a request with a status, and sends `Retry-After` (RFC 9110 section 10.2.3) with the time after which a retry
/// may succeed, rounded up to seconds.
pub(crate) fn refuse(exchange: &mut Exchange, status: u16, retry_after_ms: u64) -> PhaseStep {
    retry_after(exchange, retry_after_ms);
    PhaseStep::Error(status)
}

/// Adds `Retry-After` to the error response.
pub(crate) fn retry_after(exchange: &mut Exchange, retry_after_ms: u64) {
    let seconds = retry_after_ms.div_ceil(1000).clamp(1, LONGEST_S);
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(format!("Retry-After: {seconds}\r\n").as_bytes());
}
