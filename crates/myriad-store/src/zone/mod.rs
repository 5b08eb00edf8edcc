//! Cache zones: look-up, claims (right to fetch a key), purges, memory management.

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

/// Maximum number of shards of a zone. With the few threads of a worker process, 64 locks are rarely contended.
const MAX_SHARDS: usize = 64;

/// Part of the memory limit for one shard, in bytes; the number of shards is rounded up to a power of two. A zone with
/// less memory gets fewer shards, which limits their overhead.
const SHARD_BYTES: usize = 256 << 10;

/// Divisor of the memory limit: the part reserved for notes about keys (request counts, marks as uncacheable).
const NOTES_PART: usize = 64;

/// Named cache. Cloning returns another handle of the same cache, which survives reloads if the caller retains it.
///
/// All shards share one memory limit: bytes are reserved before they are used, except those of bodies too long for
/// memory. If memory is short, keys are evicted or the new object is not stored.
pub struct Zone<M: Metadata> {
    inner: Arc<Inner<M>>,
}

pub(crate) struct Inner<M: Metadata> {
    name: Box<str>,
    /// Seed with which keys are hashed.
    seed: AtomicU64,
    /// Shards, between which keys are distributed; the number is a power of two.
    shards: Box<[Mutex<Shard<M>>]>,
    ledger: ZoneBudget,
    limits: RwLock<ZoneLimits>,
    /// Memory limit under memory pressure, in bytes; [`usize::MAX`] without pressure.
    pressure_limit: AtomicUsize,
    /// Sequence number of the next fetch or purge, which orders fetches and purges.
    sequence: AtomicU64,
    purges: LivePurges<M>,
    /// Check of all objects against purge rules, if in progress: the number of the newest rule at its start, the next
    /// shard and slot.
    purge_sweep: Mutex<Option<(u64, usize, u32)>>,
    /// Number up to which purges by rule have been checked against all objects in memory.
    swept_purges: AtomicU64,
    /// Number of calls of [`Zone::evict_one`] so far. Its low bits are the shard that an eviction examines if it has no
    /// preferred shard, and compares with the preferred one otherwise.
    evict_next: AtomicUsize,
    /// Position at which the next [`Zone::sweep`] continues: shard and slot.
    sweep_next: Mutex<(usize, u32)>,
    rejected: AtomicU64,
    /// Reasons for which keys were removed recently.
    removed_keys: RemovedKeys,
    /// Disk tier; unset until it is opened.
    tier: OnceLock<Arc<DiskTier<M>>>,
}

impl<M: Metadata> Zone<M> {
    /// Creates an empty zone without a disk tier.
    pub fn new(name: &str, limits: ZoneLimits) -> Self {
        let shards =
            (limits.memory_bytes / SHARD_BYTES).clamp(1, MAX_SHARDS).next_power_of_two().min(MAX_SHARDS);
        let note_sets = (limits.memory_bytes / NOTES_PART / shards / KeyNotes::SET_BYTES).max(1);
        let ledger = ZoneBudget::new(limits.memory_bytes);
        // Memory for key notes is reserved permanently, although a shard allocates it on first use.
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

    /// Returns the current limits of the zone.
    pub fn limits(&self) -> ZoneLimits {
        *self.inner.limits.read()
    }

    /// Changes the limits of the zone, for example after a reload. Evicts keys down to a smaller memory limit before it
    /// returns.
    pub fn resize(&self, limits: ZoneLimits) {
        *self.inner.limits.write() = limits;
        let cap = self.update_cap();
        while self.inner.ledger.used() > cap && self.evict_one(None) {}
    }

    /// Returns the object for `key` and counts a hit or miss. The object may be stale; objects removed by a purge are
    /// not returned.
    ///
    /// If the key has variants, `variant` receives their selector (names of request fields in `Vary`) and must append
    /// the request's values to the empty buffer. It runs under the shard's lock, so it must be fast.
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

    /// Returns the reason for which objects of a key were last removed from memory; `None` if that was not recorded, or
    /// not recently. The number of recorded keys is limited.
    pub fn removal_reason(&self, key: KeyRef<'_>) -> Option<RemovalReason> {
        self.inner.removed_keys.of(self.key(key).hash())
    }

    /// Counts a request for `key` and returns the count (`*_cache_min_uses`). The count restarts after `inactive_ms`
    /// without a request, and may be lost, because the number of counted keys is limited.
    pub fn count_use(&self, key: KeyRef<'_>, now: u64) -> u32 {
        let (key, inactive_ms) = (self.key(key), self.limits().inactive_ms);
        self.shard(key).notes.count(key.table_hash(), now, inactive_ms)
    }

    /// Returns the current statistics of the zone. The shards are read one after another, so the figures may not match
    /// exactly.
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

    /// Changes the seed with which keys are hashed. Must be called before the first key is hashed.
    fn set_seed(&self, seed: Seed) {
        self.seed.store(seed.0, Relaxed);
        self.purges.set_seed(seed);
        self.shards.iter().for_each(|shard| shard.lock().seed = seed);
    }

    /// Returns the shard of the key with this hash.
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
