//! HTTP/2 streams of a server (RFC 9113 §5.1).
//!
//! ```text
//!            HEADERS               END_STREAM received
//!   idle ------------> open -----------------------------> half-closed (remote)
//!                       |  END_STREAM sent                       | END_STREAM sent
//!                       v                                        v
//!               half-closed (local) -- END_STREAM received --> closed
//! ```
//! `RST_STREAM`, sent or received, closes a stream in any state. The client may send while `receiving` is true, and the
//! server until its response is complete. Idle and closed streams are not stored, except for the reason why the last
//! streams were closed.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::Priority;
use crate::Fields;

/// Number of recently closed streams for which the reason of closing is stored.
const REMEMBERED: usize = 64;

/// Open stream of a server: its request or its response is not complete.
#[derive(Debug)]
pub(super) struct ServerStream {
    pub(super) id: u32,
    /// True while the request has not arrived completely.
    pub(super) receiving: bool,
    /// True if the head of the final response has been sent.
    pub(super) answered: bool,
    /// True if the request was malformed or the caller rejected it, so that `RST_STREAM` follows the response.
    pub(super) malformed: bool,
    pub(super) priority: Priority,
    /// True if the response was complete before the request, and the client may still send at least as many bytes as
    /// the initial window (usually because no body data had arrived); the rest of the request is still received.
    pub(super) lingering: bool,
    /// True if the stream was lingering at the last [`super::Http2Server::await_lingering`].
    pub(super) awaited: bool,
    /// Value of the connection's frame counter when the response last sent data; incremental responses take turns by
    /// it.
    pub(super) turn: u64,
    /// Number of bytes of the response that the client still accepts on the stream; may be negative after the client
    /// has reduced the initial window.
    pub(super) send_window: i64,
    /// Number of bytes that the client may still send on the stream.
    pub(super) receive_window: i64,
    /// Number of bytes that the consumer has read, but for which no WINDOW_UPDATE was sent yet.
    pub(super) released: u32,
    /// Number of missing bytes of the request body; `None` if `Content-Length` did not announce it or the request is
    /// malformed.
    pub(super) expected: Option<u64>,
    pub(super) queue: VecDeque<Bytes>,
    /// True if the queued data (and the trailers, if any) complete the response.
    pub(super) end_queued: bool,
    /// Trailer fields of the response, sent after the queued data; `None` if there are none.
    pub(super) trailers: Option<Box<Fields>>,
    /// Maximum number of bytes of data in a DATA frame of the response.
    pub(super) chunk: usize,
    /// Number of bytes of the response added to the output.
    pub(super) sent: ResponseBytes,
    /// True if the stream was added to the finished streams ([`ServerStreams::over`]), even if `take_finished` has
    /// returned it since.
    pub(super) is_reported: bool,
}

/// Sizes of the parts of a response, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseBytes {
    /// Size of the header blocks including their frame headers: interim responses, head and trailers.
    pub head: u64,
    /// Size of the body without frame headers.
    pub body: u64,
    /// Size of the frame headers of the body.
    pub framing: u64,
}

/// Stream that is finished: its response is complete, or it was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedStream {
    /// Identifier of the stream.
    pub stream: u32,
    /// Number of bytes of the response that were added to the output.
    pub sent: ResponseBytes,
    /// True if the response is completely in the output.
    pub complete: bool,
    /// True if the client reset the stream, or its connection was closed.
    pub by_client: bool,
}

impl ServerStream {
    /// Returns whether the stream has something to send and its own window permits it; the connection window is not
    /// considered.
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
    /// The server reset the stream, so frames that were in flight are not errors.
    ByServer,
}

/// Streams of a connection.
#[derive(Debug, Default)]
pub(super) struct ServerStreams {
    /// Open streams, in ascending order of their identifiers.
    open: Vec<ServerStream>,
    closed: VecDeque<(u32, CloseCause)>,
    /// Highest stream identifier that the client has used.
    pub(super) last: u32,
    /// Priorities set by `PRIORITY_UPDATE` for streams that are not opened yet.
    pub(super) priorities: Vec<(u32, Priority)>,
    /// Finished streams that [`super::Http2Server::take_finished`] has not returned yet.
    pub(super) over: VecDeque<FinishedStream>,
}

impl ServerStreams {
    /// Frees unused capacity of the lists.
    pub(super) fn free_idle_memory(&mut self) {
        self.open.shrink_to_fit();
        self.over.shrink_to_fit();
        self.priorities.shrink_to_fit();
    }

    /// Returns the number of open streams.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of open streams whose response is not complete.
    pub(super) fn busy(&self) -> usize {
        self.open.iter().filter(|stream| !stream.lingering).count()
    }

    /// Returns the streams with a complete response and an incomplete request.
    pub(super) fn lingering(&mut self) -> impl Iterator<Item = &mut ServerStream> {
        self.open.iter_mut().filter(|stream| stream.lingering)
    }

    /// Returns a lingering stream (complete response, incomplete request) that `await_lingering` has marked; `None` if
    /// there is none.
    pub(super) fn awaited(&self) -> Option<u32> {
        self.open.iter().find(|stream| stream.lingering && stream.awaited).map(|stream| stream.id)
    }

    /// Returns whether any stream has a complete response and an incomplete request.
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

    /// Returns the reason why a stream was closed; `None` if it is not among the last [`REMEMBERED`] closed streams.
    pub(super) fn closed(&self, id: u32) -> Option<CloseCause> {
        self.closed.iter().rev().find(|(known, _)| *known == id).map(|(_, how)| *how)
    }

    /// Returns true if the stream is idle: its identifier is above all that the client has used (opening a stream
    /// closes the lower ones), or even, because the server opens no streams.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id > self.last || id.is_multiple_of(2)
    }

    /// Adds a stream; its identifier must be above all others.
    pub(super) fn add(&mut self, stream: ServerStream) {
        self.open.push(stream);
    }

    /// Stores the reason why a stream is closed, for a stream that is not open.
    pub(super) fn record_closed(&mut self, id: u32, how: CloseCause) {
        if self.closed.len() == REMEMBERED {
            self.closed.pop_front();
        }
        self.closed.push_back((id, how));
    }

    /// Removes a stream, and reports it as finished unless it was reported before; `None` if it is not open.
    pub(super) fn close(&mut self, id: u32, how: CloseCause) -> Option<ServerStream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.record_closed(id, how);
        let mut stream = self.open.remove(at);
        stream.report_finished(&mut self.over, false, how == CloseCause::ByClient);
        Some(stream)
    }

    /// Adds the stream to the finished ones, unless it is already reported, because its response is completely in the
    /// output.
    pub(super) fn record_response_sent(&mut self, id: u32) {
        if let Ok(at) = self.open.binary_search_by_key(&id, |stream| stream.id)
            && let Some(stream) = self.open.get_mut(at)
        {
            stream.report_finished(&mut self.over, true, false);
        }
    }
}
