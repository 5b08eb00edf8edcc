//! A request stream: what the client sends on it, and who answers.

use std::future::Future;
use std::pin::Pin;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use myriad_http::h3::RequestReader;
use myriad_http::{ParseError, RequestHead};

use super::sending::Sending;
use crate::multiplex::Feed;
use crate::response::Response;

/// ```text
/// Reading -> Held -> Waiting -> Sending -> Over
///       \----------^---------^
/// ```
pub(super) enum Work<T> {
    /// The head has not come whole.
    Reading,
    /// The head has come, but something else is waited for.
    Held(Box<Held>),
    /// Somebody works on the answer.
    Waiting(Pin<Box<dyn Future<Output = Response<T>>>>),
    /// The answer is known.
    Sending(Box<Sending<T>>),
    /// The answer is in the stream, or will never be.
    Over,
}

/// A request that is not asked yet.
pub(super) struct Held {
    pub(super) head: RequestHead,
    pub(super) malformed: Option<ParseError>,
    pub(super) until: Until,
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of the handshake: it came as 0-RTT data, and answering it twice would do harm, or nothing has shown yet that
    /// its client is where it says.
    Handshake,
    /// The end of the stream, or a body: it is of a kind that has none as a rule, and many clients tell so a little later.
    End,
}

/// How the client's side of a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// More may come, or be there already.
    Open,
    /// All of it was taken.
    Ended,
    /// The client broke it off, and what was not taken is lost.
    Reset,
}

/// The state of a stream.
pub(super) struct RequestStream<T> {
    pub(super) reader: RequestReader,
    /// What was taken off the stream and not read yet.
    pub(super) rest: Bytes,
    /// What QUIC said last of the client's side: it says only once that it is over.
    pub(super) side: Side,
    /// The client may still send on it.
    pub(super) receiving: bool,
    /// Something of a body has come.
    pub(super) has_body: bool,
    /// The reader that the body goes to.
    pub(super) feed: Option<Feed>,
    /// Bytes put into it that were not taken out.
    pub(super) fed: u64,
    pub(super) work: Work<T>,
    /// The number of the request on its connection.
    pub(super) number: u32,
    pub(super) head_only: bool,
    /// Bytes of the request's head and its frames.
    pub(super) head_bytes: u64,
    /// Interim answers that the stream had no room for.
    pub(super) ahead: Vec<u8>,
    /// When it was opened.
    pub(super) opened: Instant,
    /// How the task is told to look at this stream; made when there is something to wait for.
    pub(super) waker: Option<Waker>,
}

impl<T> RequestStream<T> {
    /// The stream of that number, which was opened at `opened`.
    pub(super) fn new(id: u64, opened: Instant) -> Self {
        Self {
            reader: RequestReader::new(id),
            rest: Bytes::new(),
            side: Side::Open,
            receiving: true,
            has_body: false,
            feed: None,
            fed: 0,
            work: Work::Reading,
            number: 0,
            head_only: false,
            head_bytes: 0,
            ahead: Vec::new(),
            opened,
            waker: None,
        }
    }

    /// Whether the request waits for the end of the stream, or a body.
    pub(super) fn is_held_for_its_end(&self) -> bool {
        matches!(&self.work, Work::Held(held) if held.until == Until::End)
    }

    /// Whether nothing more is to be done on it.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.work, Work::Over) && !self.receiving
    }
}
