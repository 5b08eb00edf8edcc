//! State of one request and its response on an HTTP/2 connection.
//!
//! ```text
//!   begin -> Ready ---------------------> answer: head, body in memory -> over -> finish
//!      |                                     |                              ^
//!      +---> Later -> Waiting -> (woken) ----+-> Sending: pieces on demand -+
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::wake::{StreamWaker, WokenStreams};
use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, ClientTimeouts, TimeoutReason};
use crate::deadline::Deadline;
use crate::multiplex::{BodyFeed, OutgoingBody};
use crate::response::{Response, ResponseText, SentReport};

/// Request in progress on one stream.
pub(super) struct Http2Exchange<T> {
    /// Number of the stream on its connection.
    pub(super) stream: u32,
    /// Number of the request on its connection, starting at 1.
    pub(super) number: u32,
    /// Set for a HEAD request, whose response has no body.
    pub(super) is_head: bool,
    /// Size of the request's header block as received (compressed), in bytes.
    pub(super) head_bytes: u64,
    /// Queue through which the driver passes the request body to the service; `None` if the request has no body or is
    /// malformed.
    pub(super) feed: Option<BodyFeed>,
    pub(super) stage: ExchangeStage<T>,
    /// Waker of the stream; `None` until the exchange first waits.
    waker: Option<(Arc<StreamWaker>, Waker)>,
    /// Wait for the client to open its flow-control windows; `None` until a window is first closed.
    pub(super) stalled: Option<Box<WindowWait>>,
    /// Set if the receive window of the stream has been enlarged by `READ_AHEAD_STREAM`.
    pub(super) is_widened: bool,
}

/// Time limits of a response that waits for the client to open a flow-control window.
#[derive(Default)]
pub(super) struct WindowWait {
    deadline: Deadline,
    patience: ClientTimeouts,
    /// Number of body bytes sent at the last check of progress.
    sent: u64,
    /// Set while a flow-control window is closed, so that the response cannot be sent.
    pub(super) is_shut: bool,
}

impl WindowWait {
    /// Records the total number of body bytes sent, and by `is_shut` whether a window is closed, so that the response
    /// waits for the client. Returns the limit that the client has exceeded, if any.
    pub(super) fn check_progress(
        &mut self,
        sent: u64,
        is_shut: bool,
        terms: ClientTimeLimits,
        cx: &Context<'_>,
    ) -> Option<TimeoutReason> {
        let moved = sent - std::mem::replace(&mut self.sent, sent);
        if (moved > 0 || !is_shut)
            && self.patience.record_transfer(moved, &self.deadline, terms.rate, AS_MOVED)
        {
            return Some(TimeoutReason::BelowMinRate);
        }
        self.is_shut = is_shut;
        if !is_shut {
            return None;
        }
        match self.patience.poll(&self.deadline, terms, AS_MOVED, cx) {
            Poll::Ready(lapse) => Some(lapse),
            Poll::Pending => None,
        }
    }
}

/// Stage of an exchange: the response is prepared, then sent.
pub(super) enum ExchangeStage<T> {
    /// The service is preparing the response.
    Waiting(Pin<Box<dyn Future<Output = Response<T>>>>),
    /// The response is being sent.
    Sending(Box<PendingResponse<T>>),
}

/// Response that is being sent, with the rest of its body.
pub(super) struct PendingResponse<T> {
    pub(super) response: Response<T>,
    /// Part of the body that has not been passed to the HTTP/2 codec; `None` if there is none.
    pub(super) outgoing: Option<OutgoingBody>,
    /// Set while the head of a postponed response is delayed until the first piece of the body is available.
    pub(super) is_held: bool,
    /// Time at which the head was passed to the HTTP/2 codec, in microseconds of the process clock; 0 before.
    pub(super) first_us: u64,
    /// Set while no piece of the body is available, until the stream is woken.
    pub(super) is_parked: bool,
    /// Set if the body is fetched piece by piece, so that its queued bytes count towards the buffer limit of the
    /// connection.
    pub(super) is_pulled: bool,
}

impl<T> PendingResponse<T> {
    pub(super) fn new(response: Response<T>, outgoing: Option<OutgoingBody>, is_held: bool) -> Self {
        let is_pulled = outgoing.is_some();
        let first_us = if is_held { 0 } else { crate::clock::now_us() };
        Self { response, outgoing, is_held, first_us, is_parked: false, is_pulled }
    }
}

impl<T> Http2Exchange<T> {
    pub(super) fn new(
        (stream, number): (u32, u32),
        is_head: bool,
        head_bytes: u64,
        feed: Option<BodyFeed>,
        stage: ExchangeStage<T>,
    ) -> Self {
        Self {
            stream,
            number,
            is_head,
            head_bytes,
            feed,
            stage,
            waker: None,
            stalled: None,
            is_widened: false,
        }
    }

    /// Returns the waker of this exchange's stream and allows it to wake the connection again.
    pub(super) fn arm(&mut self, woken: &WokenStreams) -> Waker {
        let (stream, waker) = self.waker.get_or_insert_with(|| {
            let stream = woken.waker(self.stream);
            (Arc::clone(&stream), Waker::from(stream))
        });
        stream.rearm();
        waker.clone()
    }

    /// Returns true if the driver should fetch more pieces of the response body.
    pub(super) fn is_pulling(&self) -> bool {
        matches!(&self.stage, ExchangeStage::Sending(sending) if sending.outgoing.is_some() && !sending.is_parked)
    }

    /// Returns true if the exchange waits for the client: to open a window, or to send more of the request body.
    pub(super) fn awaits_client(&self) -> bool {
        match &self.stage {
            ExchangeStage::Waiting(_) => self.feed.as_ref().is_some_and(BodyFeed::is_awaited),
            ExchangeStage::Sending(_) => self.stalled.as_ref().is_some_and(|stalled| stalled.is_shut),
        }
    }

    /// Returns the number of request bytes received so far, head included.
    pub(super) fn request_bytes(&self) -> u64 {
        self.head_bytes + self.feed.as_ref().map_or(0, BodyFeed::received)
    }
}

/// Creates the report of a finished response for the service.
pub(super) fn sent_report(
    over: &myriad_http::h2::FinishedStream,
    status: u16,
    request_bytes: u64,
    first_us: u64,
) -> SentReport {
    SentReport {
        status,
        head_bytes: over.sent.head,
        body_bytes: over.sent.body,
        bytes: over.sent.head + over.sent.body + over.sent.framing,
        complete: over.complete,
        pipelined: false,
        keep_alive: true,
        chunked: false,
        request_bytes,
        first_us,
    }
}

/// Returns the response fields without connection-specific fields, which are not allowed in HTTP/2 (RFC 9113 section
/// 8.2.2).
pub(super) fn fields(head: &ResponseText) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.iter().filter(|(name, _)| !is_connection_field(name))
}

/// Parses field lines and returns the fields without connection-specific fields.
pub(super) fn line_fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    crate::response::fields(text).filter(|(name, _)| !is_connection_field(name))
}

fn is_connection_field(name: &[u8]) -> bool {
    let names: &[&[u8]] = match name.len() {
        7 => &[b"upgrade"],
        10 => &[b"connection", b"keep-alive"],
        16 => &[b"proxy-connection"],
        17 => &[b"transfer-encoding"],
        _ => return name.is_empty(),
    };
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_fields_are_not_forwarded() {
        let mut head = ResponseText::new(200, "OK");
        for name in ["Server", "Connection", "KEEP-ALIVE", "Upgrade", "Transfer-Encoding", "Proxy-Connection"]
        {
            head.append_field(name.as_bytes(), b"x");
        }
        assert_eq!(fields(&head).collect::<Vec<_>>(), [(&b"Server"[..], &b"x"[..])]);
        assert_eq!(line_fields(b"link: a\r\nconnection: b\r\n").count(), 1);
    }
}
