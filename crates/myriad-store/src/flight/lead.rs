//! The lead of a flight: its claim and the bytes that it has reserved, given back however the flight ends.

use std::sync::Arc;

use super::state::{Flight, Phase};
use super::{Abort, Unstored};
use crate::{Metadata, Object, Zone};
use std::task::Waker;

/// The lead of a flight. Dropped before the flight has ended, it aborts it.
pub(crate) struct Lead<M: Metadata> {
    pub(crate) zone: Zone<M>,
    pub(crate) flight: Arc<Flight<M>>,
    /// Bytes reserved in the zone for what has arrived.
    charged: usize,
    finished: bool,
}

impl<M: Metadata> Lead<M> {
    pub(crate) fn new(zone: Zone<M>, flight: Arc<Flight<M>>) -> Self {
        Self { zone, flight, charged: 0, finished: false }
    }

    pub(crate) fn previous(&self) -> Option<&Object<M>> {
        self.flight.previous.as_ref().map(|(object, _)| object)
    }

    /// Reserves room for more of the body; false where there is none.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let charged = self.zone.reserve_arriving(self.flight.key.as_ref(), bytes);
        if charged {
            self.charged += bytes;
        }
        charged
    }

    /// Reserves room for more of an oversized body, as far as there is any.
    pub(crate) fn charge_passing(&mut self, bytes: usize) {
        if self.zone.reserve_passing(self.flight.key.as_ref(), bytes) {
            self.charged += bytes;
        }
    }

    /// Bytes that are charged.
    pub(crate) fn charged(&self) -> usize {
        self.charged
    }

    /// Gives back what is charged beyond `bytes`.
    pub(crate) fn charge_at_most(&mut self, bytes: usize) {
        let surplus = self.charged.saturating_sub(bytes);
        self.charged -= surplus;
        self.zone.release_arriving(surplus);
    }

    /// Releases the claim, then publishes the end: a waiter that wakes and claims again must not find this flight.
    /// `pass` is the time now and for how many milliseconds claims shall pass.
    pub(crate) fn finish(&mut self, phase: Phase<M>, pass: Option<(u64, u64)>) {
        self.zone.retire(&self.flight, pass);
        self.settle();
        self.flight.publish(phase);
    }

    /// Ends an oversized body; its readers drain what is left of it.
    pub(crate) fn finish_oversized(&mut self, now: u64, pass_ms: u64) {
        self.zone.retire(&self.flight, Some((now, pass_ms)));
        self.settle();
        self.end_stream();
    }

    /// Stores an object that was read from disk: it need not be written there.
    pub(crate) fn store_loaded(&mut self, object: &Object<M>) -> Result<(), Unstored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.settle();
        self.flight.publish(Phase::Complete(object.clone()));
        stored
    }

    /// Stores the object of an oversized body that has come to disk; its readers have drained it, or still do.
    pub(crate) fn store_spilled(&mut self, object: &Object<M>) -> Result<(), Unstored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.settle();
        stored
    }

    /// The readers of an oversized body drain what is left of it; the claim is held until it has come to disk, and so is what
    /// is charged for bytes that wait to be written.
    pub(crate) fn end_stream(&mut self) {
        let wakers = {
            let mut state = self.flight.state.lock();
            state.end_oversized();
            state.take_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Stores the object in the step that releases the claim, so that no second leader comes between.
    pub(crate) fn store(&mut self, object: &Object<M>) -> Result<(), Unstored> {
        // The pieces and the object made from them are one body: what was charged for the first goes to the second.
        self.zone.arrived(self.charged);
        let stored = self.zone.store(&self.flight, object, std::mem::take(&mut self.charged), true);
        self.settle();
        self.flight.publish(Phase::Complete(object.clone()));
        stored
    }

    fn settle(&mut self) {
        self.finished = true;
        self.flight.end_updating();
        self.charge_at_most(0);
    }
}

impl<M: Metadata> Drop for Lead<M> {
    fn drop(&mut self) {
        if !self.finished {
            self.finish(Phase::Aborted(Abort::Dropped), None);
        }
    }
}
