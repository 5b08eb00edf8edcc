//! State of one HTTP/3 request stream: the received request and its response.

use std::future::Future;
use std::pin::Pin;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use myriad_http::h3::RequestReader;
use myriad_http::{ParseError, RequestHead};

use super::response_sender::ResponseSender;
use crate::multiplex::BodyFeed;
use crate::response::Response;

/// State of a request on its stream.
///
/// ```text
/// Reading -> Held -> Waiting -> Sending -> Over
///       \----------^---------^
/// ```
pub(super) enum RequestState<T> {
    /// The head is incomplete.
    Reading,
    /// The head is complete, but the request is delayed; see [`DelayReason`].
    Held(Box<DelayedRequest>),
    /// The service has the request and is preparing the response.
    Waiting(Pin<Box<dyn Future<Output = Response<T>>>>),
    /// The response is being sent.
    Sending(Box<ResponseSender<T>>),
    /// The response is completely in the stream, or was aborted.
    Over,
}

/// Request whose head is complete and that has not been passed to the service.
pub(super) struct DelayedRequest {
    pub(super) head: RequestHead,
    pub(super) malformed: Option<ParseError>,
    pub(super) until: DelayReason,
}

/// Event that a delayed request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelayReason {
    /// The end of the handshake. The request is early data (0-RTT), which may be a replay, and its method is not safe
    /// or the address of its client is not validated.
    Handshake,
    /// The end of the stream, or a part of a body. The method usually has no body, and many clients end the stream
    /// slightly after the head.
    End,
}

/// State of the client's side of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientSide {
    /// The client may send more bytes, or received bytes have not been taken.
    Open,
    /// All bytes were taken, and the client has ended its side.
    Ended,
    /// The client reset the stream; bytes that were not taken are lost.
    Reset,
}

/// Request stream with its exchange.
pub(super) struct RequestStream<T> {
    pub(super) reader: RequestReader,
    /// Bytes taken from the QUIC stream and not yet parsed.
    pub(super) rest: Bytes,
    /// Last known state of the client's side, because QUIC reports its end only once.
    pub(super) side: ClientSide,
    /// Set while the server still reads the stream.
    pub(super) receiving: bool,
    /// Set once a part of the request body has arrived.
    pub(super) has_body: bool,
    /// Queue through which the request body is passed to the service; `None` before the request is passed to it, and if
    /// the request has no body or is malformed.
    pub(super) feed: Option<BodyFeed>,
    /// Number of body bytes in `feed` that the service has not read yet.
    pub(super) fed: u64,
    pub(super) work: RequestState<T>,
    /// Number of the request on its connection, starting at 1; 0 before it is passed to the service.
    pub(super) number: u32,
    /// Set for a HEAD request, whose response has no body.
    pub(super) head_only: bool,
    /// Number of bytes of the request head with its frames.
    pub(super) head_bytes: u64,
    /// Bytes of interim responses that the stream has not accepted yet.
    pub(super) ahead: Vec<u8>,
    /// Time at which the stream was opened.
    pub(super) opened: Instant,
    /// Waker of this stream; `None` until it first waits.
    pub(super) waker: Option<Waker>,
}

impl<T> RequestStream<T> {
    /// Creates the state of a new request stream with ID `id`.
    pub(super) fn new(id: u64, opened: Instant) -> Self {
        Self {
            reader: RequestReader::new(id),
            rest: Bytes::new(),
            side: ClientSide::Open,
            receiving: true,
            has_body: false,
            feed: None,
            fed: 0,
            work: RequestState::Reading,
            number: 0,
            head_only: false,
            head_bytes: 0,
            ahead: Vec::new(),
            opened,
            waker: None,
        }
    }

    /// Returns true if the request is delayed until the end of its stream or a body.
    pub(super) fn awaits_stream_end(&self) -> bool {
        matches!(&self.work, RequestState::Held(held) if held.until == DelayReason::End)
    }

    /// Returns true if the response is over and the stream is no longer read.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.work, RequestState::Over) && !self.receiving
    }
}
