//! Request stream: the received request and the handler of its response.

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

/// ```text
/// Reading -> Held -> Waiting -> Sending -> Over
///       \----------^---------^
/// ```
pub(super) enum RequestState<T> {
    /// The head is incomplete.
    Reading,
    /// The head is complete, but the request waits for another event.
    Held(Box<DelayedRequest>),
    /// The service prepares the response.
    Waiting(Pin<Box<dyn Future<Output = Response<T>>>>),
    /// The response is available.
    Sending(Box<ResponseSender<T>>),
    /// The response is in the stream, or was aborted.
    Over,
}

/// Request that has not been passed to the service.
pub(super) struct DelayedRequest {
    pub(super) head: RequestHead,
    pub(super) malformed: Option<ParseError>,
    pub(super) until: DelayReason,
}

/// Event that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelayReason {
    /// The end of the handshake: the request is 0-RTT data, and repeating it would be harmful, or the address of its
    /// client is not validated yet.
    Handshake,
    /// The end of the stream, or a body: the method usually has no body, and many clients close the stream slightly
    /// later.
    End,
}

/// State of the client's side of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientSide {
    /// More bytes may arrive or be available.
    Open,
    /// All bytes were taken.
    Ended,
    /// The client reset the stream; bytes that were not taken are lost.
    Reset,
}

/// State of a stream.
pub(super) struct RequestStream<T> {
    pub(super) reader: RequestReader,
    /// Bytes taken from the stream and not yet parsed.
    pub(super) rest: Bytes,
    /// Last state of the client's side; QUIC reports its end only once.
    pub(super) side: ClientSide,
    /// Set while the client may send on the stream.
    pub(super) receiving: bool,
    /// Set if a part of a body has arrived.
    pub(super) has_body: bool,
    /// Feed of the body.
    pub(super) feed: Option<BodyFeed>,
    /// Bytes in the feed that have not been read.
    pub(super) fed: u64,
    pub(super) work: RequestState<T>,
    /// Number of the request on its connection.
    pub(super) number: u32,
    pub(super) head_only: bool,
    /// Size of the request head and its frames in bytes.
    pub(super) head_bytes: u64,
    /// Interim responses that wait for room in the stream.
    pub(super) ahead: Vec<u8>,
    /// Time at which the stream was opened.
    pub(super) opened: Instant,
    /// Waker of this stream, created when it first waits.
    pub(super) waker: Option<Waker>,
}

impl<T> RequestStream<T> {
    /// Creates the stream `id`, opened at `opened`.
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

    /// Returns whether the request waits for the end of the stream or a body.
    pub(super) fn awaits_stream_end(&self) -> bool {
        matches!(&self.work, RequestState::Held(held) if held.until == DelayReason::End)
    }

    /// Returns whether the stream is finished.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.work, RequestState::Over) && !self.receiving
    }
}
