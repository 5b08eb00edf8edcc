//! A request before its origin.

use myriad_exchange::exchange::Exchange;
use myriad_upstream::OriginError;

use crate::permit::Permit;
use crate::{origin_limits, origin_queue};

/// Waits until the origin of the place may be asked. `waits` says that a visitor waits for the answer: a refresh behind a visitor, and a
/// mirrored request, count against nobody's limits, and let everybody else go first. An error says that the origin is not to be asked.
pub async fn admit(exchange: &mut Exchange, waits: bool) -> Result<Permit, OriginError> {
    if exchange.request.runtime().pressure.refuses() {
        return Err(OriginError::not_asked(503, "there is no memory for it (\"memory_limit\")"));
    }
    let waits = waits && !exchange.request.is_in_background();
    let limits = if waits { origin_limits::pass(exchange).await? } else { None };
    let taken = origin_queue::enter(exchange, waits).await?;
    Ok(Permit::of(exchange, taken, limits))
}
