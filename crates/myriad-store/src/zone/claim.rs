//! Claims: for each key, one request fetches the object, and all others wait for that fetch.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use myriad_disk::index::{HashedKeyRef, LivePurges};
use parking_lot::Mutex;

use super::Zone;
use crate::flight::{Flight, FlightLead, FlightReader, FlightWriter, State, matches_request};
use crate::shard::{FlightRecord, FlightRole, Shard};
use crate::{KeyRef, Metadata, Object, Selection};

/// Options of [`Zone::claim`], which finds a usable object or starts a fetch.
#[derive(Clone, Copy, Debug)]
pub struct ClaimOptions {
    /// Current time, in milliseconds.
    pub now: u64,
    /// Age of a fetch, in milliseconds, from which another request may start a second fetch (`*_cache_lock_age`;
    /// nginx's default is 5000).
    ///
    /// The older fetch continues and retains its waiters. Its object is still stored, unless a later fetch has stored
    /// an object before.
    pub lock_age_ms: u64,
    /// Labels of the requested URL (hashes by which purges find it, [`crate::PurgeScope::Exact`]); the same label twice
    /// if there is only one. `None` if the URL has no labels.
    ///
    /// With it, a purge of another URL does not prevent requests from joining the fetch while its response head has not
    /// arrived yet.
    pub address: Option<[u64; 2]>,
}

/// Result of [`Zone::claim`].
#[derive(Debug)]
pub enum Claim<M: Metadata> {
    /// An object that the function `usable` of the claim accepts is stored.
    Hit(Object<M>),
    /// No fetch that the request may join is in progress: the caller becomes the leader, must fetch the object, and
    /// others wait for it.
    Lead(FlightWriter<M>),
    /// A fetch of another request is in progress, and this is a reader of it.
    Wait(FlightReader<M>),
    /// The key was uncacheable or too long for memory recently (hit-for-miss), or a body too long for memory is
    /// arriving: fetch without waiting for others. [`Zone::fetch_unshared`] returns a writer, in case the response can
    /// be stored this time.
    Pass,
}

impl<M: Metadata> Zone<M> {
    /// Finds a usable object or a fetch in progress, or makes the caller the leader of a new fetch. The search for a
    /// fetch and the start of a new one are one atomic step.
    ///
    /// Each key (each variant, once the selector is known) has at most one leader that is younger than `lock_age_ms`,
    /// except after purges that may cover its fetch. `usable` decides under the shard's lock whether a stored object
    /// may be used, for example `|o| o.is_fresh(now)`.
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
            RunningFlight::Flight(flight) => Claim::Wait(FlightReader::join(&flight, false)),
            RunningFlight::Oversized => Claim::Pass,
            RunningFlight::None if shard.notes.passes(key.table_hash(), now) => Claim::Pass,
            RunningFlight::None => {
                let selection = shard.expected_selection(key, &variant);
                let address = shared_address(address, previous.as_ref());
                let previous = previous.map(|object| (object, now.saturating_add(lock_age_ms)));
                let new = NewFlight { now, address, previous, selection, role: FlightRole::Open };
                Claim::Lead(self.begin_flight(&mut shard, key, new))
            }
        }
    }

    /// Returns a writer for a fetch that no other request waits for. The response can still be stored.
    pub fn fetch_unshared(&self, key: KeyRef<'_>, now: u64) -> FlightWriter<M> {
        let (key, role) = (self.key(key), FlightRole::Closed);
        let new = NewFlight { now, address: None, previous: None, selection: None, role };
        self.begin_flight(&mut self.shard(key), key, new)
    }

    /// Like [`Zone::fetch_unshared`], for a fetch to replace `object`, which counts as updating for `updating_ms`
    /// milliseconds.
    pub fn refresh_unshared(&self, object: &Object<M>, now: u64, updating_ms: u64) -> FlightWriter<M> {
        let key = self.key_of(object);
        let previous = Some((object.clone(), now.saturating_add(updating_ms)));
        let new = NewFlight::refresh(object, now, previous, None, FlightRole::Closed);
        self.begin_flight(&mut self.shard(key), key, new)
    }

    /// Starts a fetch to replace a stored object. Returns `None` if the object is not stored any more, or is already
    /// being fetched.
    ///
    /// Another fetch may start after `updating_ms` milliseconds. `address` contains the labels (hashes) of the
    /// requested URL, as in [`ClaimOptions`], which may differ from the URL of the stored object with the same key.
    pub fn begin_refresh(
        &self,
        object: &Object<M>,
        now: u64,
        updating_ms: u64,
        address: Option<[u64; 2]>,
    ) -> Option<FlightWriter<M>> {
        // Most requests that find a stale object find it marked as updating, which they detect without the lock.
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
        let RunningFlight::None = shard.find_flight(key, &same, &self.inner.purges, now, updating_ms) else {
            return None;
        };
        let previous = Some((object.clone(), now.saturating_add(updating_ms)));
        let address = shared_address(address, Some(object));
        let new = NewFlight::refresh(object, now, previous, address, FlightRole::Open);
        Some(self.begin_flight(&mut shard, key, new))
    }

    pub(super) fn begin_flight(
        &self,
        shard: &mut Shard<M>,
        key: HashedKeyRef<'_>,
        new: NewFlight<M>,
    ) -> FlightWriter<M> {
        let NewFlight { now, address, previous, selection, role } = new;
        if let Some((object, until)) = &previous {
            object.begin_updating(*until);
        }
        let flight = Arc::new(Flight {
            key: key.to_owned(),
            // The number is taken under the shard's lock, so that of two flights of a key, the later one has the higher
            // number.
            generation: self.inner.sequence.fetch_add(1, Relaxed),
            started_at: now,
            previous,
            state: Mutex::new(State::new()),
        });
        let of_it = Arc::clone(&flight);
        shard.add_flight(FlightRecord {
            flight: of_it,
            role,
            may_store: true,
            address,
            head: None,
            selection,
        });
        FlightWriter::new(FlightLead::new(self.clone(), flight))
    }
}

/// Properties of a flight (a fetch or a read from disk) that is about to start.
pub(super) struct NewFlight<M: Metadata> {
    pub(super) now: u64,
    pub(super) address: Option<[u64; 2]>,
    /// Object to be replaced, and the time until which it counts as updating, in milliseconds.
    pub(super) previous: Option<(Object<M>, u64)>,
    pub(super) selection: Option<Selection>,
    pub(super) role: FlightRole,
}

impl<M: Metadata> NewFlight<M> {
    /// Returns the properties of a flight that reads a page from its file.
    pub(super) fn load(now: u64) -> Self {
        Self { now, address: None, previous: None, selection: None, role: FlightRole::Loading }
    }

    fn refresh(
        object: &Object<M>,
        now: u64,
        previous: Option<(Object<M>, u64)>,
        address: Option<[u64; 2]>,
        role: FlightRole,
    ) -> Self {
        Self { now, address, previous, selection: object.selection().cloned(), role }
    }
}

/// Returns `address`, the labels (hashes) of the URL of a fetch, unless the stored object that the fetch may confirm
/// has another URL. The result is then `None`, so that a purge of either URL affects the fetch.
fn shared_address<M: Metadata>(address: Option<[u64; 2]>, previous: Option<&Object<M>>) -> Option<[u64; 2]> {
    address.filter(|address| {
        previous.and_then(|object| M::address(object.meta())).is_none_or(|other| other == *address)
    })
}

/// Result of the search for a fetch in progress that a request may join.
enum RunningFlight<M: Metadata> {
    /// Fetch that the request may join.
    Flight(Arc<Flight<M>>),
    /// A fetch in progress cannot be joined, because its body is too long for memory.
    Oversized,
    /// No fetch in progress is suitable.
    None,
}

impl<M: Metadata> Shard<M> {
    /// Returns the fetch in progress that a request may join. Fetches that are too old or may be covered by a purge are
    /// closed for further requests.
    fn find_flight(
        &mut self,
        key: HashedKeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
        purges: &LivePurges<M>,
        now: u64,
        lock_age_ms: u64,
    ) -> RunningFlight<M> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut running = RunningFlight::None;
        for record in self.flights_of_key(key) {
            let live = matches!(record.role, FlightRole::Open | FlightRole::Oversized);
            if !live || !matches_request(record.selection.as_ref(), variant, &mut scratch) {
                continue;
            }
            let generation = record.flight.generation;
            if purges.any_since(generation)
                && purges.may_cover(generation, key, record.address, record.head.as_deref().map(M::view))
            {
                // Waiters that joined before the purge remain. The object is stored if the purge turns out not to cover
                // it.
                record.role = FlightRole::Closed;
                continue;
            }
            if record.role == FlightRole::Oversized {
                running = RunningFlight::Oversized;
            } else if now.saturating_sub(record.flight.started_at) >= lock_age_ms {
                record.role = FlightRole::Closed;
            } else {
                running = RunningFlight::Flight(Arc::clone(&record.flight));
                break;
            }
        }
        self.scratch = scratch;
        running
    }

    /// Returns the variant that a new fetch will probably receive, derived from the `Vary` of a stored object or of
    /// another fetch of the key; `None` if none is known.
    fn expected_selection(
        &mut self,
        key: HashedKeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<Selection> {
        let stored = self.entry(key).and_then(|e| e.selector()).cloned();
        let mut arriving = || {
            let seen = self.flights_of_key(key).filter(|r| r.role != FlightRole::Purged);
            seen.filter_map(|r| r.selection.as_ref()).map(|s| Arc::clone(&s.selector)).next()
        };
        let selector = stored.or_else(&mut arriving)?;
        let mut derived = Vec::new();
        variant(&selector, &mut derived);
        Some(Selection { selector, variant: derived.into() })
    }
}
