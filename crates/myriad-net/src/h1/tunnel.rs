//! Relay of bytes after a connection has switched to another protocol (101, RFC 9110 section 7.8) or after a successful
//! CONNECT (RFC 9110 section 9.3.6).

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::ReadBuf;

use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::response::{Duplex, Tunnel};

/// Maximum number of bytes that a tunnel (such as a WebSocket) reads at once in each direction.
const BUFFER: usize = 16 * 1024;

thread_local! {
    /// Deadlines of the open tunnels (such as WebSockets) and `stream` sessions of this worker, set by
    /// [`close_tunnels`].
    static ENDS: RefCell<Vec<Weak<Deadline>>> = const { RefCell::new(Vec::new()) };
}

/// Closes the open tunnels (such as WebSockets) and `stream` sessions of this worker after `after_ms` milliseconds.
pub fn close_tunnels(after_ms: u64) {
    ENDS.with_borrow(|ends| {
        for end in ends.iter().filter_map(Weak::upgrade) {
            end.set(after_ms.max(1));
        }
    });
}

/// Creates the deadline of a new tunnel or `stream` session; [`close_tunnels`] sets it.
pub(crate) fn tunnel_deadline() -> Rc<Deadline> {
    let end = Rc::new(Deadline::new());
    ENDS.with_borrow_mut(|ends| {
        // Removed only when the vector is full, so that a new tunnel rarely scans all others.
        if ends.len() == ends.capacity() {
            ends.retain(|end| end.strong_count() > 0);
        }
        ends.push(Rc::downgrade(&end));
    });
    end
}

//   Open ──▶ Ended     no more bytes arrive from this side; bytes already received are still relayed
#[derive(Clone, Copy, PartialEq, Eq)]
enum TunnelSide {
    Open,
    Ended,
}

/// Bytes in transit through a tunnel, and the state of client and origin.
struct TunnelRelay {
    stream: Pin<Box<dyn Duplex>>,
    /// Bytes read from the client and not yet written to the origin.
    up: BytesMut,
    /// Bytes read from the origin and not yet written to the client.
    down: BytesMut,
    client: TunnelSide,
    origin: TunnelSide,
    /// Total number of bytes written to the client through the tunnel.
    delivered: u64,
}

/// Relays bytes until one side closes, a timeout expires, or [`close_tunnels`] closes the tunnel. Returns the number of
/// bytes sent to the client.
///
/// `early` contains bytes that the client sent after its request. `tunnel.read_ms` limits the silence of both sides. If
/// the client accepts no bytes, `client_send_ms` applies; if the origin accepts none, `tunnel.send_ms`.
pub(super) async fn run(connection: &Connection, tunnel: Tunnel, early: &[u8], client_send_ms: u64) -> u64 {
    let Tunnel { stream, leftover, read_ms, send_ms } = tunnel;
    let (up, down) = (BytesMut::from(early), BytesMut::from(&leftover[..]));
    let mut passing =
        TunnelRelay { stream, up, down, client: TunnelSide::Open, origin: TunnelSide::Open, delivered: 0 };
    let (silence, origin_stuck, end) = (Deadline::new(), Deadline::new(), tunnel_deadline());
    connection.deadline.clear();
    silence.set(read_ms);
    let mut stuck = (false, false);
    poll_fn(|cx| {
        loop {
            match passing.step(connection, cx) {
                Poll::Ready(TunnelStep::Over) => return Poll::Ready(()),
                Poll::Ready(TunnelStep::Moved) => {
                    silence.set(read_ms);
                    stuck = (false, false);
                }
                Poll::Pending => break,
            }
        }
        run_deadline(&connection.deadline, !passing.down.is_empty(), &mut stuck.0, client_send_ms);
        run_deadline(&origin_stuck, !passing.up.is_empty(), &mut stuck.1, send_ms);
        let deadlines = [&silence, &origin_stuck, &*end, &connection.deadline];
        // All are polled, so that each wakes this task.
        let expired = deadlines.map(|deadline| deadline.poll_expired(cx).is_ready());
        if expired.contains(&true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    connection.deadline.clear();
    passing.delivered
}

/// Sets the deadline when bytes start to wait for a side that accepts none, and clears it when no bytes wait. `runs`
/// stores whether it is set.
fn run_deadline(deadline: &Deadline, waits: bool, runs: &mut bool, ms: u64) {
    if !waits {
        deadline.clear();
        *runs = false;
    } else if !std::mem::replace(runs, true) {
        deadline.set(ms);
    }
}

enum TunnelStep {
    Moved,
    Over,
}

impl TunnelRelay {
    /// Transfers the available bytes in both directions; pending if there are none.
    fn step(&mut self, connection: &Connection, cx: &mut Context<'_>) -> Poll<TunnelStep> {
        let read = [self.read_origin(cx), self.read_client(connection, cx)];
        let written = [self.write_client(connection, cx), self.write_origin(cx)];
        let is_over = written.contains(&Err(()))
            || self.origin == TunnelSide::Ended && self.down.is_empty()
            || self.client == TunnelSide::Ended && self.up.is_empty()
            || self.client == TunnelSide::Ended && self.origin == TunnelSide::Ended;
        if is_over {
            Poll::Ready(TunnelStep::Over)
        } else if read.contains(&true) || written.contains(&Ok(true)) {
            Poll::Ready(TunnelStep::Moved)
        } else {
            Poll::Pending
        }
    }

    fn read_origin(&mut self, cx: &mut Context<'_>) -> bool {
        if self.origin == TunnelSide::Ended || !self.down.is_empty() {
            return false;
        }
        self.down.resize(BUFFER, 0);
        let mut room = ReadBuf::new(&mut self.down);
        let polled = self.stream.as_mut().poll_read(cx, &mut room);
        let count = room.filled().len();
        self.down.truncate(count);
        match polled {
            Poll::Pending => false,
            Poll::Ready(Ok(())) if count > 0 => true,
            Poll::Ready(_) => {
                self.origin = TunnelSide::Ended;
                false
            }
        }
    }

    fn read_client(&mut self, connection: &Connection, cx: &mut Context<'_>) -> bool {
        if self.client == TunnelSide::Ended || !self.up.is_empty() {
            return false;
        }
        self.up.resize(BUFFER, 0);
        let polled = connection.socket.poll_read(cx, &mut self.up);
        let count = if let Poll::Ready(Ok(count)) = &polled { *count } else { 0 };
        self.up.truncate(count);
        if polled.is_ready() && count == 0 {
            self.client = TunnelSide::Ended;
        }
        count > 0
    }

    /// Writes bytes to the client. Returns true if any were written, `Err` if the connection is broken.
    fn write_client(&mut self, connection: &Connection, cx: &mut Context<'_>) -> Result<bool, ()> {
        if self.down.is_empty() {
            return Ok(false);
        }
        match connection.socket.poll_write(cx, &[IoSlice::new(&self.down)]) {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(count)) => {
                self.down.advance(count);
                self.delivered += count as u64;
                Ok(true)
            }
            Poll::Ready(Err(_)) => Err(()),
        }
    }

    fn write_origin(&mut self, cx: &mut Context<'_>) -> Result<bool, ()> {
        if self.up.is_empty() {
            return Ok(false);
        }
        match self.stream.as_mut().poll_write(cx, &self.up) {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0) | Err(_)) => Err(()),
            Poll::Ready(Ok(count)) => {
                self.up.advance(count);
                Ok(true)
            }
        }
    }
}
