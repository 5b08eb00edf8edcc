//! State machine of a flight: an object while it is fetched.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use myriad_disk::index::HashedKey;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::message::{Abort, Completion, FetchFailure};
use crate::object::ObjectParts;
use crate::{Body, Metadata, Object, Selection};

/// Fetch of the object for a key, which several requests may share.
///
/// Lock order: the lock of a shard before the lock of a flight. Wakers are woken without either.
pub(crate) struct Flight<M: Metadata> {
    pub(crate) key: HashedKey,
    /// Sequence number of the zone at the start of the fetch; the generation of the object.
    pub(crate) generation: u64,
    pub(crate) started_at: u64,
    /// Stored object that the fetch replaces, and the time until which that object counts as updating, in milliseconds;
    /// `None` for a fetch of a new object.
    pub(crate) previous: Option<(Object<M>, u64)>,
    pub(crate) state: Mutex<State<M>>,
}

impl<M: Metadata> fmt::Debug for Flight<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flight").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// Phase of a flight. Only its writer changes it, and only as shown here:
///
/// ```text
///            admit                complete
///  Waiting --------> Streaming -----------------> Complete (object)
///   | | | \   admit    |   |
///   | | |  \ (length)  |   | push beyond a limit
///   | | |   \          |   v                complete
///   | | |    `-------> | Oversized -------------------> Oversized, finished
///   | | |              |   |
///   | | |              `---+--- drop, fail --> Aborted
///   | | `-- renew, keep --> Complete (the previous body; if a file is read, its page)
///   | |`--- uncacheable --> Uncacheable
///   | `---- fail ---------> Failed
///   `------ drop ---------> Aborted
/// ```
///
/// The types of the writers prevent all other transitions: `FlightWriter` has those from `Waiting`, `BodyWriter` those
/// from `Streaming` and `Oversized`, and each transition to a final phase consumes its writer.
pub(crate) enum Phase<M: Metadata> {
    Waiting,
    Streaming(ArrivingBody<M>),
    Oversized(ArrivingBody<M>),
    Complete(Object<M>),
    Uncacheable,
    Failed(FetchFailure),
    Aborted(Abort),
}

/// Body of a shared fetch that is being received.
pub(crate) struct ArrivingBody<M: Metadata> {
    pub(crate) head: Arc<M>,
    pub(crate) selection: Option<Selection>,
    /// Received pieces that have not been released yet.
    pub(crate) pieces: VecDeque<Bytes>,
    /// Number of pieces that were released, which preceded the first element of `pieces`.
    released: usize,
    /// Total length of `pieces`, in bytes.
    buffered: usize,
    is_complete: bool,
    /// Length of the whole body in bytes; `None` if the origin did not announce it.
    pub(crate) announced: Option<u64>,
}

impl<M: Metadata> ArrivingBody<M> {
    pub(crate) fn new(head: Arc<M>, selection: Option<Selection>, announced: Option<u64>) -> Self {
        Self {
            head,
            selection,
            pieces: VecDeque::new(),
            released: 0,
            buffered: 0,
            is_complete: false,
            announced,
        }
    }

    fn push(&mut self, piece: Bytes) {
        self.buffered += piece.len();
        self.pieces.push_back(piece);
    }

    /// Releases the pieces of the body with numbers below `piece`, which no reader needs any more.
    fn release_before(&mut self, piece: usize) {
        while self.released < piece
            && let Some(dropped) = self.pieces.pop_front()
        {
            self.buffered -= dropped.len();
            self.released += 1;
        }
    }
}

/// Position of a reader in the body of a shared fetch.
#[derive(Default)]
struct ReaderPosition {
    /// Number of the body piece to read next.
    next: usize,
    /// Number of body bytes read so far.
    offset: u64,
    waker: Option<Waker>,
}

pub(crate) type Wakers = SmallVec<[Waker; 4]>;

pub(crate) struct State<M: Metadata> {
    pub(crate) phase: Phase<M>,
    positions: Vec<Option<ReaderPosition>>,
    /// Unused indices of `positions`, which new readers get.
    vacant: Vec<usize>,
    writer: Option<Waker>,
    /// True once the response was found to contain data of one client, so that only the request that started the fetch
    /// may receive it.
    pub(crate) is_withdrawn: bool,
}

/// Result of an attempt to read the next piece of the body.
pub(crate) enum Chunk {
    /// Next piece of the body.
    Bytes(Bytes),
    /// The body is complete, and all of it has been read.
    End,
    /// The fetch was aborted or failed, or its response is not shared.
    Aborted(Abort),
    /// No further piece has arrived yet.
    NotYet,
}

impl<M: Metadata> State<M> {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Waiting,
            positions: Vec::new(),
            vacant: Vec::new(),
            writer: None,
            is_withdrawn: false,
        }
    }

    /// Adds a reader that starts at the first byte of the body. Returns its index in `positions`.
    pub(crate) fn join(&mut self) -> usize {
        let place = Some(ReaderPosition::default());
        if let Some(vacant) = self.vacant.pop() {
            self.positions[vacant] = place;
            return vacant;
        }
        self.positions.push(place);
        self.positions.len() - 1
    }

    /// Removes the reader with this index. Returns the waker of the body's writer if the writer may have been waiting
    /// for this.
    #[must_use]
    pub(crate) fn leave(&mut self, reader: usize) -> Option<Waker> {
        self.positions[reader] = None;
        self.vacant.push(reader);
        if matches!(self.phase, Phase::Waiting) && !self.is_read() {
            return self.writer.take();
        }
        self.release_read()
    }

    pub(crate) fn wait(&mut self, reader: usize, cx: &Context<'_>) {
        if let Some(place) = &mut self.positions[reader] {
            match &mut place.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
    }

    /// Removes and returns the wakers of all waiting readers. They must be woken after the lock is released.
    #[must_use]
    pub(crate) fn take_wakers(&mut self) -> Wakers {
        self.positions.iter_mut().flatten().filter_map(|place| place.waker.take()).collect()
    }

    /// Appends a piece of the body, or drops it if the body is too long for memory and no reader is left.
    pub(crate) fn push(&mut self, piece: Bytes) {
        let (_, read) = self.backlog();
        match &mut self.phase {
            Phase::Streaming(stream) => stream.push(piece),
            Phase::Oversized(stream) if read => stream.push(piece),
            _ => {}
        }
    }

    /// Changes the phase from `Streaming` to `Oversized`: the body is too long for memory.
    pub(crate) fn turn_oversized(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Waiting) {
            Phase::Streaming(stream) => self.phase = Phase::Oversized(stream),
            other => self.phase = other,
        }
        // The writer is running, so it need not be woken.
        let _ = self.release_read();
    }

    /// Marks the body as complete, in phase `Oversized` (too long for memory).
    pub(crate) fn end_oversized(&mut self) {
        if let Phase::Oversized(stream) = &mut self.phase {
            stream.is_complete = true;
        }
    }

    pub(crate) fn read(&mut self, reader: usize) -> Chunk {
        let Some(place) = &mut self.positions[reader] else { return Chunk::Aborted(Abort::Dropped) };
        let chunk = match &self.phase {
            Phase::Waiting => Chunk::NotYet,
            Phase::Streaming(stream) | Phase::Oversized(stream) => {
                match stream.pieces.get(place.next - stream.released) {
                    Some(piece) => Chunk::Bytes(piece.clone()),
                    None if stream.is_complete => Chunk::End,
                    None => Chunk::NotYet,
                }
            }
            Phase::Complete(object) => object.body().slice_at(place.offset).map_or(Chunk::End, Chunk::Bytes),
            Phase::Aborted(abort) => Chunk::Aborted(*abort),
            Phase::Failed(failure) => Chunk::Aborted(Abort::Failed(*failure)),
            Phase::Uncacheable => Chunk::Aborted(Abort::Dropped),
        };
        if let Chunk::Bytes(bytes) = &chunk {
            place.next += 1;
            place.offset += bytes.len() as u64;
        }
        chunk
    }

    /// Releases the pieces of a body too long for memory that all readers have read; all pieces if there is no reader.
    /// Returns the waker of the writer if it is waiting; `None` also in any other phase than `Oversized`.
    #[must_use]
    pub(crate) fn release_read(&mut self) -> Option<Waker> {
        let Phase::Oversized(stream) = &mut self.phase else { return None };
        let slowest = self.positions.iter().flatten().map(|place| place.next).min();
        stream.release_before(slowest.unwrap_or(usize::MAX));
        self.writer.take()
    }

    /// Returns the number of received bytes that have not been released, and true if the flight has a reader.
    pub(crate) fn backlog(&self) -> (usize, bool) {
        let buffered = match &self.phase {
            Phase::Streaming(stream) | Phase::Oversized(stream) => stream.buffered,
            _ => 0,
        };
        (buffered, self.is_read())
    }

    /// Returns true if the flight has a reader.
    pub(crate) fn is_read(&self) -> bool {
        self.positions.len() > self.vacant.len()
    }

    /// Registers the waker of the writer. It is woken when the last reader leaves before the head has arrived, or when
    /// pieces of the body are released.
    pub(crate) fn wait_for_readers(&mut self, cx: &Context<'_>) {
        self.writer = Some(cx.waker().clone());
    }
}

impl<M: Metadata> Flight<M> {
    /// Creates the object that this flight has fetched.
    pub(crate) fn object(
        &self,
        body: Body,
        selection: Option<Selection>,
        completion: Completion<M>,
    ) -> Object<M> {
        let parts = ObjectParts {
            meta: completion.meta,
            body,
            selection,
            generation: self.generation,
            stored_at: completion.now,
            fresh_until: completion.fresh_until,
            alternatives: completion.alternatives,
            now: completion.now,
        };
        Object::new(self.key.bytes(), parts)
    }

    /// Changes the flight to a final phase, and wakes all readers.
    pub(crate) fn publish(&self, phase: Phase<M>) {
        let (former, wakers) = {
            let mut state = self.state.lock();
            (std::mem::replace(&mut state.phase, phase), state.take_wakers())
        };
        drop(former);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Excludes all readers except that of the request that started the fetch, and wakes them.
    pub(crate) fn withdraw(&self) {
        let wakers = {
            let mut state = self.state.lock();
            state.is_withdrawn = true;
            state.take_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Removes the mark that the object to be replaced is being updated.
    pub(crate) fn end_updating(&self) {
        if let Some((object, until)) = &self.previous {
            object.end_updating(*until);
        }
    }
}

/// Returns true if a response that is the variant `selection` (`None`: it does not vary) matches a request. `variant`
/// derives the request's variant from a selector.
pub(crate) fn matches_request(
    selection: Option<&Selection>,
    variant: &impl Fn(&[u8], &mut Vec<u8>),
    scratch: &mut Vec<u8>,
) -> bool {
    let Some(selection) = selection else { return true };
    scratch.clear();
    variant(&selection.selector, scratch);
    *selection.variant == **scratch
}
