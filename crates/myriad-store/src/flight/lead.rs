//! Lead of a flight: its claim and its reserved bytes, which are released however the flight finishes.

use std::sync::Arc;

use super::state::{Flight, Phase};
use super::{Abort, NotStored};
use crate::{Metadata, Object, Zone};
use std::task::Waker;

/// Lead of a flight. Dropping it before the flight has finished aborts the flight.
pub(crate) struct FlightLead<M: Metadata> {
    pub(crate) zone: Zone<M>,
    pub(crate) flight: Arc<Flight<M>>,
    /// Bytes reserved in the zone for the received data.
    charged: usize,
    finished: bool,
}

impl<M: Metadata> FlightLead<M> {
    pub(crate) fn new(zone: Zone<M>, flight: Arc<Flight<M>>) -> Self {
        Self { zone, flight, charged: 0, finished: false }
    }

    pub(crate) fn previous(&self) -> Option<&Object<M>> {
        self.flight.previous.as_ref().map(|(object, _)| object)
    }

    /// Reserves room for more of the body; false if no room is left.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let charged = self.zone.reserve_arriving(self.flight.key.as_ref(), bytes);
        if charged {
            self.charged += bytes;
        }
        charged
    }

    /// Reserves room for more of an oversized body, if possible.
    pub(crate) fn charge_passing(&mut self, bytes: usize) {
        if self.zone.reserve_passing(self.flight.key.as_ref(), bytes) {
            self.charged += bytes;
        }
    }

    /// Returns the number of reserved bytes.
    pub(crate) fn charged(&self) -> usize {
        self.charged
    }

    /// Releases the bytes reserved beyond `bytes`.
    pub(crate) fn charge_at_most(&mut self, bytes: usize) {
        let surplus = self.charged.saturating_sub(bytes);
        self.charged -= surplus;
        self.zone.release_arriving(surplus);
    }

    /// Releases the claim, then publishes the result: a waiter that wakes and claims again must not find this flight.
    ///
    /// `pass` is the current time, and the number of milliseconds during which claims pass.
    pub(crate) fn finish(&mut self, phase: Phase<M>, pass: Option<(u64, u64)>) {
        self.zone.retire(&self.flight, pass);
        self.release();
        self.flight.publish(phase);
    }

    /// Finishes an oversized body. Its readers drain the rest.
    pub(crate) fn finish_oversized(&mut self, now: u64, pass_ms: u64) {
        self.zone.retire(&self.flight, Some((now, pass_ms)));
        self.release();
        self.end_stream();
    }

    /// Stores an object that was read from disk and need not be written to disk.
    pub(crate) fn store_loaded(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.release();
        self.flight.publish(Phase::Complete(object.clone()));
        stored
    }

    /// Stores the object of an oversized body that has been written to disk. Its readers may still drain it.
    pub(crate) fn store_spilled(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.release();
        stored
    }

    /// Marks the end of an oversized body, whose readers drain the rest. The claim and the bytes reserved for pending
    /// writes are held until the body is on disk.
    pub(crate) fn end_stream(&mut self) {
        let wakers = {
            let mut state = self.flight.state.lock();
            state.end_oversized();
            state.take_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Stores the object and releases the claim in one step, so that no second leader can intervene.
    pub(crate) fn store(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        // The pieces and the object made from them are the same body, so the reservation moves to the object.
        self.zone.finish_arriving(self.charged);
        let stored = self.zone.store(&self.flight, object, std::mem::take(&mut self.charged), true);
        self.release();
        self.flight.publish(Phase::Complete(object.clone()));
        stored
    }

    fn release(&mut self) {
        self.finished = true;
        self.flight.end_updating();
        self.charge_at_most(0);
    }
}

impl<M: Metadata> Drop for FlightLead<M> {
    fn drop(&mut self) {
        if !self.finished {
            self.finish(Phase::Aborted(Abort::Dropped), None);
        }
    }
}
