//! Writers of a flight (a fetch that several requests share): before and after the response head has arrived.

use std::fmt;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use myriad_disk::{MAX_PENDING_BYTES, SpillWriter};
use xxhash_rust::xxh3::Xxh3Default;

use super::lead::FlightLead;
use super::state::{ArrivingBody, Phase};
use super::{
    Abort, Admission, Capacity, CollectState, Completed, Completion, FetchFailure, FlightReader, NotStored,
};
use crate::{Body, Metadata, Object, Selection};

/// Bytes of overhead that are accounted for each piece of an arriving body.
const PIECE_OVERHEAD: usize = 64;

/// Writer for a fetch that requests share, until the response head has arrived. Dropping it aborts the fetch: waiting
/// requests are woken, and one of them may start a new fetch.
pub struct FlightWriter<M: Metadata> {
    lead: FlightLead<M>,
}

impl<M: Metadata> FlightWriter<M> {
    pub(crate) fn new(lead: FlightLead<M>) -> Self {
        Self { lead }
    }

    pub(crate) fn into_lead(self) -> FlightLead<M> {
        self.lead
    }

    /// Returns the sequence number at the start of this fetch, which will be the object's generation. Purges with
    /// higher numbers may cover the object.
    pub fn generation(&self) -> u64 {
        self.lead.flight.generation
    }

    /// Returns true if other requests may wait for this fetch.
    pub fn is_shared(&self) -> bool {
        self.lead.zone.is_shared(&self.lead.flight)
    }

    /// Returns the stored object that this fetch replaces, stale or still fresh, for a conditional request to the
    /// origin; `None` if there is none.
    pub fn previous(&self) -> Option<&Object<M>> {
        self.lead.previous()
    }

    /// Returns a reader of the response for the request that started the fetch. It never returns
    /// [`super::FlightHead::Mismatch`].
    ///
    /// To be called before [`Self::admit`], because a body too long for memory accepts no new readers.
    pub fn reader(&self) -> FlightReader<M> {
        FlightReader::join(&self.lead.flight, true)
    }

    /// Polls until the fetch has no reader. New readers may join after that, until the fetch is over; if this writer is
    /// dropped, they must claim the key again.
    pub fn poll_unread(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lead.flight.state.lock();
        if !state.is_read() {
            return Poll::Ready(());
        }
        state.wait_for_readers(cx);
        Poll::Pending
    }

    /// Publishes the head of a response that may be stored, and returns the writer of its body.
    pub fn admit(self, admission: Admission<M>) -> BodyWriter<M> {
        let Admission { head, selection, length } = admission;
        let oversized = length.is_some_and(|len| len > self.lead.zone.limits().max_object_bytes);
        let mode = if oversized { CollectState::Oversized } else { CollectState::Ok };
        self.lead.zone.resolve(&self.lead.flight, &head, selection.as_ref(), oversized);
        let stream = ArrivingBody::new(head, selection.clone(), length);
        self.lead.flight.publish(match mode {
            CollectState::Ok => Phase::Streaming(stream),
            CollectState::Oversized => Phase::Oversized(stream),
        });
        let mut writer = BodyWriter {
            lead: self.lead,
            selection,
            mode,
            len: 0,
            whole: None,
            spill: None,
            waits_for_disk: false,
        };
        if mode == CollectState::Oversized {
            writer.begin_spill(length.unwrap_or(0));
        }
        writer
    }

    /// Ends the flight after the origin confirmed the previous object (304): stores its body and variant again, with
    /// the metadata and encodings in `completion`.
    ///
    /// Returns `None`, and aborts the flight, if there is no previous object.
    pub fn renew(mut self, completion: Completion<M>) -> Option<Completed<M>> {
        let previous = self.previous()?.clone();
        let selection = previous.selection().cloned();
        let object = self.lead.flight.object(previous.body(), selection, completion);
        Some(match self.lead.store(&object) {
            Ok(()) => Completed::Stored(object),
            Err(why) => Completed::Unstored(why),
        })
    }

    /// Ends the flight after the origin confirmed the previous object without making it fresh: waiters receive it
    /// unchanged. Returns it.
    ///
    /// Returns `None`, and aborts the flight, if there is no previous object.
    pub fn reuse_previous(mut self) -> Option<Object<M>> {
        let previous = self.previous()?.clone();
        self.lead.finish(Phase::Complete(previous.clone()), None);
        Some(previous)
    }

    /// Completes the flight without an object, because the response may not be shared; waiting requests must fetch
    /// separately. For `pass_ms` milliseconds from `now`, claims of the key return [`crate::Claim::Pass`]
    /// (hit-for-miss), unless `pass_ms` is 0 or a purge has covered the flight.
    pub fn uncacheable(mut self, now: u64, pass_ms: u64) {
        self.lead.finish(Phase::Uncacheable, Some((now, pass_ms)));
    }

    /// Completes the fetch without a response, because none was requested or the origin sent no usable one. Waiting
    /// requests receive `failure`.
    pub fn fail(mut self, failure: FetchFailure) {
        self.lead.finish(Phase::Failed(failure), None);
    }
}

/// Writer of the body of a fetch that requests share. Dropping it aborts the fetch: waiting requests are woken, and one
/// of them may start a new fetch.
pub struct BodyWriter<M: Metadata> {
    lead: FlightLead<M>,
    selection: Option<Selection>,
    mode: CollectState,
    /// Number of body bytes pushed so far.
    len: u64,
    /// All bytes pushed so far, in segments of exact size; `None` until [`Self::body`] is called, and again after each
    /// push.
    whole: Option<Body>,
    /// Writer to disk and hash of all bytes of a body too long for memory; `None` if the body is not written to disk.
    spill: Option<Box<(SpillWriter, Xxh3Default)>>,
    /// Set if the last [`Self::poll_capacity`] found that the next piece must wait for the disk.
    waits_for_disk: bool,
}

impl<M: Metadata> BodyWriter<M> {
    /// Returns the sequence number at the start of this fetch, which will be the object's generation. Purges with
    /// higher numbers may cover the object.
    pub fn generation(&self) -> u64 {
        self.lead.flight.generation
    }

    /// Returns a reader of the response for the request that started the fetch; `None` once the body is too long for
    /// memory.
    pub fn reader(&self) -> Option<FlightReader<M>> {
        (self.mode == CollectState::Ok).then(|| FlightReader::join(&self.lead.flight, true))
    }

    /// Returns the state in which the body is being received: collected for memory, or too long for it.
    pub fn state(&self) -> CollectState {
        self.mode
    }

    /// Appends a piece of the body, and wakes the readers that wait for it. Returns the resulting state.
    pub fn push(&mut self, piece: Bytes) -> CollectState {
        if piece.is_empty() {
            return self.mode;
        }
        let len = self.len + piece.len() as u64;
        if self.mode == CollectState::Ok
            && (len > self.lead.zone.limits().max_object_bytes
                || !self.lead.charge(piece.len() + PIECE_OVERHEAD))
        {
            self.turn_oversized();
        }
        if self.mode == CollectState::Oversized {
            self.lead.charge_passing(piece.len());
        }
        self.len = len;
        // The collected body lacks this piece.
        self.whole = None;
        if let Some(spill) = &mut self.spill {
            spill.1.update(&piece);
            spill.0.push(piece.clone());
        }
        let wakers = {
            let mut state = self.lead.flight.state.lock();
            state.push(piece);
            state.take_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
        self.mode
    }

    /// Changes to the state for a body too long for memory. New readers are excluded first, because they could not read
    /// from the start once pieces are released.
    fn turn_oversized(&mut self) {
        self.lead.zone.close_oversized(&self.lead.flight);
        self.begin_spill(self.len);
        if let Some(spill) = &mut self.spill {
            // No piece has been released so far, so the file gets all of them.
            if let Phase::Streaming(stream) = &self.lead.flight.state.lock().phase {
                for piece in &stream.pieces {
                    spill.1.update(piece);
                    spill.0.push(piece.clone());
                }
            }
        }
        self.lead.flight.state.lock().turn_oversized();
        self.mode = CollectState::Oversized;
    }

    /// Starts to write a body of at least `len` bytes to disk. Without a disk tier that can store it, the flight is
    /// marked as not storable. Does nothing after [`Self::withdraw`].
    fn begin_spill(&mut self, len: u64) {
        if self.lead.flight.state.lock().is_withdrawn {
            return;
        }
        self.spill = self.lead.zone.begin_spill(len).map(|spill| Box::new((spill, Xxh3Default::new())));
        if self.spill.is_none() {
            self.lead.zone.note_unstored(&self.lead.flight);
        }
    }

    /// Makes the response private to the request that started the fetch, because its body contains data of one client.
    /// Excludes all other readers, including those that have received part of the body. Releases the claim of the key,
    /// so that [`Self::complete`] does not store the object. For `pass_ms` milliseconds from `now`, claims of the key
    /// return [`crate::Claim::Pass`] (hit-for-miss), unless `pass_ms` is 0 or a purge has covered the flight.
    pub fn withdraw(&mut self, now: u64, pass_ms: u64) {
        self.spill = None;
        // No request joins the flight any more before its readers are woken and claim the key again.
        self.lead.zone.retire(&self.lead.flight, Some((now, pass_ms)));
        self.lead.flight.withdraw();
    }

    /// Returns the XXH3-64 of the bytes pushed so far if the body is being written to disk, otherwise `None`. Once the
    /// body is complete, a validator can be computed from it.
    pub fn spilled(&self) -> Option<u64> {
        let (spill, hash) = self.spill.as_deref()?;
        spill.is_alive().then(|| hash.digest())
    }

    /// Returns true if the body is being written to disk.
    pub fn is_spilling(&self) -> bool {
        self.spill.as_deref().is_some_and(|(spill, _)| spill.is_alive())
    }

    /// Returns true if the next piece must wait for the disk (rather than for readers).
    pub fn is_waiting_for_disk(&self) -> bool {
        self.is_spilling() && self.waits_for_disk
    }

    /// Gives up the file of the body, because writing it delays the readers or has failed. The object is then not
    /// stored.
    pub fn stop_spilling(&mut self) {
        self.spill = None;
        self.lead.zone.note_unstored(&self.lead.flight);
    }

    /// Polls until the next piece may be pushed. Always ready while the body is collected in memory. Returns
    /// `Abandoned` once the body has neither a reader nor a file that is being written.
    ///
    /// For a body too long for memory, the slowest reader's unread bytes must be below `stream_window_bytes`, and the
    /// bytes waiting for the disk below [`MAX_PENDING_BYTES`]. If the memory limit has no space for the buffered bytes,
    /// no more are accepted until they fit into the bytes already reserved.
    pub fn poll_capacity(&mut self, cx: &mut Context<'_>) -> Poll<Capacity> {
        if self.mode == CollectState::Ok {
            return Poll::Ready(Capacity::Ready);
        }
        if self.spill.is_some() && !self.is_spilling() {
            self.stop_spilling();
        }
        let unwritten = self.spill.as_deref().map(|(spill, _)| spill.watch(cx));
        let window = self.lead.zone.limits().stream_window_bytes;
        let (buffered, read) = {
            let mut state = self.lead.flight.state.lock();
            if state.is_read() {
                state.wait_for_readers(cx);
            }
            state.backlog()
        };
        // Readers and disk share the same buffers, so the larger number of bytes counts.
        let held = buffered.max(unwritten.unwrap_or(0));
        self.lead.charge_at_most(held);
        let is_crowded = held > self.lead.charged();
        let is_disk_saturated =
            unwritten.is_some_and(|bytes| bytes >= MAX_PENDING_BYTES || is_crowded && bytes > 0);
        self.waits_for_disk = is_disk_saturated;
        match (read, unwritten) {
            (false, None) => Poll::Ready(Capacity::Abandoned),
            _ if is_disk_saturated => Poll::Pending,
            // No reader is left, but the body is still written to disk.
            (false, Some(_)) => Poll::Ready(Capacity::Ready),
            (true, _) if buffered < window && !is_crowded => Poll::Ready(Capacity::Ready),
            (true, _) => Poll::Pending,
        }
    }

    /// Returns the bytes received so far in segments of exact size, to compute a validator or an encoding; `None` once
    /// the body is too long for memory.
    ///
    /// Called after the last push, it creates the body that [`Self::complete`] stores, so that the bytes are copied
    /// only once.
    pub fn body(&mut self) -> Option<Body> {
        self.compact();
        self.whole.clone()
    }

    fn compact(&mut self) {
        if self.mode == CollectState::Ok && self.whole.is_none() {
            let pieces: Vec<Bytes> = match &self.lead.flight.state.lock().phase {
                Phase::Streaming(stream) => stream.pieces.iter().cloned().collect(),
                _ => Vec::new(),
            };
            self.whole = Some(Body::compact(&pieces, self.len));
        }
    }

    /// Returns the stored object that this fetch replaces; `None` if there is none.
    pub fn previous(&self) -> Option<&Object<M>> {
        self.lead.previous()
    }

    /// Returns true if this fetch replaces a stored object.
    pub fn replaces(&self) -> bool {
        self.lead.previous().is_some()
    }

    /// Returns the number of body bytes received so far.
    pub fn length(&self) -> u64 {
        self.len
    }

    /// Returns the object that this fetch replaces, if its body equals the bytes received so far, otherwise `None`.
    /// Validator and encodings of that object then remain valid.
    pub fn unchanged(&mut self) -> Option<Object<M>> {
        let body = self.body()?;
        self.lead.previous().filter(|previous| previous.body().same_bytes(&body)).cloned()
    }

    /// Completes the flight after the last push: stores the object, unless [`Self::withdraw`] was called, or a purge, a
    /// later fetch or the memory limit prevents it, and wakes all readers.
    pub fn complete(mut self, completion: Completion<M>) -> Completed<M> {
        self.compact();
        let Some(body) = self.whole.take() else {
            if let Some(spill) = self.spill.take().filter(|spill| spill.0.is_alive()) {
                self.lead.end_stream();
                crate::zone::finish_spill(self.lead, self.selection.take(), spill.0, completion);
                return Completed::Spilled;
            }
            let pass_ms = self.lead.zone.limits().oversized_pass_ms;
            self.lead.finish_oversized(completion.now, pass_ms);
            return Completed::Unstored(NotStored::Oversized);
        };
        let selection = self.selection.take();
        let object = self.lead.flight.object(body, selection, completion);
        match self.lead.store(&object) {
            Ok(()) => Completed::Stored(object),
            Err(why) => Completed::Unstored(why),
        }
    }

    /// Ends the flight after the last push without storing the object. Readers receive the whole body, and the previous
    /// object remains stored.
    pub fn discard(mut self, completion: Completion<M>) {
        self.compact();
        let Some(body) = self.whole.take() else {
            return self.lead.finish_oversized(completion.now, 0);
        };
        let object = self.lead.flight.object(body, self.selection.take(), completion);
        self.lead.finish(Phase::Complete(object), None);
    }

    /// Ends the flight because the origin failed while it sent the body. Readers receive [`super::Abort::Failed`].
    pub fn fail(mut self, failure: FetchFailure) {
        self.lead.finish(Phase::Aborted(Abort::Failed(failure)), None);
    }
}

impl<M: Metadata> fmt::Debug for FlightWriter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightWriter").field("flight", &self.lead.flight).finish()
    }
}

impl<M: Metadata> fmt::Debug for BodyWriter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyWriter")
            .field("flight", &self.lead.flight)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
