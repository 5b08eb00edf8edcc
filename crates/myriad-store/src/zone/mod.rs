//! Zones: look-up, claims, purges.

mod claim;
mod disk;
mod inspect;
mod memory;
mod memory_tier;
mod purges;
mod remove;
mod spill;
mod store;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use myriad_disk::index::{HashedKeyRef, KeyNotes, LivePurges, Seed, ZoneBudget};
use parking_lot::{Mutex, MutexGuard, RwLock};

pub use claim::{Claim, ClaimOptions};
pub use disk::PageFile;
pub use inspect::{Cursor, LivePurge};
pub(crate) use spill::finish_spill;

use crate::disk::DiskTier;
use crate::removed_keys::{RemovalReason, RemovedKeys};
use crate::shard::Shard;
use crate::{KeyRef, Metadata, Object, ZoneLimits, ZoneStats};

/// Number of shards of a large zone. With the few threads of a worker process, contention on one of 64 is rare.
const MAX_SHARDS: usize = 64;

/// Minimum cap per shard, in bytes. A smaller zone has fewer shards, which limits their overhead.
const SHARD_BYTES: usize = 256 << 10;

/// Divisor of the cap for key notes.
const NOTES_PART: usize = 64;

/// Named cache. Cloning returns another handle to it. The caller retains it across reloads.
///
/// All shards share one cap, which is never exceeded: bytes are reserved before they are used. Without room, keys are
/// evicted from one shard after another, or the new object is not stored.
pub struct Zone<M: Metadata> {
    inner: Arc<Inner<M>>,
}

pub(crate) struct Inner<M: Metadata> {
    name: Box<str>,
    /// [`Seed`] of its keys' hashes.
    seed: AtomicU64,
    /// Shards; their number is a power of two.
    shards: Box<[Mutex<Shard<M>>]>,
    ledger: ZoneBudget,
    limits: RwLock<ZoneLimits>,
    /// Limit in bytes under memory pressure; [`usize::MAX`] without pressure.
    pressure_limit: AtomicUsize,
    /// Sequence that orders fetches and purges.
    sequence: AtomicU64,
    purges: LivePurges<M>,
    /// Current sweep for purge rules: the newest rule at its start, the shard, and the slot.
    purge_sweep: Mutex<Option<(u64, usize, u32)>>,
    /// All objects in memory were checked by the rules up to this number.
    swept_purges: AtomicU64,
    /// Shard that the next eviction examines first.
    evict_next: AtomicUsize,
    /// Position of the next sweep: shard and slot.
    sweep_next: Mutex<(usize, u32)>,
    rejected: AtomicU64,
    /// Keys that are no longer stored.
    removed_keys: RemovedKeys,
    /// The disk tier, once it is opened.
    tier: OnceLock<Arc<DiskTier<M>>>,
}

impl<M: Metadata> Zone<M> {
    /// Creates an empty zone.
    pub fn new(name: &str, limits: ZoneLimits) -> Self {
        let shards =
            (limits.memory_bytes / SHARD_BYTES).clamp(1, MAX_SHARDS).next_power_of_two().min(MAX_SHARDS);
        let note_sets = (limits.memory_bytes / NOTES_PART / shards / KeyNotes::SET_BYTES).max(1);
        let ledger = ZoneBudget::new(limits.memory_bytes);
        // Reserved permanently, although a shard allocates its notes on first use.
        ledger.try_reserve(shards * note_sets * KeyNotes::SET_BYTES);
        let seed = Seed::random();
        let inner = Inner {
            name: name.into(),
            seed: AtomicU64::new(seed.0),
            shards: (0..shards).map(|_| Mutex::new(Shard::new(note_sets, seed))).collect(),
            ledger,
            limits: RwLock::new(limits),
            pressure_limit: AtomicUsize::new(usize::MAX),
            sequence: AtomicU64::new(1),
            purges: LivePurges::new(seed),
            purge_sweep: Mutex::default(),
            swept_purges: AtomicU64::new(0),
            evict_next: AtomicUsize::new(0),
            sweep_next: Mutex::new((0, 0)),
            rejected: AtomicU64::new(0),
            removed_keys: RemovedKeys::default(),
            tier: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the zone's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the current limits.
    pub fn limits(&self) -> ZoneLimits {
        *self.inner.limits.read()
    }

    /// Changes the limits, for example after a reload. Evicts down to a smaller cap before it returns.
    pub fn resize(&self, limits: ZoneLimits) {
        *self.inner.limits.write() = limits;
        let cap = self.update_cap();
        while self.inner.ledger.used() > cap && self.evict_one(None) {}
    }

    /// Returns the object under `key`, fresh or stale.
    ///
    /// If the key has a selector, `variant` derives this request's variant key from it by appending to the empty
    /// buffer. It runs under the shard's lock, so it should only copy.
    #[inline]
    pub fn get(&self, key: KeyRef<'_>, variant: impl Fn(&[u8], &mut Vec<u8>), now: u64) -> Option<Object<M>> {
        let key = self.key(key);
        let taken = {
            let mut shard = self.shard(key);
            let (found, taken) = shard.lookup_unpurged(key, &variant, &self.inner.purges);
            if let Some((_, object)) = found {
                shard.hit(&object, now);
                return Some(object);
            }
            shard.counts.misses += 1;
            taken
        };
        self.release_taken(taken);
        None
    }

    /// Returns the reason why a key is no longer stored, if it was removed recently.
    pub fn removal_reason(&self, key: KeyRef<'_>) -> Option<RemovalReason> {
        self.inner.removed_keys.of(self.key(key).hash())
    }

    /// Counts a request for `key` and returns the count (`*_cache_min_uses`). The count restarts after `inactive_ms`
    /// without a request. Counts are stored for a bounded number of keys.
    pub fn count_use(&self, key: KeyRef<'_>, now: u64) -> u32 {
        let (key, inactive_ms) = (self.key(key), self.limits().inactive_ms);
        self.shard(key).notes.count(key.table_hash(), now, inactive_ms)
    }

    /// Returns the current statistics. Shards are read one after another.
    pub fn stats(&self) -> ZoneStats {
        let mut stats = ZoneStats {
            bytes: self.inner.ledger.used(),
            limit_bytes: self.inner.ledger.limit(),
            rejected: self.inner.rejected.load(Relaxed),
            ..ZoneStats::default()
        };
        for shard in &self.inner.shards {
            let shard = shard.lock();
            stats.keys += shard.queue.len();
            stats.unused_notes += shard.notes.unused_bytes();
            stats.flights += shard.flights.len();
            stats.objects += shard.counts.objects;
            stats.hits += shard.counts.hits;
            stats.misses += shard.counts.misses;
            stats.stored += shard.counts.stored;
            stats.evictions += shard.counts.evictions;
            stats.expired += shard.counts.expired;
            stats.purged += shard.counts.purged;
        }
        stats
    }

    fn of(inner: &Arc<Inner<M>>) -> Self {
        Self { inner: Arc::clone(inner) }
    }

    #[inline]
    fn key<'k>(&self, key: KeyRef<'k>) -> HashedKeyRef<'k> {
        self.inner.seed().hashed(key.bytes())
    }

    fn key_of<'k>(&self, object: &'k Object<M>) -> HashedKeyRef<'k> {
        self.inner.seed().hashed(object.key())
    }

    #[inline]
    fn shard(&self, key: HashedKeyRef<'_>) -> MutexGuard<'_, Shard<M>> {
        self.inner.shards[self.shard_index(key)].lock()
    }

    #[inline]
    fn shard_index(&self, key: HashedKeyRef<'_>) -> usize {
        key.shard_hash() as usize & (self.inner.shards.len() - 1)
    }
}

impl<M: Metadata> Inner<M> {
    #[inline]
    fn seed(&self) -> Seed {
        Seed(self.seed.load(Relaxed))
    }

    /// Sets the seed of the keys' hashes. No key must have been hashed before.
    fn set_seed(&self, seed: Seed) {
        self.seed.store(seed.0, Relaxed);
        self.purges.set_seed(seed);
        self.shards.iter().for_each(|shard| shard.lock().seed = seed);
    }

    /// Returns the shard of a key that is known only by its hash.
    fn shard_of(&self, hash: u128) -> &Mutex<Shard<M>> {
        &self.shards[(hash >> 64) as usize & (self.shards.len() - 1)]
    }
}

impl<M: Metadata> Clone for Zone<M> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M: Metadata> fmt::Debug for Zone<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zone").field("name", &self.name()).finish_non_exhaustive()
    }
}
