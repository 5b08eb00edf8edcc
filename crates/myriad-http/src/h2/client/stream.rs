//! HTTP/2 streams opened by the client (RFC 9113 §5.1).
//!
//! ```text
//!          open                 END_STREAM sent
//!   idle -------> open ---------------------------------> half-closed (local)
//!                  |  END_STREAM received                       | END_STREAM received
//!                  v                                            v
//!         half-closed (remote) ----- END_STREAM sent -------> closed
//! ```
//! `RST_STREAM`, sent or received, closes a stream in any state. The client may send while `sending` is true, and the
//! origin while `receiving` is true. Closed streams are not stored.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::Method;

/// Highest stream identifier that a client may use (RFC 9113 §5.1.1).
const LAST: u32 = 0x7fff_ffff;

/// Open stream of a client: its request is not sent completely, or its response is not complete.
#[derive(Debug)]
pub(super) struct ClientStream {
    pub(super) id: u32,
    pub(super) method: Method,
    /// Maximum size in bytes of the fields of the response head, and of the trailers.
    pub(super) most_head: usize,
    /// True if the request is not yet completely in the output.
    pub(super) sending: bool,
    /// True if the response is incomplete.
    pub(super) receiving: bool,
    /// True if the head of the final response has been received.
    pub(super) answered: bool,
    /// Number of interim responses (1xx) received for the request.
    pub(super) interim: u32,
    /// Number of missing bytes of the response body; `None` before the head, or if `Content-Length` did not announce
    /// it.
    pub(super) expected: Option<u64>,
    /// Number of bytes of the request that the origin still accepts on the stream; may be negative after the origin has
    /// reduced the initial window.
    pub(super) send_window: i64,
    /// Number of bytes that the origin may still send on the stream.
    pub(super) receive_window: i64,
    /// Number of bytes that the consumer has read, but for which no WINDOW_UPDATE was sent yet.
    pub(super) released: u32,
    pub(super) queue: VecDeque<Bytes>,
    /// True if the queued data is the last of the request body.
    pub(super) end_queued: bool,
    /// Value of the connection's frame counter when the stream last sent data; streams take turns by it.
    pub(super) turn: u64,
    /// Number of bytes of the request added to the output.
    pub(super) sent: u64,
}

impl ClientStream {
    /// Returns whether the stream has a frame to send and its own window permits it; the connection window is not
    /// considered.
    pub(super) fn is_sendable(&self) -> bool {
        self.sending && if self.queue.is_empty() { self.end_queued } else { self.send_window > 0 }
    }
}

/// Open streams of a connection.
#[derive(Debug, Default)]
pub(super) struct ClientStreams {
    /// Open streams, in ascending order of their identifiers.
    open: Vec<ClientStream>,
    /// Number of streams opened so far.
    opened: u32,
}

impl ClientStreams {
    /// Returns the identifier of the next stream to open; `None` if all are used.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.is_exhausted() {
            return None;
        }
        self.opened += 1;
        Some(self.opened * 2 - 1)
    }

    /// Returns whether all stream identifiers of the connection are used.
    pub(super) fn is_exhausted(&self) -> bool {
        self.opened > LAST / 2
    }

    /// Returns whether the stream was never opened. Stream 0, the connection, is never idle; other even identifiers
    /// always are, because the origin opens no streams.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id != 0 && (id.is_multiple_of(2) || id / 2 >= self.opened)
    }

    pub(super) fn add(&mut self, stream: ClientStream) {
        self.open.push(stream);
    }

    pub(super) fn get(&mut self, id: u32) -> Option<&mut ClientStream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.open.get_mut(at)
    }

    pub(super) fn close(&mut self, id: u32) -> Option<ClientStream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        Some(self.open.remove(at))
    }

    pub(super) fn all(&self) -> &[ClientStream] {
        &self.open
    }

    pub(super) fn all_mut(&mut self) -> &mut [ClientStream] {
        &mut self.open
    }

    pub(super) fn free_idle_memory(&mut self) {
        self.open.shrink_to_fit();
    }
}
