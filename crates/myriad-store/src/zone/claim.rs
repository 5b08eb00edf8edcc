//! Claims: one leader fetches a key, and all others wait for that fetch.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use myriad_index::{Hashed, LivePurges};
use parking_lot::Mutex;

use super::Zone;
use crate::flight::{Flight, FlightReader, FlightWriter, Lead, State, suits};
use crate::shard::{Record, Role, Shard};
use crate::{KeyRef, Metadata, Object, Selection};

/// How a claim is made.
#[derive(Clone, Copy, Debug)]
pub struct ClaimOptions {
    /// The time now.
    pub now: u64,
    /// Milliseconds after which a flight that has not completed no longer keeps claims from leading another
    /// (`*_cache_lock_age`; nginx's default is 5000). The older flight goes on, keeps its waiters, and may still
    /// store its object unless a later one is stored first.
    pub lock_age_ms: u64,
    /// The labels of what is asked for, where the caller purges by such ([`crate::Covered::Exact`]); twice the same where
    /// there is one. A purge of another address leaves the flight its newcomers, though there is no head yet that would tell.
    pub address: Option<[u64; 2]>,
}

/// The answer to a claim.
#[derive(Debug)]
pub enum Claim<M: Metadata> {
    /// A usable object is stored.
    Hit(Object<M>),
    /// Nobody is fetching it: the caller leads the fetch, and others wait for it.
    Lead(FlightWriter<M>),
    /// Somebody is fetching it.
    Wait(FlightReader<M>),
    /// The key was uncacheable or oversized a moment ago (hit-for-miss): fetch without waiting for another. [`Zone::fetch_alone`]
    /// gives a writer, should the answer be storable this time.
    Pass,
}

impl<M: Metadata> Zone<M> {
    /// Finds a usable object, or who fetches it, in one atomic step: a key (once its selector is known, a variant) has
    /// at most one leader younger than `lock_age_ms`. `usable` judges a stored object under the shard's lock:
    /// `|o| o.is_fresh(now)`, or whatever the caller's policy says.
    pub fn claim(
        &self,
        key: KeyRef<'_>,
        variant: impl Fn(&[u8], &mut Vec<u8>),
        usable: impl FnOnce(&Object<M>) -> bool,
        options: ClaimOptions,
    ) -> Claim<M> {
        let (key, ClaimOptions { now, lock_age_ms, address }) = (self.key(key), options);
        let purges = &self.inner.purges;
        let mut shard = self.shard(key);
        let mut previous = None;
        let (found, taken) = shard.lookup_unpurged(key, &variant, purges);
        if taken.is_some() {
            drop(shard);
            self.release_taken(taken);
            shard = self.shard(key);
        }
        if let Some((_, object)) = found {
            if usable(&object) {
                shard.hit(&object, now);
                return Claim::Hit(object);
            }
            previous = Some(object);
        }
        match shard.find_flight(key, &variant, purges, now, lock_age_ms) {
            Running::Flight(flight) => Claim::Wait(FlightReader::join(&flight, false)),
            Running::Oversized => Claim::Pass,
            Running::None if shard.notes.passes(key.table_hash(), now) => Claim::Pass,
            Running::None => {
                let selection = shard.expected_selection(key, &variant);
                let address = address_beside(address, previous.as_ref());
                let previous = previous.map(|object| (object, now.saturating_add(lock_age_ms)));
                let new = NewFlight { now, address, previous, selection, role: Role::Open };
                Claim::Lead(self.begin_flight(&mut shard, key, new))
            }
        }
    }

    /// A writer that has no waiters, for a fetch after a lock time-out or [`Claim::Pass`] whose answer may still
    /// be stored.
    pub fn fetch_alone(&self, key: KeyRef<'_>, now: u64) -> FlightWriter<M> {
        let (key, role) = (self.key(key), Role::Closed);
        let new = NewFlight { now, address: None, previous: None, selection: None, role };
        self.begin_flight(&mut self.shard(key), key, new)
    }

    /// As [`Zone::fetch_alone`], to take the place of `object`, which counts as updating for `updating_ms` meanwhile.
    pub fn refresh_alone(&self, object: &Object<M>, now: u64, updating_ms: u64) -> FlightWriter<M> {
        let key = self.key_of(object);
        let previous = Some((object.clone(), now.saturating_add(updating_ms)));
        let new = NewFlight::refresh(object, now, previous, None, Role::Closed);
        self.begin_flight(&mut self.shard(key), key, new)
    }

    /// Begins the refresh of a stored object; `None` where it is no longer stored or somebody refreshes it already.
    /// After `updating_ms` without completion another refresh may begin. `address` is that of what is asked for, as in
    /// [`ClaimOptions`]: two that share a key need not share it.
    pub fn begin_refresh(
        &self,
        object: &Object<M>,
        now: u64,
        updating_ms: u64,
        address: Option<[u64; 2]>,
    ) -> Option<FlightWriter<M>> {
        // Most who find a stale object find it updating; they need no lock to see it.
        if object.is_updating(now) {
            return None;
        }
        let key = self.key_of(object);
        let mut shard = self.shard(key);
        if !shard.entry(key)?.objects.iter().any(|stored| stored.is_same(object)) {
            return None;
        }
        let same = |selector: &[u8], variant: &mut Vec<u8>| {
            if let Some(own) = object.selection().filter(|own| *own.selector == *selector) {
                variant.extend_from_slice(&own.variant);
            }
        };
        let Running::None = shard.find_flight(key, &same, &self.inner.purges, now, updating_ms) else {
            return None;
        };
        let previous = Some((object.clone(), now.saturating_add(updating_ms)));
        let address = address_beside(address, Some(object));
        let new = NewFlight::refresh(object, now, previous, address, Role::Open);
        Some(self.begin_flight(&mut shard, key, new))
    }

    pub(super) fn begin_flight(
        &self,
        shard: &mut Shard<M>,
        key: Hashed<'_>,
        new: NewFlight<M>,
    ) -> FlightWriter<M> {
        let NewFlight { now, address, previous, selection, role } = new;
        if let Some((object, until)) = &previous {
            object.begin_updating(*until);
        }
        let flight = Arc::new(Flight {
            key: key.to_owned(),
            // Taken under the shard's lock: within a key, a later flight has a higher number.
            generation: self.inner.sequence.fetch_add(1, Relaxed),
            started_at: now,
            previous,
            state: Mutex::new(State::new()),
        });
        let of_it = Arc::clone(&flight);
        shard.add_flight(Record { flight: of_it, role, may_store: true, address, head: None, selection });
        FlightWriter::new(Lead::new(self.clone(), flight))
    }
}

/// A flight that is about to begin.
pub(super) struct NewFlight<M: Metadata> {
    pub(super) now: u64,
    pub(super) address: Option<[u64; 2]>,
    /// The object that it is to replace, and until when that counts as updating.
    pub(super) previous: Option<(Object<M>, u64)>,
    pub(super) selection: Option<Selection>,
    pub(super) role: Role,
}

impl<M: Metadata> NewFlight<M> {
    /// One that reads a file.
    pub(super) fn load(now: u64) -> Self {
        Self { now, address: None, previous: None, selection: None, role: Role::Loading }
    }

    fn refresh(
        object: &Object<M>,
        now: u64,
        previous: Option<(Object<M>, u64)>,
        address: Option<[u64; 2]>,
        role: Role,
    ) -> Self {
        Self { now, address, previous, selection: object.selection().cloned(), role }
    }
}

/// The address of a fetch that may confirm a stored object instead. It is `None` where the two have different addresses, so
/// that a purge of either closes the flight.
fn address_beside<M: Metadata>(address: Option<[u64; 2]>, previous: Option<&Object<M>>) -> Option<[u64; 2]> {
    address.filter(|address| {
        previous.and_then(|object| M::address(object.meta())).is_none_or(|other| other == *address)
    })
}

/// The flights of a key, as a request finds them.
enum Running<M: Metadata> {
    Flight(Arc<Flight<M>>),
    Oversized,
    None,
}

impl<M: Metadata> Shard<M> {
    /// Finds the flight that a request may wait for, and closes those that are older than the lock.
    fn find_flight(
        &mut self,
        key: Hashed<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
        purges: &LivePurges<M>,
        now: u64,
        lock_age_ms: u64,
    ) -> Running<M> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut running = Running::None;
        for record in self.flights_of(key) {
            let live = matches!(record.role, Role::Open | Role::Oversized);
            if !live || !suits(record.selection.as_ref(), variant, &mut scratch) {
                continue;
            }
            let generation = record.flight.generation;
            if purges.any_since(generation)
                && purges.may_cover(generation, key, record.address, record.head.as_deref().map(M::view))
            {
                // Its waiters asked before the purge. It may store its page if the purge turns out not to cover it.
                record.role = Role::Closed;
                continue;
            }
            if record.role == Role::Oversized {
                running = Running::Oversized;
            } else if now.saturating_sub(record.flight.started_at) >= lock_age_ms {
                record.role = Role::Closed;
            } else {
                running = Running::Flight(Arc::clone(&record.flight));
                break;
            }
        }
        self.scratch = scratch;
        running
    }

    /// The variant that a new flight will most likely be, by the selector of what is stored or on its way.
    fn expected_selection(
        &mut self,
        key: Hashed<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<Selection> {
        let stored = self.entry(key).and_then(|e| e.selector()).cloned();
        let mut arriving = || {
            let seen = self.flights_of(key).filter(|r| r.role != Role::Purged);
            seen.filter_map(|r| r.selection.as_ref()).map(|s| Arc::clone(&s.selector)).next()
        };
        let selector = stored.or_else(&mut arriving)?;
        let mut derived = Vec::new();
        variant(&selector, &mut derived);
        Some(Selection { selector, variant: derived.into() })
    }
}
