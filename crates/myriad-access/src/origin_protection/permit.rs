//! Permit that a request retains while its origin processes it.

use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_exchange::exchange::{Exchange, LimitResults};
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_upstream::OriginResponse;

use crate::origin_protection::origin_queue::OccupiedSlot;

/// Permission to send a request to an origin, with the resources that the request occupies; empty if no limit applies.
/// Dropping it admits the next request.
#[derive(Default)]
pub struct OriginPermit(Option<PermitResources>);

struct PermitResources {
    slot: Option<OccupiedSlot>,
    /// Guard that counts against `limit_conn` with `origin_only`.
    _limits: Option<Box<dyn Any>>,
    _in_flight: InFlightCount,
}

/// Counts a request that is in flight to an origin in its [`LimitResults`], which it shares with its subrequests: these
/// neither wait for a slot nor count again meanwhile.
struct InFlightCount(Rc<LimitResults>);

impl InFlightCount {
    fn new(visit: Rc<LimitResults>) -> Self {
        visit.active_fetches.set(visit.active_fetches.get() + 1);
        Self(visit)
    }
}

impl Drop for InFlightCount {
    fn drop(&mut self) {
        self.0.active_fetches.set(self.0.active_fetches.get().saturating_sub(1));
    }
}

impl OriginPermit {
    /// Creates a permit from the queue slot and the guard of the limits, and counts the request as in flight. The
    /// permit is empty, and nothing is counted, if both are `None`.
    pub(crate) fn of(
        exchange: &mut Exchange,
        taken: Option<OccupiedSlot>,
        limits: Option<Box<dyn Any>>,
    ) -> Self {
        if taken.is_none() && limits.is_none() {
            return Self::default();
        }
        let asking = InFlightCount::new(Rc::clone(exchange.request.limit_results()));
        Self(Some(PermitResources { slot: taken, _limits: limits, _in_flight: asking }))
    }

    /// Records that the response head has arrived, and attaches the permit to the response: it is released when the
    /// body has been read, or when the upgraded connection closes. With `release=head` the queue slot is released now.
    pub fn response_head_arrived(self, response: &mut OriginResponse) {
        let Some(mut held) = self.0 else { return };
        held.slot = held.slot.take().and_then(OccupiedSlot::response_head_arrived);
        if let Some(upgraded) = &mut response.upgraded {
            return upgraded.stream.attach(Box::new(held));
        }
        let nothing: BoxBody = Box::pin(myriad_http::body::EmptyBody);
        let body = std::mem::replace(&mut response.body, nothing);
        response.body = Box::pin(PermittedBody { body, resources: Some(held) });
    }
}

/// Response body with resources that are released after its last byte, after an error, or when it is dropped.
struct PermittedBody {
    body: BoxBody,
    resources: Option<PermitResources>,
}

impl Body for PermittedBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        let polled = this.body.as_mut().poll_data(cx);
        // A reader that knows the length does not poll after the last byte. Without this check, a slow client would
        // occupy the slot although the origin has finished.
        let is_over = match &polled {
            Poll::Pending => false,
            Poll::Ready(None | Some(Err(_))) => true,
            Poll::Ready(Some(Ok(_))) => this.body.size_hint() == Some(0),
        };
        if is_over {
            this.resources = None;
        }
        polled
    }

    fn size_hint(&self) -> Option<u64> {
        self.body.size_hint()
    }
}
