//! Entry of a request into the queue.

use std::sync::Arc;

use myriad_base::memory::PressureStage;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::traffic::QueueEnd;
use myriad_upstream::OriginError;

use super::class::PriorityClass;
use super::compile::OriginQueue;
use super::queue::{QueueEntry, QueueRefusal, QueueSlot};
use crate::origin_protection::refuse::retry_after;

/// Slot of the queue that a request occupies; dropping it releases the slot.
pub(crate) struct OccupiedSlot {
    slot: QueueSlot,
    until_head: bool,
}

impl OccupiedSlot {
    /// Records that the response head has arrived. Returns the slot, or `None` if it is released now (`release=head`).
    pub(crate) fn response_head_arrived(self) -> Option<Self> {
        self.slot.record_response_head();
        (!self.until_head).then_some(self)
    }
}

/// Waits for a slot; returns `None` if the location has no queue, and for a subrequest while another request of its
/// client request is in flight to an origin. `waits` is true if a client waits for the response; otherwise the request
/// has the lowest priority.
///
/// # Errors
///
/// Returns an error if the request must not be sent to the origin: the queue is full, the wait timed out, or a request
/// of a higher class took the position.
pub(crate) async fn enter(exchange: &mut Exchange, waits: bool) -> Result<Option<OccupiedSlot>, OriginError> {
    let Some(OriginQueue { queue, rules, .. }) = exchange.request.place().features.get() else {
        return Ok(None);
    };
    let (queue, rules) = (Arc::clone(queue), rules.clone());
    // The request that includes this subrequest may occupy a slot until the subrequest completes: waiting for another
    // slot could deadlock.
    if exchange.request.is_subrequest() && exchange.request.limit_results().active_fetches.get() > 0 {
        return Ok(None);
    }
    let class = if waits { class(exchange) } else { PriorityClass::LAST };
    let taken = |slot| Some(OccupiedSlot { slot, until_head: rules.until_head });
    let counts = exchange.request.runtime().traffic.queue(&rules.zone);
    let why = match queue.enter(&rules, class) {
        QueueEntry::Slot(slot) => {
            counts.end(QueueEnd::Passed);
            return Ok(taken(slot));
        }
        QueueEntry::Waiting(turn) => {
            let wait = counts.wait();
            let traced = exchange.request.begin_wait("origin_queue");
            let waited = turn.wait(rules.timeout_ms).await;
            drop(traced);
            match waited {
                Ok(slot) => {
                    wait.end(QueueEnd::Waited);
                    return Ok(taken(slot));
                }
                Err(QueueRefusal::TimedOut) => {
                    wait.end(QueueEnd::Late);
                    "timed out"
                }
                Err(QueueRefusal::Displaced) => {
                    wait.end(QueueEnd::Displaced);
                    "is full, and a request of a higher class replaced this one"
                }
            }
        }
        QueueEntry::Full => {
            counts.end(QueueEnd::Full);
            "is full"
        }
    };
    Err(OriginError::not_sent(503, format!("origin_queue \"{}\" {why}", rules.zone)))
}

/// Returns the class of a request by `origin_priority`: `normal` if it is invalid or missing, the last class for a
/// request beyond `origin_query_limit`.
fn class(exchange: &mut Exchange) -> PriorityClass {
    if exchange.request.limit_results().beyond_query_limit.get() {
        return PriorityClass::LAST;
    }
    let Exchange { request, frame } = exchange;
    let queue = request.place().features.get::<OriginQueue>();
    let Some(priority) = queue.and_then(|queue| queue.priority.as_ref()) else {
        return PriorityClass::NORMAL;
    };
    let mut text = Vec::new();
    match priority.eval(request, frame, &mut text) {
        Ok(()) => PriorityClass::parse(&text).unwrap_or(PriorityClass::NORMAL),
        Err(_) => PriorityClass::NORMAL,
    }
}

/// `Retry-After` of a request that is rejected because memory is short, in milliseconds. The server needs less time to
/// close idle connections and to shrink zones.
const WITHOUT_MEMORY_MS: u64 = 5000;

/// Adds `Retry-After` (RFC 9110 section 10.2.3) to a 503 response for a request that was not sent to the origin: a
/// fixed time while memory is short, otherwise `timeout=` of the location's queue. Adds nothing for other statuses, and
/// for a location without a queue while memory is not short.
pub fn set_retry_after(exchange: &mut Exchange, status: u16) {
    if status != 503 {
        return;
    }
    let request = &exchange.request;
    let after_ms = if request.runtime().pressure.stage() == PressureStage::Refusing {
        WITHOUT_MEMORY_MS
    } else {
        let Some(queue) = request.place().features.get::<OriginQueue>() else { return };
        queue.rules.timeout_ms
    };
    retry_after(exchange, after_ms);
}
