//! Writers of a flight.

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

/// Bytes of overhead for a piece of an arriving body.
const PIECE_OVERHEAD: usize = 64;

/// Flight whose head has not arrived yet. Dropping it aborts the flight: readers wake, and the claim is released.
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

    /// Returns the sequence number at the start of this fetch, which becomes the object's generation.
    pub fn generation(&self) -> u64 {
        self.lead.flight.generation
    }

    /// Returns the stale object that this fetch replaces, for a conditional request to the origin.
    pub fn previous(&self) -> Option<&Object<M>> {
        self.lead.previous()
    }

    /// Returns a reader for the request that started the fetch. It never receives [`super::FlightHead::Mismatch`].
    ///
    /// Create it before [`Self::admit`], because an oversized body accepts no new readers.
    pub fn reader(&self) -> FlightReader<M> {
        FlightReader::join(&self.lead.flight, true)
    }

    /// Polls until the flight has no reader. A reader may join at any time until the flight is dropped; it then has to
    /// claim again.
    pub fn poll_unread(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lead.flight.state.lock();
        if !state.is_read() {
            return Poll::Ready(());
        }
        state.wait_for_readers(cx);
        Poll::Pending
    }

    /// Admits a response that may be stored: publishes its head and continues with the body.
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

    /// Stores the previous object again after the origin confirmed it: its body and variant, under the metadata of
    /// `completion` and with the encodings in it.
    ///
    /// `None` if no previous object exists; the flight is then aborted.
    pub fn renew(mut self, completion: Completion<M>) -> Option<Completed<M>> {
        let previous = self.previous()?.clone();
        let selection = previous.selection().cloned();
        let object = self.lead.flight.object(previous.body(), selection, completion);
        Some(match self.lead.store(&object) {
            Ok(()) => Completed::Stored(object),
            Err(why) => Completed::Unstored(why),
        })
    }

    /// Passes the previous object to the waiters, unchanged, after the origin confirmed it without making it fresh.
    ///
    /// `None` if no previous object exists; the flight is then aborted.
    pub fn reuse_previous(mut self) -> Option<Object<M>> {
        let previous = self.previous()?.clone();
        self.lead.finish(Phase::Complete(previous.clone()), None);
        Some(previous)
    }

    /// Releases the waiters of a response that may not be shared. For `pass_ms` from `now`, claims of the key return
    /// [`crate::Claim::PassStatus`] (hit-for-miss). Zero disables this.
    pub fn uncacheable(mut self, now: u64, pass_ms: u64) {
        self.lead.finish(Phase::Uncacheable, Some((now, pass_ms)));
    }

    /// Finishes the flight because the origin did not respond.
    pub fn fail(mut self, failure: FetchFailure) {
        self.lead.finish(Phase::Failed(failure), None);
    }
}

/// Flight whose body is arriving. Dropping it aborts the flight: readers wake, and the claim is released.
pub struct BodyWriter<M: Metadata> {
    lead: FlightLead<M>,
    selection: Option<Selection>,
    mode: CollectState,
    /// Number of bytes pushed.
    len: u64,
    /// All bytes pushed so far, compacted; `None` before the first request for them, and after each further push.
    whole: Option<Body>,
    /// Writer to disk of an oversized body, and the hash of the bytes passed to it.
    spill: Option<Box<(SpillWriter, Xxh3Default)>>,
    /// Set if the last poll found that the next piece has to wait for the disk.
    waits_for_disk: bool,
}

impl<M: Metadata> BodyWriter<M> {
    /// Returns the sequence number at the start of this fetch, which becomes the object's generation.
    pub fn generation(&self) -> u64 {
        self.lead.flight.generation
    }

    /// Returns a reader for the request that started the fetch; `None` once the flight is oversized.
    pub fn reader(&self) -> Option<FlightReader<M>> {
        (self.mode == CollectState::Ok).then(|| FlightReader::join(&self.lead.flight, true))
    }

    /// Returns whether the body is still collected.
    pub fn state(&self) -> CollectState {
        self.mode
    }

    /// Appends a piece of the body and wakes the readers that wait for a piece.
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
        // A body compacted from fewer pieces is incomplete.
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

    /// Makes the flight oversized. It first stops accepting readers, which could not read from the start after a
    /// release.
    fn turn_oversized(&mut self) {
        self.lead.zone.close_oversized(&self.lead.flight);
        self.begin_spill(self.len);
        if let Some(spill) = &mut self.spill {
            // No piece has been released so far.
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

    /// Starts to write a body of at least `len` bytes to disk, if a disk can store it.
    fn begin_spill(&mut self, len: u64) {
        self.spill = self.lead.zone.begin_spill(len).map(|spill| Box::new((spill, Xxh3Default::new())));
        if self.spill.is_none() {
            self.lead.zone.note_unstored(&self.lead.flight);
        }
    }

    /// Returns the XXH3-64 of a body too long for memory that is written to disk, to make a validator from; `None` for
    /// any other body. Call it once the body is complete.
    pub fn spilled(&self) -> Option<u64> {
        let (spill, hash) = self.spill.as_deref()?;
        spill.is_alive().then(|| hash.digest())
    }

    /// Returns whether the body is being written to disk.
    pub fn is_spilling(&self) -> bool {
        self.spill.as_deref().is_some_and(|(spill, _)| spill.is_alive())
    }

    /// Returns whether the next piece waits for the disk rather than for readers.
    pub fn is_waiting_for_disk(&self) -> bool {
        self.is_spilling() && self.waits_for_disk
    }

    /// Stops writing to a disk that delays the body's readers.
    pub fn stop_spilling(&mut self) {
        self.spill = None;
        self.lead.zone.note_unstored(&self.lead.flight);
    }

    /// Polls until the next piece can be pushed: at once while the body is collected.
    ///
    /// For an oversized body, the unread bytes of the slowest reader must be below the window, and the unwritten bytes
    /// below the backlog limit of the disk. If the zone has no room for the buffered bytes, no more are accepted until
    /// they fit into the reservation.
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
        // Readers and disk share the same bytes, so the larger backlog counts.
        let held = buffered.max(unwritten.unwrap_or(0));
        self.lead.charge_at_most(held);
        let is_crowded = held > self.lead.charged();
        let is_disk_saturated =
            unwritten.is_some_and(|bytes| bytes >= MAX_PENDING_BYTES || is_crowded && bytes > 0);
        self.waits_for_disk = is_disk_saturated;
        match (read, unwritten) {
            (false, None) => Poll::Ready(Capacity::Abandoned),
            _ if is_disk_saturated => Poll::Pending,
            // No reader is left, but the page is still written to disk.
            (false, Some(_)) => Poll::Ready(Capacity::Ready),
            (true, _) if buffered < window && !is_crowded => Poll::Ready(Capacity::Ready),
            (true, _) => Poll::Pending,
        }
    }

    /// Returns the received body in segments of exact size, to make a validator or an encoding from; `None` once
    /// oversized.
    ///
    /// The first call after the last push creates the body that [`Self::complete`] stores, so the bytes are copied
    /// once.
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

    /// Returns whether this fetch replaces an object.
    pub fn replaces(&self) -> bool {
        self.lead.previous().is_some()
    }

    /// Returns the number of bytes of the body received so far.
    pub fn length(&self) -> u64 {
        self.len
    }

    /// Returns the object that this fetch replaces if the received bytes are equal to its body. Its validator and its
    /// encodings remain valid in that case.
    pub fn unchanged(&mut self) -> Option<Object<M>> {
        let body = self.body()?;
        self.lead.previous().filter(|previous| previous.body().same_bytes(&body)).cloned()
    }

    /// Completes the body: stores the object unless a purge, a later fetch or the cap prevents it, and wakes all
    /// readers.
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

    /// Completes a body that must not be stored: readers receive all of it, and the previous object remains stored.
    pub fn discard(mut self, completion: Completion<M>) {
        self.compact();
        let Some(body) = self.whole.take() else {
            return self.lead.finish_oversized(completion.now, 0);
        };
        let object = self.lead.flight.object(body, self.selection.take(), completion);
        self.lead.finish(Phase::Complete(object), None);
    }

    /// Aborts the flight because the origin failed within the body. Readers receive [`super::Abort::Failed`].
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
