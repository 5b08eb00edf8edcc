//! Admission of a request to its origin.

use myriad_exchange::exchange::Exchange;
use myriad_upstream::OriginError;

use crate::origin_protection::permit::OriginPermit;
use crate::origin_protection::{origin_limits, origin_queue};

/// Waits until the origin of the location accepts the request: checks the memory, the limits with `origin_only` and the
/// queue. `waits` is true if a client waits for the response; otherwise, and for requests in the background (such as
/// mirrored ones), the limits are skipped and the queue priority is the lowest.
///
/// # Errors
///
/// Returns an error if the request must not be sent to the origin.
pub async fn admit_to_origin(exchange: &mut Exchange, waits: bool) -> Result<OriginPermit, OriginError> {
    if exchange.request.runtime().pressure.rejects_origin_request() {
        return Err(OriginError::not_sent(503, "out of memory (\"memory_limit\")"));
    }
    let waits = waits && !exchange.request.is_in_background();
    let limits = if waits { origin_limits::apply(exchange).await? } else { None };
    let taken = origin_queue::enter(exchange, waits).await?;
    Ok(OriginPermit::of(exchange, taken, limits))
}
