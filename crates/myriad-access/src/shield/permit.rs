//! Resources that a request retains while its origin processes it.

use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_exchange::exchange::{Exchange, Visit};
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_upstream::OriginResponse;

use crate::shield::origin_queue::Taken;

/// Permission to send a request to an origin; empty if no limit applies. Dropping it admits the next request.
#[derive(Default)]
pub struct Permit(Option<Held>);

struct Held {
    taken: Option<Taken>,
    /// Guard that counts against `limit_conn ... origin_only`.
    _limits: Option<Box<dyn Any>>,
    _asking: Asking,
}

/// Counts a request that is in flight to an origin in its [`Visit`]: subrequests of the same visit neither wait for the
/// slot that it occupies nor count again.
struct Asking(Rc<Visit>);

impl Asking {
    fn new(visit: Rc<Visit>) -> Self {
        visit.asking.set(visit.asking.get() + 1);
        Self(visit)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.asking.set(self.0.asking.get().saturating_sub(1));
    }
}

impl Permit {
    /// Creates a permission from the queue slot and the limits. It is empty if both are `None`.
    pub(crate) fn of(exchange: &mut Exchange, taken: Option<Taken>, limits: Option<Box<dyn Any>>) -> Self {
        if taken.is_none() && limits.is_none() {
            return Self::default();
        }
        let asking = Asking::new(Rc::clone(exchange.request.visit()));
        Self(Some(Held { taken, _limits: limits, _asking: asking }))
    }

    /// Processes the arrival of the response head. The permission is released when the response body has been read, or
    /// when the upgraded connection closes; with `release=head` the slot is released now.
    pub fn answered(self, response: &mut OriginResponse) {
        let Some(mut held) = self.0 else { return };
        held.taken = held.taken.take().and_then(Taken::answered);
        if let Some(upgraded) = &mut response.upgraded {
            return upgraded.stream.hold(Box::new(held));
        }
        let nothing: BoxBody = Box::pin(myriad_http::body::Empty);
        let body = std::mem::replace(&mut response.body, nothing);
        response.body = Box::pin(PermittedBody { body, held: Some(held) });
    }
}

/// Body with the resources that are released after its last byte.
struct PermittedBody {
    body: BoxBody,
    held: Option<Held>,
}

impl Body for PermittedBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        let polled = this.body.as_mut().poll_data(cx);
        // A reader that knows the length does not poll after the last byte. Without this check a slow client would
        // occupy the slot although the origin has finished.
        let is_over = match &polled {
            Poll::Pending => false,
            Poll::Ready(None | Some(Err(_))) => true,
            Poll::Ready(Some(Ok(_))) => this.body.size_hint() == Some(0),
        };
        if is_over {
            this.held = None;
        }
        polled
    }

    fn size_hint(&self) -> Option<u64> {
        self.body.size_hint()
    }
}
