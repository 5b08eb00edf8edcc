//! Streams (RFC 9113 §5.1).
//!
//! ```text
//!            HEADERS               END_STREAM received
//!   idle ------------> open -----------------------------> half-closed (remote)
//!                       |  END_STREAM sent                       | END_STREAM sent
//!                       v                                        v
//!               half-closed (local) -- END_STREAM received --> closed
//! ```
//! `RST_STREAM`, sent or received, closes from everywhere. A stream here is open for the client as long as `receiving`
//! holds, and for the server until `sent`; idle and closed streams are not kept, but for how the last ones closed.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::Priority;
use crate::Fields;

/// How many closed streams are remembered.
const REMEMBERED: usize = 64;

/// A stream that is open on at least one side.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    /// The client has not ended its side.
    pub(super) receiving: bool,
    /// The head of the answer has been written.
    pub(super) answered: bool,
    /// `RST_STREAM` follows the answer, as the request was malformed.
    pub(super) malformed: bool,
    pub(super) priority: Priority,
    /// Answered to the end while the client has not begun to send a body that it announced.
    pub(super) lingering: bool,
    /// Its end has been waited for since the last [`super::Connection::await_lingering`].
    pub(super) awaited: bool,
    /// When an incremental answer had its last turn.
    pub(super) turn: u64,
    /// What may be sent, bytes; below zero after the client has shrunk its windows.
    pub(super) send_window: i64,
    /// What the client may still send, bytes.
    pub(super) receive_window: i64,
    /// What was read, and not yet given back to the window.
    pub(super) released: u32,
    /// Bytes of the body that the fields announced and that have not come.
    pub(super) expected: Option<u64>,
    pub(super) queue: VecDeque<Bytes>,
    /// The answer ends behind what is queued.
    pub(super) ended: bool,
    /// The fields behind the body.
    pub(super) trailers: Option<Box<Fields>>,
    /// Most bytes of the body in one frame.
    pub(super) chunk: usize,
    /// What has been put into the output.
    pub(super) sent: Volume,
    /// Whether it was told that the stream is over.
    pub(super) told: bool,
}

/// Bytes of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Header blocks, with the headers of their frames; interim answers and trailers among them.
    pub head: u64,
    /// The body.
    pub body: u64,
    /// The headers of the frames of the body.
    pub framing: u64,
}

/// A stream that is over, for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// The stream.
    pub stream: u32,
    /// What was put into the output for it.
    pub sent: Volume,
    /// Whether that is the whole answer.
    pub complete: bool,
    /// The client has reset it.
    pub by_client: bool,
}

impl Stream {
    /// Whether there is something that the stream's own window lets go.
    pub(super) fn is_sendable(&self) -> bool {
        self.answered
            && !self.lingering
            && if self.queue.is_empty() { self.ended } else { self.send_window > 0 }
    }

    fn tell(&mut self, over: &mut VecDeque<Over>, complete: bool, by_client: bool) {
        if !std::mem::replace(&mut self.told, true) {
            over.push_back(Over { stream: self.id, sent: self.sent, complete, by_client });
        }
    }
}

/// How a stream that is no more was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Both sides ended it.
    Ended,
    /// The client reset it.
    ByClient,
    /// The server reset it: frames that were under way are no error.
    ByServer,
}

/// The streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// In the order of their numbers.
    open: Vec<Stream>,
    closed: VecDeque<(u32, Closed)>,
    /// The highest number that the client has used.
    pub(super) last: u32,
    /// What `PRIORITY_UPDATE` said of streams to come.
    pub(super) priorities: Vec<(u32, Priority)>,
    /// Streams that are over, which was not told yet.
    pub(super) over: VecDeque<Over>,
}

impl Streams {
    /// Frees the memory of streams that are no more.
    pub(super) fn rest(&mut self) {
        self.open.shrink_to_fit();
        self.over.shrink_to_fit();
        self.priorities.shrink_to_fit();
    }

    /// Streams that are open on either side.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Streams that are not answered yet.
    pub(super) fn busy(&self) -> usize {
        self.open.iter().filter(|stream| !stream.lingering).count()
    }

    /// The streams that are answered, and whose clients have not ended their side.
    pub(super) fn lingering(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.open.iter_mut().filter(|stream| stream.lingering)
    }

    /// One of them whose time has begun.
    pub(super) fn awaited(&self) -> Option<u32> {
        self.open.iter().find(|stream| stream.lingering && stream.awaited).map(|stream| stream.id)
    }

    /// Whether there are any.
    pub(super) fn is_lingering(&self) -> bool {
        self.open.iter().any(|stream| stream.lingering)
    }

    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.open.get_mut(at)
    }

    /// All that are open.
    pub(super) fn all(&mut self) -> &mut [Stream] {
        &mut self.open
    }

    /// How a stream was closed; none where it is open, idle, was never used, or that is long ago.
    pub(super) fn closed(&self, id: u32) -> Option<Closed> {
        self.closed.iter().rev().find(|(known, _)| *known == id).map(|(_, how)| *how)
    }

    /// Whether the client has not opened the stream: the server opens none.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id > self.last || id.is_multiple_of(2)
    }

    /// Adds a stream, whose number is above all others.
    pub(super) fn add(&mut self, stream: Stream) {
        self.open.push(stream);
    }

    /// Notes how the client's newest stream ended without having been open.
    pub(super) fn note(&mut self, id: u32, how: Closed) {
        if self.closed.len() == REMEMBERED {
            self.closed.pop_front();
        }
        self.closed.push_back((id, how));
    }

    /// Takes a stream out.
    pub(super) fn close(&mut self, id: u32, how: Closed) -> Option<Stream> {
        let at = self.open.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.note(id, how);
        let mut stream = self.open.remove(at);
        stream.tell(&mut self.over, false, how == Closed::ByClient);
        Some(stream)
    }

    /// Notes that an answer has been put into the output whole.
    pub(super) fn answered(&mut self, id: u32) {
        if let Ok(at) = self.open.binary_search_by_key(&id, |stream| stream.id)
            && let Some(stream) = self.open.get_mut(at)
        {
            stream.tell(&mut self.over, true, false);
        }
    }
}
