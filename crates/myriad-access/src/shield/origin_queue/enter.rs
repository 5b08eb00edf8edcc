//! Entry of a request into the queue.

use std::sync::Arc;

use myriad_base::memory::Stage;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::traffic::QueueEnd;
use myriad_upstream::OriginError;

use super::class::Class;
use super::compile::OriginQueue;
use super::queue::{Entered, Slot, Unserved};
use crate::shield::refuse::retry_after;

/// Slot that a request has taken.
pub(crate) struct Taken {
    slot: Slot,
    until_head: bool,
}

impl Taken {
    /// Processes the arrival of the response head. Returns `None` if this releases the slot (`release=head`).
    pub(crate) fn answered(self) -> Option<Self> {
        self.slot.answered();
        (!self.until_head).then_some(self)
    }
}

/// Waits for a slot; returns `None` if the location has no queue. `waits` is true if a client waits for the response; a
/// background refresh has the lowest priority.
///
/// # Errors
///
/// Returns an error if the request must not be sent to the origin.
pub(crate) async fn enter(exchange: &mut Exchange, waits: bool) -> Result<Option<Taken>, OriginError> {
    let Some(OriginQueue { queue, rules, .. }) = exchange.request.place().features.get() else {
        return Ok(None);
    };
    let (queue, rules) = (Arc::clone(queue), rules.clone());
    // The page that includes this subrequest may occupy a slot until the subrequest completes: waiting for a slot could
    // deadlock.
    if exchange.request.is_subrequest() && exchange.request.visit().asking.get() > 0 {
        return Ok(None);
    }
    let class = if waits { class(exchange) } else { Class::LAST };
    let taken = |slot| Some(Taken { slot, until_head: rules.until_head });
    let counts = exchange.request.runtime().traffic.queue(&rules.zone);
    let why = match queue.enter(&rules, class) {
        Entered::Slot(slot) => {
            counts.end(QueueEnd::Passed);
            return Ok(taken(slot));
        }
        Entered::Turn(turn) => {
            let wait = counts.wait();
            let traced = exchange.request.waits_for("origin_queue");
            let waited = turn.wait(rules.timeout_ms).await;
            drop(traced);
            match waited {
                Ok(slot) => {
                    wait.end(QueueEnd::Waited);
                    return Ok(taken(slot));
                }
                Err(Unserved::Late) => {
                    wait.end(QueueEnd::Late);
                    "timed out"
                }
                Err(Unserved::Displaced) => {
                    wait.end(QueueEnd::Displaced);
                    "is full, and a request of a higher class replaced this one"
                }
            }
        }
        Entered::Full => {
            counts.end(QueueEnd::Full);
            "is full"
        }
    };
    Err(OriginError::not_asked(503, format!("origin_queue \"{}\" {why}", rules.zone)))
}

/// Returns the class of a request by `origin_priority`; the last class for a request beyond `origin_query_limit`.
fn class(exchange: &mut Exchange) -> Class {
    if exchange.request.visit().beyond_query_limit.get() {
        return Class::LAST;
    }
    let Exchange { request, frame } = exchange;
    let queue = request.place().features.get::<OriginQueue>();
    let Some(priority) = queue.and_then(|queue| queue.priority.as_ref()) else { return Class::NORMAL };
    let mut text = Vec::new();
    match priority.eval(request, frame, &mut text) {
        Ok(()) => Class::parse(&text).unwrap_or(Class::NORMAL),
        Err(_) => Class::NORMAL,
    }
}

/// `Retry-After` of a request that is rejected because memory is short, in milliseconds: longer than the server takes
/// to close idle connections and to shrink zones.
const WITHOUT_MEMORY_MS: u64 = 5000;

/// Sends `Retry-After` to a client whose request was not sent to the origin (RFC 9110 section 10.2.3): the time until
/// the requests in the queue are served or time out, or until memory is free again.
pub fn retry_later(exchange: &mut Exchange, status: u16) {
    if status != 503 {
        return;
    }
    let request = &exchange.request;
    let after_ms = if request.runtime().pressure.stage() == Stage::Refusing {
        WITHOUT_MEMORY_MS
    } else {
        let Some(queue) = request.place().features.get::<OriginQueue>() else { return };
        queue.rules.timeout_ms
    };
    retry_after(exchange, after_ms);
}
