//! A zone: what callers look up, claim and purge.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::flight::{FlightReader, FlightWriter};
use crate::{Alternative, AttachError, KeyRef, Metadata, Object, Swept, ZoneLimits, ZoneStats};

/// A named cache; cloning gives another handle to the same one. It is the embedder's to keep across reloads.
#[derive(Debug, Clone)]
pub struct Zone<M: Metadata> {
    todo: PhantomData<M>,
}

/// How a claim is made.
#[derive(Clone, Copy, Debug)]
pub struct ClaimOptions {
    /// The time now.
    pub now: u64,
    /// Milliseconds after which a flight that has not completed no longer holds back one more leader
    /// (`*_cache_lock_age`; nginx's default is 5000).
    pub lock_age_ms: u64,
}

/// What a claim gave.
#[derive(Debug)]
pub enum Claim<M: Metadata> {
    /// A usable object is stored.
    Hit(Arc<Object<M>>),
    /// Nobody is fetching it: the caller must, and others will follow.
    Lead(FlightWriter<M>),
    /// Somebody is fetching it.
    Follow(FlightReader<M>),
    /// The key was uncacheable or oversized a moment ago: fetch without waiting for anyone. [`Zone::fetch_alone`]
    /// gives a writer, should the answer be storable this time.
    Pass,
}

impl<M: Metadata> Zone<M> {
    /// Makes an empty zone.
    pub fn new(_name: &str, _limits: ZoneLimits) -> Self {
        todo!()
    }

    /// The zone's name.
    pub fn name(&self) -> &str {
        todo!()
    }

    /// The limits in force.
    pub fn limits(&self) -> ZoneLimits {
        todo!()
    }

    /// Changes the limits, as a reload may; evicts down to a smaller cap before it returns.
    pub fn resize(&self, _limits: ZoneLimits) {
        todo!()
    }

    /// Finds the object under `key`, fresh or stale. Where the key has a selector, `variant` derives this request's
    /// variant key from it by appending to the empty buffer; it runs under the shard's lock, so it should only copy.
    pub fn get(
        &self,
        _key: KeyRef<'_>,
        _variant: impl Fn(&[u8], &mut Vec<u8>),
        _now: u64,
    ) -> Option<Arc<Object<M>>> {
        todo!()
    }

    /// Finds a usable object, or who fetches it, in one atomic step: a key (once its selector is known, a variant) has
    /// at most one leader younger than `lock_age_ms`. `usable` judges a stored object under the shard's lock:
    /// `|o| o.is_fresh(now)`, or whatever the caller's policy says.
    pub fn claim(
        &self,
        _key: KeyRef<'_>,
        _variant: impl Fn(&[u8], &mut Vec<u8>),
        _usable: impl FnOnce(&Object<M>) -> bool,
        _options: ClaimOptions,
    ) -> Claim<M> {
        todo!()
    }

    /// A writer that nobody will follow, for a fetch after a lock time-out or [`Claim::Pass`] whose answer may still
    /// be stored.
    pub fn fetch_alone(&self, _key: KeyRef<'_>, _now: u64) -> FlightWriter<M> {
        todo!()
    }

    /// Begins the refresh of a stored object; `None` where it is no longer stored or somebody refreshes it already.
    /// After `lease_ms` without completion another refresh may begin.
    pub fn begin_refresh(
        &self,
        _object: &Arc<Object<M>>,
        _now: u64,
        _lease_ms: u64,
    ) -> Option<FlightWriter<M>> {
        todo!()
    }

    /// Counts one more request for `key` and returns the count (`*_cache_min_uses`); after `inactive_ms` without a
    /// request it starts anew. Counts are kept for a bounded number of keys.
    pub fn uses(&self, _key: KeyRef<'_>, _now: u64) -> u32 {
        todo!()
    }

    /// Adds an encoding to a stored object.
    pub fn attach(
        &self,
        _object: &Arc<Object<M>>,
        _index: u8,
        _alternative: Alternative<M::Alternative>,
    ) -> Result<(), AttachError> {
        todo!()
    }

    /// Removes all variants of `key` and returns how many objects that were; what is being fetched at this moment
    /// will not be stored.
    pub fn remove(&self, _key: KeyRef<'_>) -> usize {
        todo!()
    }

    /// Removes everything and returns how many objects that were; what is being fetched at this moment will not be
    /// stored.
    pub fn clear(&self) -> usize {
        todo!()
    }

    /// Removes keys that were not hit for `inactive_ms`, looking at up to `budget` keys from where the last call ended.
    pub fn sweep(&self, _now: u64, _budget: usize) -> Swept {
        todo!()
    }

    /// The figures of this moment.
    pub fn stats(&self) -> ZoneStats {
        todo!()
    }
}
