//! Streams (RFC 9113 §5.1).
//!
//! ```text
//!            HEADERS               END_STREAM received
//!   idle ------------> open -----------------------------> half-closed (remote)
//!                       |  END_STREAM sent                       | END_STREAM sent
//!                       v                                        v
//!               half-closed (local) -- END_STREAM received --> closed
//! ```
//! `RST_STREAM`, sent or received, closes a stream in any state. A stream is open for the client while `receiving` is
//! true, and for the server until its response is complete. Idle and closed streams are not stored, except for the
//! reason why the last streams were closed.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::Priority;
use crate::Fields;

/// Number of remembered closed streams.
const REMEMBERED: usize = 64;

/// Stream that is open on at least one side.
#[derive(Debug)]
pub(super) struct ServerStream {
    pub(super) id: u32,
    /// The request is incomplete.
    pub(super) receiving: bool,
    /// The head of the final response has been sent.
    pub(super) answered: bool,
    /// `RST_STREAM` follows the response because the request was malformed.
    pub(super) malformed: bool,
    pub(super) priority: Priority,
    /// The response is complete, but the client has not sent any of the announced request body.
    pub(super) lingering: bool,
    /// The stream was lingering at the last [`super::Http2Server::await_lingering`].
    pub(super) awaited: bool,
    /// Time of the last turn of an incremental response, as a value of the frame counter.
    pub(super) turn: u64,
    /// Number of bytes that may be sent; negative after the client has reduced its windows.
    pub(super) send_window: i64,
    /// Number of bytes that the client may still send.
    pub(super) receive_window: i64,
    /// Number of bytes that the consumer has read and that are not returned to the window yet.
    pub(super) released: u32,
    /// Number of missing bytes of the announced body length.
    pub(super) expected: Option<u64>,
    pub(super) queue: VecDeque<Bytes>,
    /// The response is complete after the queued data.
    pub(super) end_queued: bool,
    /// Trailer fields.
    pub(super) trailers: Option<Box<Fields>>,
    /// Maximum number of bytes of the body in a frame.
    pub(super) chunk: usize,
    /// Bytes added to the output.
    pub(super) sent: ResponseBytes,
    /// The stream has been reported as finished.
    pub(super) is_reported: bool,
}

/// Number of bytes of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseBytes {
    /// Header blocks with their frame headers, including interim responses and trailers.
    pub head: u64,
    /// Body.
    pub body: u64,
    /// Frame headers of the body.
    pub framing: u64,
}

/// Finished response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedStream {
    /// Stream of the response.
    pub stream: u32,
    /// Bytes added to the output for it.
    pub sent: ResponseBytes,
    /// True if the response is complete.
    pub complete: bool,
    /// True if the client has reset the stream.
    pub by_client: bool,
}

impl ServerStream {
    /// Returns whether the window of the stream allows to send something.
    pub(super) fn is_sendable(&self) -> bool {
        self.answered
            && !self.lingering
            && if self.queue.is_empty() { self.end_queued } else { self.send_window > 0 }
    }

    fn report_finished(&mut self, over: &mut VecDeque<FinishedStream>, complete: bool, by_client: bool) {
        if !std::mem::replace(&mut self.is_reported, true) {
            over.push_back(FinishedStream { stream: self.id, sent: self.sent, complete, by_client });
        }
    }
}

/// Reason why a stream was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseCause {
    /// Both sides completed the stream.
    Ended,
    /// The client reset the stream.
    ByClient,
    /// The server reset the stream: frames in flight are not errors.
    ByServer,
}

/// Streams of a connection.
#[derive(Debug, Default)]
pub(super) struct ServerStreams {
    /// Open streams, sorted by identifier.
    open: Vec<ServerStream>,
    closed: VecDeque<(u32, CloseCause)>,
    /// Highest identifier used by the client.
    pub(super) last: u32,
    /// Priorities from `PRIORITY_UPDATE` frames for streams not opened yet.
    pub(super) priorities: Vec<(u32, Priority)>,
    /// Finished streams that are not reported yet.
    pub(super) over: VecDeque<FinishedStream>,
}

impl ServerStreams {
    /// Frees the memory of closed streams.
    pub(super) fn free_idle_memory(&mut self) {
        self.open.shrink_to_fit();
        self.over.shrink_to_fit();
        self.priorities.shrink_to_fit();
    }

    /// Returns the number of streams that are open on either side.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of streams without a complete response.
    pub(super) fn busy(&self) -> usize {
        self.open.iter().filter(|stream| !stream.lingering).count()
    }

    /// Returns the streams with a complete response and an incomplete request.
    pub(super) fn lingering(&mut self) -> impl Iterator<Item = &mut ServerStream> {
        self.open.iter_mut().filter(|stream| stream.lingering)
    }

    /// Returns a lingering stream that was marked by `await_lingering`.
    pub(super) fn awaited(&self) -> Option<u32> {
        self.open.iter().find(|stream| stream.lingering && stream.awaited).map(|stream| stream.id)
    }

    /// Returns whether any stream is lingering.
    pub(super) fn is_lingering(&self) -> bool {
        self.open.iter().any(|stream| stream.lingering)
    }

    pub(super) fn get(&mut self, id: u32) -> Option<&mut ServerStream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.open.get_mut(at)
    }

    /// Returns all open streams.
    pub(super) fn all(&mut self) -> &mut [ServerStream] {
        &mut self.open
    }

    /// Returns the reason why a stream was closed; `None` if it is open, idle, unused, or was closed long ago.
    pub(super) fn closed(&self, id: u32) -> Option<CloseCause> {
        self.closed.iter().rev().find(|(known, _)| *known == id).map(|(_, how)| *how)
    }

    /// Returns whether the stream is idle: the client has not opened it, and the server opens no streams.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id > self.last || id.is_multiple_of(2)
    }

    /// Adds a stream; its identifier must be above all others.
    pub(super) fn add(&mut self, stream: ServerStream) {
        self.open.push(stream);
    }

    /// Records a stream as closed although it was never open.
    pub(super) fn record_closed(&mut self, id: u32, how: CloseCause) {
        if self.closed.len() == REMEMBERED {
            self.closed.pop_front();
        }
        self.closed.push_back((id, how));
    }

    /// Removes a stream.
    pub(super) fn close(&mut self, id: u32, how: CloseCause) -> Option<ServerStream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.record_closed(id, how);
        let mut stream = self.open.remove(at);
        stream.report_finished(&mut self.over, false, how == CloseCause::ByClient);
        Some(stream)
    }

    /// Records that a response is completely in the output.
    pub(super) fn record_response_sent(&mut self, id: u32) {
        if let Ok(at) = self.open.binary_search_by_key(&id, |stream| stream.id)
            && let Some(stream) = self.open.get_mut(at)
        {
            stream.report_finished(&mut self.over, true, false);
        }
    }
}
