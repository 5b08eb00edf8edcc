//! Lead of a flight: represents its claim and its reserved bytes, and releases both when the flight ends.

use std::sync::Arc;

use super::state::{Flight, Phase};
use super::{Abort, NotStored};
use crate::{Metadata, Object, Zone};
use std::task::Waker;

/// Right and duty to complete a flight, which is a fetch that several requests share. Dropping it before the flight is
/// over aborts the flight.
pub(crate) struct FlightLead<M: Metadata> {
    pub(crate) zone: Zone<M>,
    pub(crate) flight: Arc<Flight<M>>,
    /// Number of bytes reserved in the zone's memory limit for the received part of the body.
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

    /// Reserves `bytes` of the zone's memory limit for more of the body. Returns false if they are not available.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let charged = self.zone.reserve_arriving(self.flight.key.as_ref(), bytes);
        if charged {
            self.charged += bytes;
        }
        charged
    }

    /// Reserves `bytes` of the zone's memory limit for more of a body too long for memory. Does nothing if they are not
    /// available, or if bodies being received would use more than a quarter of the limit.
    pub(crate) fn charge_passing(&mut self, bytes: usize) {
        if self.zone.reserve_passing(self.flight.key.as_ref(), bytes) {
            self.charged += bytes;
        }
    }

    /// Returns the number of bytes reserved in the zone's memory limit for the body.
    pub(crate) fn charged(&self) -> usize {
        self.charged
    }

    /// Releases reserved bytes of the zone's memory limit until at most `bytes` are reserved.
    pub(crate) fn charge_at_most(&mut self, bytes: usize) {
        let surplus = self.charged.saturating_sub(bytes);
        self.charged -= surplus;
        self.zone.release_arriving(surplus);
    }

    /// Ends the flight without storing an object: releases the claim, then publishes the final phase. In this order, a
    /// woken waiter that claims again does not find this flight.
    ///
    /// `pass` is the current time and a duration, both in milliseconds, during which further claims of the key return
    /// [`Claim::Pass`](crate::Claim::Pass). It has no effect if the duration is 0 or a purge has covered the flight.
    pub(crate) fn finish(&mut self, phase: Phase<M>, pass: Option<(u64, u64)>) {
        self.zone.retire(&self.flight, pass);
        self.release();
        self.flight.publish(phase);
    }

    /// Completes the flight of a body that is too long for memory and is not stored. Its readers can read the rest of
    /// the body. For `pass_ms` milliseconds from `now`, further claims of the key return
    /// [`Claim::Pass`](crate::Claim::Pass), unless a purge has covered the flight.
    pub(crate) fn finish_oversized(&mut self, now: u64, pass_ms: u64) {
        self.zone.retire(&self.flight, Some((now, pass_ms)));
        self.release();
        self.end_stream();
    }

    /// Stores an object that was read from disk, without writing it to disk again, and finishes the flight. Waiting
    /// requests receive it even if it could not be stored.
    pub(crate) fn store_loaded(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.release();
        self.flight.publish(Phase::Complete(object.clone()));
        stored
    }

    /// Stores the object of a body too long for memory whose file is complete. Requests that share the fetch may still
    /// be reading the body.
    pub(crate) fn store_spilled(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        let stored = self.zone.store(&self.flight, object, 0, false);
        self.release();
        stored
    }

    /// Marks a body too long for memory as complete, so that its readers see the end. The claim (the reservation of the
    /// key for this fetch), and bytes reserved for pending writes, are held until the file is complete.
    pub(crate) fn end_stream(&mut self) {
        let wakers = {
            let mut state = self.flight.state.lock();
            state.end_oversized();
            state.take_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Stores the object and ends the exclusive fetch of its key in one step, so that no other request starts a fetch
    /// in between. Sends the object to waiting requests, even if it could not be stored.
    pub(crate) fn store(&mut self, object: &Object<M>) -> Result<(), NotStored> {
        // The object is made of the received pieces, so their reserved bytes are reused for the object.
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
