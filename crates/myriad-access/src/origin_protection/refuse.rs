//! Temporary rejection of a request, with `Retry-After`.

use myriad_exchange::exchange::{Exchange, PhaseStep};

/// Maximum value of `Retry-After` that is sent, in seconds.
const LONGEST_S: u64 = 3600;

/// Rejects a request with a status, and adds `Retry-After` (RFC 9110 section 10.2.3) with the time after which a retry
/// may succeed.
pub(crate) fn refuse(exchange: &mut Exchange, status: u16, retry_after_ms: u64) -> PhaseStep {
    retry_after(exchange, retry_after_ms);
    PhaseStep::Error(status)
}

/// Adds `Retry-After` to the error response of a request: the time rounded up to seconds, from 1 to [`LONGEST_S`].
pub(crate) fn retry_after(exchange: &mut Exchange, retry_after_ms: u64) {
    let seconds = retry_after_ms.div_ceil(1000).clamp(1, LONGEST_S);
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(format!("Retry-After: {seconds}\r\n").as_bytes());
}
