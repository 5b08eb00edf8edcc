//! Streams opened by the client (RFC 9113 §5.1).
//!
//! ```text
//!          open                 END_STREAM sent
//!   idle -------> open ---------------------------------> half-closed (local)
//!                  |  END_STREAM received                       | END_STREAM received
//!                  v                                            v
//!         half-closed (remote) ----- END_STREAM sent -------> closed
//! ```
//! `RST_STREAM`, sent or received, closes a stream in any state. A stream is open for this side while `sending` is
//! true, and for the origin while `receiving` is true; closed streams are not stored.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::Method;

/// Last stream identifier of a client (RFC 9113 §5.1.1).
const LAST: u32 = 0x7fff_ffff;

/// Stream that is open on at least one side.
#[derive(Debug)]
pub(super) struct ClientStream {
    pub(super) id: u32,
    pub(super) method: Method,
    /// Maximum size in bytes of the fields of a head.
    pub(super) most_head: usize,
    /// The request is not completely in the output.
    pub(super) sending: bool,
    /// The response is incomplete.
    pub(super) receiving: bool,
    /// The head of the final response has been received.
    pub(super) answered: bool,
    /// Number of received interim responses.
    pub(super) interim: u32,
    /// Number of missing bytes of the announced body length.
    pub(super) expected: Option<u64>,
    /// Number of bytes that may be sent; negative after the origin has reduced its windows.
    pub(super) send_window: i64,
    /// Number of bytes that the origin may still send.
    pub(super) receive_window: i64,
    /// Number of bytes that the consumer has read and that are not returned to the window yet.
    pub(super) released: u32,
    pub(super) queue: VecDeque<Bytes>,
    /// The request is complete after the queued data.
    pub(super) end_queued: bool,
    /// Time of the last turn, as a value of the frame counter.
    pub(super) turn: u64,
    /// Number of bytes of the request added to the output.
    pub(super) sent: u64,
}

impl ClientStream {
    /// Returns whether the window of the stream allows to send something.
    pub(super) fn is_sendable(&self) -> bool {
        self.sending && if self.queue.is_empty() { self.end_queued } else { self.send_window > 0 }
    }
}

/// Streams of a connection.
#[derive(Debug, Default)]
pub(super) struct ClientStreams {
    /// Open streams, sorted by identifier.
    open: Vec<ClientStream>,
    /// Number of streams opened so far.
    opened: u32,
}

impl ClientStreams {
    /// Returns the identifier of the next stream; `None` once all are used.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.is_exhausted() {
            return None;
        }
        self.opened += 1;
        Some(self.opened * 2 - 1)
    }

    /// Returns whether all identifiers are used.
    pub(super) fn is_exhausted(&self) -> bool {
        self.opened > LAST / 2
    }

    /// Returns whether the stream was never opened. Even identifiers are always idle, since the origin opens no
    /// streams.
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
