//! Request body, read piece by piece by the service.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use myriad_http::body::{Body, BodyError};
use myriad_http::h1::{ChunkedDecoder, Framing};

use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, ClientTimeouts, MinRate};
use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::multiplex::BodyFeed;
use crate::request_buffers::ConnectionInput;

/// Size in bytes up to which the input buffer grows while an HTTP/1 request body is read; a piece is at most as long as
/// the buffer, which a long head may have enlarged.
const PIECE: usize = 16 * 1024;
/// Maximum number of bytes of an unread body that are discarded so that the connection can stay open.
const DRAIN: u64 = 64 * 1024;

/// Framing (length or chunked) and input of a body that is read from a socket.
pub(crate) struct BodyState {
    framing: RemainingFraming,
    input: ConnectionInput,
    /// Total number of body bytes received from the client.
    received: u64,
    /// Set if the client expects `100 Continue` and it has not been sent.
    expect_continue: bool,
    failed: bool,
    /// Measurement of the waits for the client, for `client_body_timeout` and `client_min_rate`.
    patience: ClientTimeouts,
}

enum RemainingFraming {
    Length { left: u64 },
    Chunked { decoder: ChunkedDecoder, done: bool },
}

/// Body of a request. Owns no memory if it is empty, as for most requests.
pub struct RequestBody {
    source: RequestBodySource,
}

/// Source of the bytes of a request body.
enum RequestBodySource {
    /// No source: the body is empty.
    Nothing,
    /// Read from the socket of an HTTP/1 connection.
    Socket(Rc<SocketBody>),
    /// Pushed by the driver of a multiplexed connection.
    Stream(BodyFeed),
}

struct SocketBody {
    connection: Rc<Connection>,
    state: RefCell<BodyState>,
    /// `client_max_body_size` in bytes; 0 for no limit.
    limit: Cell<u64>,
    /// Time limits for waiting for the client: `client_body_timeout` and `client_min_rate`.
    terms: Cell<ClientTimeLimits>,
    /// Deadline of reading the body. Separate from the deadline of the response, which may be sent at the same time.
    deadline: Deadline,
}

impl RequestBody {
    /// Returns an empty body.
    pub fn empty() -> Self {
        Self { source: RequestBodySource::Nothing }
    }

    /// Returns a body that is fed by the driver of a multiplexed connection.
    pub fn from_feed(feed: &BodyFeed) -> Self {
        Self { source: RequestBodySource::Stream(feed.reader()) }
    }

    pub(crate) fn new(
        connection: Rc<Connection>,
        framing: Framing,
        input: ConnectionInput,
        expect_continue: bool,
    ) -> Self {
        let framing = match framing {
            Framing::None => RemainingFraming::Length { left: 0 },
            Framing::Length(left) => RemainingFraming::Length { left },
            Framing::Chunked => RemainingFraming::Chunked { decoder: ChunkedDecoder::default(), done: false },
        };
        let state = BodyState {
            framing,
            input,
            received: 0,
            expect_continue,
            failed: false,
            patience: ClientTimeouts::default(),
        };
        let inner = SocketBody {
            connection,
            state: RefCell::new(state),
            limit: Cell::new(0),
            terms: Cell::new(ClientTimeLimits::default()),
            deadline: Deadline::new(),
        };
        Self { source: RequestBodySource::Socket(Rc::new(inner)) }
    }

    /// Returns another handle of the same body.
    pub(crate) fn handle(&self) -> Self {
        let source = match &self.source {
            RequestBodySource::Nothing => RequestBodySource::Nothing,
            RequestBodySource::Socket(inner) => RequestBodySource::Socket(Rc::clone(inner)),
            RequestBodySource::Stream(feed) => RequestBodySource::Stream(feed.reader()),
        };
        Self { source }
    }

    /// Returns true if the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        match &self.source {
            RequestBodySource::Stream(feed) => feed.is_empty(),
            _ => self.length() == Some(0),
        }
    }

    /// Returns true if the driver of a multiplexed connection feeds the body. Such a body may be empty although
    /// [`Self::is_empty`] returns false until the client completes the body.
    pub fn is_on_stream(&self) -> bool {
        matches!(self.source, RequestBodySource::Stream(_))
    }

    /// Returns the number of body bytes still to be read; `None` if unknown, as for a chunked body.
    pub fn length(&self) -> Option<u64> {
        match &self.source {
            RequestBodySource::Nothing => Some(0),
            RequestBodySource::Socket(inner) => match &inner.state.borrow().framing {
                RemainingFraming::Length { left } => Some(*left),
                RemainingFraming::Chunked { done, .. } => done.then_some(0),
            },
            RequestBodySource::Stream(feed) => feed.length(),
        }
    }

    /// Sets the limits of the request's location: `client_max_body_size` in bytes (0 for no limit),
    /// `client_body_timeout` in milliseconds (0 for no limit), and `client_min_rate`.
    pub fn configure(&self, limit: u64, timeout_ms: u64, rate: MinRate) {
        let terms = ClientTimeLimits { silence_ms: timeout_ms, rate };
        match &self.source {
            RequestBodySource::Nothing => {}
            RequestBodySource::Socket(inner) => {
                inner.limit.set(limit);
                inner.terms.set(terms);
            }
            RequestBodySource::Stream(feed) => feed.configure(limit, terms),
        }
    }

    /// Returns the number of body bytes received so far. On HTTP/1 only bytes that were read by the service or
    /// discarded count.
    pub fn received(&self) -> u64 {
        match &self.source {
            RequestBodySource::Nothing => 0,
            RequestBodySource::Socket(inner) => inner.state.borrow().received,
            RequestBodySource::Stream(feed) => feed.received(),
        }
    }

    /// Returns true if the whole body has been read from an HTTP/1 connection, so that the next request can follow.
    /// Always true on a multiplexed connection.
    pub(crate) fn is_done(&self) -> bool {
        let RequestBodySource::Socket(inner) = &self.source else { return true };
        let state = inner.state.borrow();
        !state.failed
            && match &state.framing {
                RemainingFraming::Length { left } => *left == 0,
                RemainingFraming::Chunked { done, .. } => *done,
            }
    }

    /// Sends `100 Continue` if the client waits for it, once. A client with an empty body may wait as well.
    pub fn send_continue(&self) {
        match &self.source {
            RequestBodySource::Nothing => {}
            RequestBodySource::Socket(inner) => inner.send_continue(&mut inner.state.borrow_mut()),
            RequestBodySource::Stream(feed) => feed.send_continue(),
        }
    }

    /// Discards the bytes received so far, for a service that does not use the body.
    ///
    /// # Errors
    ///
    /// The bytes received so far are malformed, or (on a multiplexed connection) the body has failed: the request must
    /// not get a normal response.
    pub fn discard_received(&self) -> Result<(), BodyError> {
        let inner = match &self.source {
            RequestBodySource::Nothing => return Ok(()),
            RequestBodySource::Socket(inner) => inner,
            RequestBodySource::Stream(feed) => return feed.discard(),
        };
        let mut state = inner.state.borrow_mut();
        while !state.failed {
            match state.advance() {
                Ok(BodyAdvance::Piece(_)) => {}
                Ok(BodyAdvance::End | BodyAdvance::NeedInput) => break,
                Err(error) => {
                    state.failed = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Returns true if the rest of the body has been received already, so that reading it will not wait for the client.
    /// False for a chunked HTTP/1 body until it is read completely.
    pub fn is_buffered(&self) -> bool {
        let inner = match &self.source {
            RequestBodySource::Nothing => return true,
            RequestBodySource::Socket(inner) => inner,
            RequestBodySource::Stream(feed) => return feed.is_whole(),
        };
        let state = inner.state.borrow();
        !state.failed
            && match &state.framing {
                RemainingFraming::Length { left } => *left <= state.input.len() as u64,
                RemainingFraming::Chunked { done, .. } => *done,
            }
    }

    /// Returns true if the rest of an unread body may be discarded so that the connection can stay open: its length is
    /// unknown or at most [`DRAIN`], reading has not failed, and the client does not wait for `100 Continue`. Always
    /// true on a multiplexed connection.
    pub(crate) fn is_drainable(&self) -> bool {
        let RequestBodySource::Socket(inner) = &self.source else { return true };
        let state = inner.state.borrow();
        !state.failed
            && !state.expect_continue
            && match &state.framing {
                RemainingFraming::Length { left } => *left <= DRAIN,
                RemainingFraming::Chunked { .. } => true,
            }
    }

    /// Reads and discards the rest of the body for at most `limit_ms` milliseconds (`lingering_time`). Returns false if
    /// it failed, took longer, or was longer than [`DRAIN`] bytes.
    pub(crate) async fn drain(&mut self, limit_ms: u64) -> bool {
        let all = self.drain_all();
        tokio::time::timeout(Duration::from_millis(limit_ms), all).await.unwrap_or(false)
    }

    async fn drain_all(&mut self) -> bool {
        let before = self.received();
        while let Some(piece) = poll_fn(|cx| Pin::new(&mut *self).poll_data(cx)).await {
            if piece.is_err() || self.received() - before > DRAIN {
                return false;
            }
        }
        self.is_done()
    }

    /// Takes the input buffer, which contains the received bytes after the part of the body that was read. `None`
    /// unless the body is read from a socket.
    pub(crate) fn take_input(&self) -> Option<ConnectionInput> {
        let RequestBodySource::Socket(inner) = &self.source else { return None };
        Some(std::mem::take(&mut inner.state.borrow_mut().input))
    }
}

impl SocketBody {
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        if state.failed {
            return Poll::Ready(Some(Err(BodyError::Aborted)));
        }
        loop {
            match state.advance() {
                Ok(BodyAdvance::Piece(piece)) => {
                    let limit = self.limit.get();
                    if limit != 0 && state.received > limit {
                        state.failed = true;
                        return Poll::Ready(Some(Err(BodyError::TooLarge)));
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                Ok(BodyAdvance::End) => return Poll::Ready(None),
                Ok(BodyAdvance::NeedInput) => {}
                Err(error) => {
                    state.failed = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
            if let Err(error) = ready!(self.poll_fill(state, cx)) {
                state.failed = true;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    /// Sends `100 Continue`, once, if the client waits for it (RFC 9110 section 10.1.1).
    fn send_continue(&self, state: &mut BodyState) {
        if std::mem::take(&mut state.expect_continue) {
            use std::io::Write;
            let _ = (&self.connection.socket).write(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    fn poll_fill(&self, state: &mut BodyState, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        self.send_continue(state);
        let room = state.input.room(PIECE);
        match self.connection.socket.poll_read(cx, room) {
            Poll::Ready(Ok(0) | Err(_)) => {
                self.deadline.clear();
                Poll::Ready(Err(BodyError::Aborted))
            }
            Poll::Ready(Ok(count)) => {
                state.input.commit_read(count);
                // Time during which a slow origin does not read the body does not count against the client.
                self.connection.mark_busy();
                let rate = self.terms.get().rate;
                let is_slow = state.patience.record_transfer(count as u64, &self.deadline, rate, AS_MOVED);
                Poll::Ready(if is_slow { Err(BodyError::Timeout) } else { Ok(()) })
            }
            Poll::Pending => {
                self.connection.mark_stalled();
                let lapse = state.patience.poll(&self.deadline, self.terms.get(), AS_MOVED, cx);
                lapse.map(|_| Err(BodyError::Timeout))
            }
        }
    }
}

enum BodyAdvance {
    Piece(Bytes),
    End,
    NeedInput,
}

impl BodyState {
    /// Takes the next piece of the body from the input buffer. Fails if the chunked coding is malformed.
    fn advance(&mut self) -> Result<BodyAdvance, BodyError> {
        match &mut self.framing {
            RemainingFraming::Length { left: 0 } | RemainingFraming::Chunked { done: true, .. } => {
                Ok(BodyAdvance::End)
            }
            RemainingFraming::Length { left } => {
                if self.input.is_empty() {
                    return Ok(BodyAdvance::NeedInput);
                }
                let take = (*left).min(self.input.len() as u64) as usize;
                let piece = Bytes::copy_from_slice(&self.input.bytes()[..take]);
                self.input.consume(take);
                *left -= take as u64;
                self.received += take as u64;
                Ok(BodyAdvance::Piece(piece))
            }
            RemainingFraming::Chunked { decoder, done } => loop {
                let chunk = decoder.decode(self.input.bytes()).map_err(BodyError::Malformed)?;
                let piece = Bytes::copy_from_slice(&self.input.bytes()[chunk.data.clone()]);
                let consumed = chunk.consumed;
                *done = chunk.done;
                self.input.consume(consumed);
                self.received += piece.len() as u64;
                if !piece.is_empty() {
                    return Ok(BodyAdvance::Piece(piece));
                }
                if *done {
                    return Ok(BodyAdvance::End);
                }
                if consumed == 0 || self.input.is_empty() {
                    return Ok(BodyAdvance::NeedInput);
                }
            },
        }
    }
}

impl Body for RequestBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match &self.source {
            RequestBodySource::Nothing => Poll::Ready(None),
            RequestBodySource::Socket(inner) => inner.poll(cx),
            RequestBodySource::Stream(feed) => feed.poll(cx),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        self.length()
    }
}
