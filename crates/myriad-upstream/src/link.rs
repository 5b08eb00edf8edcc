//! Single exchange over a connection without multiplexing: sends and reads concurrently, and returns the connection to
//! its pool afterwards.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::fastcgi_protocol::FatalErrors;
use bytes::BytesMut;
use myriad_http::ResponseHead;

use crate::address::PeerAddress;
use crate::attempts::AttemptLog;
use crate::clock;
use crate::config::KeepAlive;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::peer::ActiveRequest;
use crate::pool::{HttpPool, Pooled};
use crate::request::UpstreamObserver;
use crate::response::{Upgraded, UpgradedStream};
use crate::stream::CountedStream;
use crate::timer::ProgressTimeout;
use crate::upload::{Upload, UploadError};

/// Capacity in bytes reserved for a read from an origin.
const READ_SIZE: usize = 32 * 1024;

thread_local! {
    /// Read buffer of the last finished exchange of this thread.
    ///
    /// The next exchange reuses its memory if no other reference to it exists: nothing is allocated, and the memory is
    /// still in the CPU cache. Otherwise a new buffer is allocated.
    static SPARE: RefCell<BytesMut> = RefCell::default();
}

/// Minimum free space in bytes of the buffer for a read from an origin; with less, it is extended or replaced.
const MIN_READ_SPACE: usize = 4 * 1024;

//   Going ──▶ Done
//     └─────▶ Broken     the peer no longer reads, but may have sent a response
#[derive(Debug)]
enum SendState {
    Going,
    Done,
    Broken(io::Error),
}

/// Pool to which a connection is returned after its exchange.
#[derive(Clone, Debug)]
pub(crate) enum ReturnPool {
    /// No pool: the connection is closed.
    NoPool,
    /// Pool of the peer for FastCGI, shared by all workers.
    FastCgi(KeepAlive),
    /// Pool of this worker for HTTP and memcached.
    Http(HttpPool, KeepAlive),
}

/// Connection to an origin with the state of its current request and response.
pub(crate) struct Link {
    pub(crate) pooled: Pooled<CountedStream>,
    pub(crate) upload: Upload,
    pub(crate) stall: ProgressTimeout,
    pub(crate) log: AttemptLog,
    pub(crate) active: Rc<ActiveRequest>,
    pub(crate) peer: PeerAddress,
    pub(crate) observer: Option<Rc<dyn UpstreamObserver>>,
    pub(crate) return_pool: ReturnPool,
    /// TLS identity of the connection ([`crate::OriginTls::identity`]); 0 without TLS.
    identity: u64,
    sending: SendState,
    received: u64,
    fatal_errors: FatalErrors,
    /// Bytes that were read from the origin but not decoded yet.
    pub(crate) input: BytesMut,
}

/// Parameters of a new [`Link`].
pub(crate) struct LinkParts {
    pub(crate) pooled: Pooled<CountedStream>,
    pub(crate) upload: Upload,
    pub(crate) read_timeout_ms: u64,
    pub(crate) log: AttemptLog,
    pub(crate) active: Rc<ActiveRequest>,
    pub(crate) peer: PeerAddress,
    pub(crate) observer: Option<Rc<dyn UpstreamObserver>>,
    pub(crate) return_pool: ReturnPool,
    pub(crate) identity: u64,
}

impl Link {
    /// Creates a link; boxed, because it is large and is moved often.
    pub(crate) fn new(parts: LinkParts) -> Box<Self> {
        Box::new(Self {
            pooled: parts.pooled,
            upload: parts.upload,
            stall: ProgressTimeout::new(parts.read_timeout_ms),
            log: parts.log,
            active: parts.active,
            peer: parts.peer,
            observer: parts.observer,
            return_pool: parts.return_pool,
            identity: parts.identity,
            sending: SendState::Going,
            received: 0,
            fatal_errors: FatalErrors::default(),
            input: BytesMut::new(),
        })
    }

    /// Continues to send the request, then reads more bytes into `input`. Returns the number of bytes; 0 at the end of
    /// the stream.
    ///
    /// A peer may respond and stop reading before it has read the whole request. Reading therefore does not wait for
    /// sending to complete, and as in nginx, the read timeout only runs once the request is sent.
    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        phase: Phase,
    ) -> Poll<Result<usize, OriginError>> {
        if let Err(error) = self.send(cx) {
            return Poll::Ready(Err(error));
        }
        match self.poll_read(cx) {
            Poll::Ready(Ok(read)) => {
                self.stall.record_progress();
                self.received += read as u64;
                self.log.received(read);
                Poll::Ready(Ok(read))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.read_failure(&error, phase))),
            Poll::Pending if matches!(self.sending, SendState::Going) => {
                self.stall.record_progress();
                Poll::Pending
            }
            Poll::Pending => self.stall.poll_expired(cx).map(|()| Err(OriginError::timeout(phase))),
        }
    }

    /// Reads the available bytes. A buffer is only allocated once the stream is readable, so that waiting requests need
    /// no buffer, and consecutive exchanges use the same memory while it is in the CPU cache.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let stream = &mut self.pooled.connection.stream;
        if self.input.capacity() - self.input.len() < MIN_READ_SPACE {
            ready!(stream.poll_readable(cx))?;
            if self.input.capacity() == 0 {
                self.input = SPARE.take();
            }
            self.input.reserve(READ_SIZE);
        }
        stream.poll_fill(cx, &mut self.input)
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), OriginError> {
        if !matches!(self.sending, SendState::Going) {
            return Ok(());
        }
        let log = &self.log;
        match self.upload.poll(cx, &mut self.pooled.connection.stream, |bytes| log.sent(bytes)) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.sending = SendState::Done,
            Poll::Ready(Err(UploadError::Write(error))) => self.sending = SendState::Broken(error),
            Poll::Ready(Err(UploadError::Timeout)) => return Err(OriginError::timeout(Phase::Sending)),
            Poll::Ready(Err(UploadError::Body(error))) => {
                let what = format!("request body failed ({error})");
                return Err(OriginError::new(ErrorKind::RequestBody(error), Phase::Sending, what));
            }
        }
        Ok(())
    }

    /// Returns the error for a failed read; if sending the request failed before, that error.
    fn read_failure(&self, error: &io::Error, phase: Phase) -> OriginError {
        match &self.sending {
            SendState::Broken(first) => OriginError::io("writev", first, Phase::Sending),
            _ => OriginError::io("recv", error, phase),
        }
    }

    /// Returns the error for a stream that was closed prematurely; if sending the request failed before, that error.
    /// While the request is still being sent, the phase is [`Phase::Sending`] if `phase` is [`Phase::ReadingHead`].
    pub(crate) fn closed(&self, phase: Phase) -> OriginError {
        match &self.sending {
            SendState::Broken(first) => OriginError::io("writev", first, Phase::Sending),
            SendState::Going if phase == Phase::ReadingHead => OriginError::closed(Phase::Sending),
            _ => OriginError::closed(phase),
        }
    }

    /// Returns whether a reused connection failed before any byte was received: the peer had probably closed it before
    /// the request arrived.
    pub(crate) fn is_stale(&self, error: &OriginError) -> bool {
        self.pooled.requests > 0
            && self.received == 0
            && matches!(error.kind(), ErrorKind::Closed | ErrorKind::Io)
    }

    /// Handles output of the application on stderr, received in `phase`: passes the text to the observer, and records a
    /// fatal error if the text contains a fatal error of PHP or a text of `fastcgi_catch_stderr`.
    pub(crate) fn stderr(&mut self, text: &[u8], phase: Phase) {
        if self.fatal_errors.push(text) || self.is_invalidated_by(text) {
            self.log.fatal();
        }
        if let Some(observer) = &self.observer {
            observer.stderr(&self.peer, text, phase);
        }
    }

    /// Returns whether the text on stderr makes the response invalid (`fastcgi_catch_stderr`).
    pub(crate) fn is_invalidated_by(&self, text: &[u8]) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.invalidates(text))
    }

    /// Passes a warning about the response to the observer.
    pub(crate) fn warn(&self, text: &str) {
        if let Some(observer) = &self.observer {
            observer.warning(&self.peer, text);
        }
    }

    /// Passes an interim response to the observer, except 100, which Myriad does not request.
    pub(crate) fn interim(&self, head: &ResponseHead) {
        if let Some(observer) = self.observer.as_ref().filter(|_| head.status != 100) {
            observer.interim(head);
        }
    }

    /// Handles the completion of the response: returns the connection to its pool if it can be reused, otherwise closes
    /// it.
    pub(crate) fn release(self: Box<Self>) {
        let Self { mut pooled, active, return_pool: home, identity, sending, input, .. } = *self;
        pooled.requests += 1;
        let now = clock::now();
        let is_clean = input.is_empty();
        let may_serve =
            |keep: &KeepAlive| matches!(sending, SendState::Done) && is_clean && pooled.may_serve(keep, now);
        let peer = &active.0;
        if is_clean {
            SPARE.set(input);
        }
        match home {
            ReturnPool::Http(pool, keep) if may_serve(&keep) => {
                pool.idle.put((peer.id, identity), pooled, (keep.http, keep.timeout_ms), &peer.idle);
                pool.connections.idle();
            }
            ReturnPool::FastCgi(keep) if may_serve(&keep) => {
                let Pooled { connection, requests, created_at: made } = pooled;
                if let Ok(connection) = connection.stream.park() {
                    let pooled = Pooled { connection, requests, created_at: made };
                    let idle_ms = keep.timeout_ms.min(keep.fastcgi_timeout_ms);
                    peer.fastcgi.put((peer.id, 0), pooled, (keep.connections, idle_ms), &peer.idle);
                }
            }
            _ => {}
        }
    }

    /// Returns the connection for another protocol. The peer counts it as an active request until it is closed.
    pub(crate) fn into_upgraded(self: Box<Self>) -> Upgraded {
        let Self { pooled, active, input, .. } = *self;
        Upgraded { leftover: input.freeze(), stream: UpgradedStream::new(pooled.connection, active) }
    }
}
