//! Relay of a TCP connection in both directions, until a side closes (with `proxy_half_close`, both sides), a side
//! fails, a timeout expires, or the worker closes the connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use myriad_net::RawClient;
use myriad_net::deadline::Deadline;
use myriad_upstream::{DialedConnection, PeerStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::stream::direction_rate::DirectionRate;
use crate::stream::session::StreamSession;

/// Settings of the relay between client and peer.
pub(crate) struct RelaySettings {
    /// Maximum time without any transferred byte, in milliseconds (`proxy_timeout`).
    pub silence_ms: u64,
    /// Maximum number of buffered bytes per direction (`proxy_buffer_size`).
    pub buffer: usize,
    /// True if one direction may continue after the source of the opposite direction has closed (`proxy_half_close`).
    pub half_close: bool,
    pub upload: DirectionRate,
    pub download: DirectionRate,
}

/// Reason why the relay between client and peer has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// The client has closed the connection or failed; with `proxy_half_close` also if both sides have closed.
    Client,
    /// The peer has closed the connection or failed.
    Peer,
    /// No byte was transferred within `proxy_timeout`.
    Silence,
    /// The worker closes the connection, after a reload or for shutdown.
    Worker,
}

//   Open ──▶ Ended ──▶ Notified     no more bytes from this side; the other side was notified (`proxy_half_close`)
#[derive(Clone, Copy, PartialEq, Eq)]
enum SideState {
    Open,
    Ended,
    Notified,
}

/// One direction of a relay, with the bytes that are read but not written.
struct RelayDirection {
    waiting: BytesMut,
    from: SideState,
    /// Total number of bytes read in this direction.
    read: u64,
    pace: DirectionRate,
    /// Deadline that wakes the task when the rate limit allows more bytes.
    pause: Deadline,
}

impl RelayDirection {
    fn new(pace: DirectionRate) -> Self {
        Self { waiting: BytesMut::new(), from: SideState::Open, read: 0, pace, pause: Deadline::new() }
    }

    /// Reads once from the source if the buffer is empty and the rate limit allows it. Returns the number of bytes, 0
    /// if the source has just closed or failed; `None` if nothing was read, or the source had closed before.
    fn fill(&mut self, cx: &mut Context<'_>, room: usize, source: Pin<&mut impl AsyncRead>) -> Option<usize> {
        if self.from != SideState::Open || !self.waiting.is_empty() {
            return None;
        }
        let allowed = match self.pace.allowance(self.read) {
            Ok(allowed) => allowed,
            Err(wait_ms) => {
                self.pause.set(wait_ms);
                // Registers the task; the deadline was just set.
                let _ = self.pause.poll_expired(cx);
                return None;
            }
        };
        self.waiting.resize(room.min(allowed), 0);
        let mut buffer = ReadBuf::new(&mut self.waiting);
        let polled = source.poll_read(cx, &mut buffer);
        let count = buffer.filled().len();
        self.waiting.truncate(count);
        match polled {
            Poll::Pending => None,
            Poll::Ready(Ok(())) if count > 0 => {
                self.read += count as u64;
                Some(count)
            }
            Poll::Ready(_) => {
                self.from = SideState::Ended;
                Some(0)
            }
        }
    }

    /// Writes the buffered bytes once to the sink. Returns the number of bytes written, which may be a part of them;
    /// `None` if no bytes are buffered or the sink accepts none now. Fails if the sink has failed.
    fn drain(&mut self, cx: &mut Context<'_>, sink: Pin<&mut impl AsyncWrite>) -> io::Result<Option<usize>> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        match sink.poll_write(cx, &self.waiting) {
            Poll::Pending => Ok(None),
            Poll::Ready(Ok(0)) => Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(count)) => {
                self.waiting.advance(count);
                Ok(Some(count))
            }
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Returns true if the source of this direction has closed or failed and all its bytes are written.
    fn is_done(&self) -> bool {
        self.from != SideState::Open && self.waiting.is_empty()
    }
}

struct TcpRelay<'a> {
    session: &'a StreamSession,
    client: &'a mut RawClient,
    peer: &'a mut DialedConnection<PeerStream>,
    terms: &'a RelaySettings,
    up: RelayDirection,
    down: RelayDirection,
}

/// Relays bytes between client and peer until the relay must stop. Returns the reason.
pub(crate) async fn relay_tcp(
    session: &StreamSession,
    client: &mut RawClient,
    peer: &mut DialedConnection<PeerStream>,
    terms: &RelaySettings,
) -> RelayEnd {
    let (up, down) = (RelayDirection::new(terms.upload), RelayDirection::new(terms.download));
    let mut relay = TcpRelay { session, client, peer, terms, up, down };
    let silence = Deadline::new();
    silence.set(terms.silence_ms);
    poll_fn(|cx| {
        loop {
            match relay.step(cx) {
                Poll::Ready(Some(end)) => return Poll::Ready(end),
                Poll::Ready(None) => {
                    silence.set(terms.silence_ms);
                }
                Poll::Pending => break,
            }
        }
        // Both are polled, so that each can wake this task.
        let worker_stops = relay.client.poll_must_close(cx).is_ready();
        match silence.poll_expired(cx) {
            _ if worker_stops => Poll::Ready(RelayEnd::Worker),
            Poll::Ready(()) => Poll::Ready(RelayEnd::Silence),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

impl TcpRelay<'_> {
    /// Transfers the available bytes once. Returns ready with the reason if the relay must stop, ready with `None` if
    /// bytes were transferred or a side has closed, otherwise pending.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Option<RelayEnd>> {
        let session = self.session;
        let room = self.terms.buffer;
        let came_up = self.up.fill(cx, room, Pin::new(&mut *self.client));
        let came_down = self.down.fill(cx, room, Pin::new(&mut self.peer.link));
        if let Some(count) = came_up {
            session.received.set(session.received.get() + count as u64);
        }
        if let Some(count @ 1..) = came_down {
            self.peer.received(count);
        }
        let Ok(went_up) = self.up.drain(cx, Pin::new(&mut self.peer.link)) else {
            return Poll::Ready(Some(RelayEnd::Peer));
        };
        let Ok(went_down) = self.down.drain(cx, Pin::new(&mut *self.client)) else {
            return Poll::Ready(Some(RelayEnd::Client));
        };
        if let Some(count) = went_up {
            self.peer.sent(count);
        }
        if let Some(count) = went_down {
            session.sent.set(session.sent.get() + count as u64);
        }
        if let Some(end) = self.end(cx) {
            return Poll::Ready(Some(end));
        }
        let moved = [came_up, came_down, went_up, went_down].iter().any(Option::is_some);
        // TLS buffers written bytes until it is flushed.
        let _ = Pin::new(&mut self.peer.link).poll_flush(cx);
        if moved { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Returns the reason if the relay must stop. Otherwise (only with `proxy_half_close`) shuts down writing to a side
    /// once the other side has closed and its bytes are written.
    fn end(&mut self, cx: &mut Context<'_>) -> Option<RelayEnd> {
        let (up, down) = (self.up.is_done(), self.down.is_done());
        if up && down || !self.terms.half_close && (up || down) {
            return Some(if up { RelayEnd::Client } else { RelayEnd::Peer });
        }
        if up && self.up.from == SideState::Ended {
            let shutdown = Pin::new(&mut self.peer.link).poll_shutdown(cx);
            if shutdown.is_ready() {
                self.up.from = SideState::Notified;
            }
        }
        if down && self.down.from == SideState::Ended {
            self.client.shutdown_write();
            self.down.from = SideState::Notified;
        }
        None
    }
}
