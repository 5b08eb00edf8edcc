//! `sticky learn`: a response creates a session, and later requests with its identifier go to the same peer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_upstream::{OriginResponse, Sessions};

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::StickyLearnPlace;

use super::text::first;

/// Returns the `sticky` identifier of the peer of the request's session; `None` if the request has no session or an
/// unknown one.
pub(crate) fn session_peer(exchange: &mut Exchange, learn: &StickyLearnPlace) -> Option<Bytes> {
    let id = first(exchange, &learn.lookup)?;
    let sid = learn.sessions.find(&id, learn.timeout_ms)?;
    Some(Bytes::copy_from_slice(sid.as_bytes()))
}

/// Learns the session of a response (`sticky learn`): immediately with `header`, otherwise when the body is complete,
/// fails or is dropped.
pub(crate) fn note(exchange: &mut Exchange, learn: &StickyLearnPlace, response: &mut OriginResponse) {
    let Some(sid) = response.sid.clone() else { return };
    let Some((id, creates)) = session(exchange, learn, response) else { return };
    let lesson = PendingSession {
        sessions: Arc::clone(&learn.sessions),
        id,
        sid,
        creates,
        timeout_ms: learn.timeout_ms,
    };
    if learn.at_head {
        return lesson.learn();
    }
    let body = std::mem::replace(&mut response.body, Box::pin(myriad_http::body::EmptyBody));
    let mut learning = LearningBody { body, pending: Some(lesson) };
    learning.learn_if_complete();
    response.body = Box::pin(learning);
}

/// Returns the identifier of the session and whether it may be created: that in the response with `true`, otherwise
/// that in the request with `false`. `None` without either.
fn session(
    exchange: &mut Exchange,
    learn: &StickyLearnPlace,
    response: &OriginResponse,
) -> Option<(Vec<u8>, bool)> {
    // `$upstream_cookie_*` refer to the head in the exchange, which is not that of this response yet.
    let before = exchange.request.origin_mut().head.replace(response.head.clone());
    let created = first(exchange, &learn.create);
    exchange.request.origin_mut().head = before;
    match created {
        Some(id) => Some((id, true)),
        None => Some((first(exchange, &learn.lookup)?, false)),
    }
}

/// Session that is learned (`sticky learn`) when the response body is complete.
struct PendingSession {
    sessions: Arc<Sessions>,
    id: Vec<u8>,
    sid: Arc<str>,
    /// True if an unknown session is created; otherwise only a known one is updated.
    creates: bool,
    /// Time in milliseconds after its last response at which the session expires.
    timeout_ms: u64,
}

impl PendingSession {
    fn learn(&self) {
        self.sessions.learn(&self.id, &self.sid, self.creates, self.timeout_ms);
    }
}

/// Response body that learns a session (`sticky learn`) when it is complete, fails or is dropped.
struct LearningBody {
    body: BoxBody,
    /// Session to learn; `None` once it was learned.
    pending: Option<PendingSession>,
}

impl LearningBody {
    /// Learns the session if no data is left: the client may send its next request as soon as it has received the data
    /// returned so far.
    fn learn_if_complete(&mut self) {
        if self.body.size_hint() == Some(0) {
            self.learn();
        }
    }

    fn learn(&mut self) {
        if let Some(lesson) = self.pending.take() {
            lesson.learn();
        }
    }
}

impl Body for LearningBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        let polled = this.body.as_mut().poll_data(cx);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(_))) => this.learn_if_complete(),
            Poll::Ready(None | Some(Err(_))) => this.learn(),
        }
        polled
    }

    fn size_hint(&self) -> Option<u64> {
        self.body.size_hint()
    }

    fn skip(self: Pin<&mut Self>, bytes: u64) -> u64 {
        let this = self.get_mut();
        let skipped = this.body.as_mut().skip(bytes);
        this.learn_if_complete();
        skipped
    }
}

impl Drop for LearningBody {
    fn drop(&mut self) {
        self.learn();
    }
}
