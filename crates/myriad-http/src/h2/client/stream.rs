//! The streams that were opened (RFC 9113 §5.1).
//!
//! ```text
//!          open                 END_STREAM sent
//!   idle -------> open ---------------------------------> half-closed (local)
//!                  |  END_STREAM received                       | END_STREAM received
//!                  v                                            v
//!         half-closed (remote) ----- END_STREAM sent -------> closed
//! ```
//! `RST_STREAM`, sent or received, closes from everywhere. A stream here is open for this side as long as `sending` holds, and for the
//! origin as long as `receiving` does; closed streams are not kept.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::Method;

/// The last number that a client may give a stream (RFC 9113 §5.1.1).
const LAST: u32 = 0x7fff_ffff;

/// A stream that is open on at least one side.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) method: Method,
    /// Most bytes that the fields of one head may have.
    pub(super) most_head: usize,
    /// The end of the request has not been put into the output.
    pub(super) sending: bool,
    /// The origin has not ended its side.
    pub(super) receiving: bool,
    /// The head of the final answer has come.
    pub(super) answered: bool,
    /// Interim answers that have come.
    pub(super) interim: u32,
    /// Bytes of the body that the head announced and that have not come.
    pub(super) expected: Option<u64>,
    /// What may be sent, bytes; below zero after the origin has shrunk its windows.
    pub(super) send_window: i64,
    /// What the origin may still send, bytes.
    pub(super) receive_window: i64,
    /// What was read, and not yet given back to the window.
    pub(super) released: u32,
    pub(super) queue: VecDeque<Bytes>,
    /// The request ends behind what is queued.
    pub(super) ended: bool,
    /// When it had its last turn.
    pub(super) turn: u64,
    /// Bytes of the request that have been put into the output.
    pub(super) sent: u64,
}

impl Stream {
    /// Whether there is something that the stream's own window lets go.
    pub(super) fn is_sendable(&self) -> bool {
        self.sending && if self.queue.is_empty() { self.ended } else { self.send_window > 0 }
    }
}

/// The streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// In the order of their numbers.
    open: Vec<Stream>,
    /// How many were opened.
    opened: u32,
}

impl Streams {
    /// The number of the next stream; none once all are used up.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.is_exhausted() {
            return None;
        }
        self.opened += 1;
        Some(self.opened * 2 - 1)
    }

    /// Whether all numbers are used up.
    pub(super) fn is_exhausted(&self) -> bool {
        self.opened > LAST / 2
    }

    /// Whether the stream was never opened; the origin opens none, so all with even numbers are.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id != 0 && (id.is_multiple_of(2) || id / 2 >= self.opened)
    }

    pub(super) fn add(&mut self, stream: Stream) {
        self.open.push(stream);
    }

    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.open.get_mut(at)
    }

    pub(super) fn close(&mut self, id: u32) -> Option<Stream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        Some(self.open.remove(at))
    }

    pub(super) fn all(&self) -> &[Stream] {
        &self.open
    }

    pub(super) fn all_mut(&mut self) -> &mut [Stream] {
        &mut self.open
    }

    pub(super) fn rest(&mut self) {
        self.open.shrink_to_fit();
    }
}
