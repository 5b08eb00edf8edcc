//! Making room: reservations under the cap, eviction, the sweep of what nobody asks for.

use std::sync::atomic::Ordering::Relaxed;

use myriad_index::Hashed;

use super::Zone;
use crate::gone::Gone;
use crate::shard::Entry;
use crate::{Metadata, Swept};

/// Keys that a sweep looks at before it lets go of a shard's lock: some microseconds.
const SWEEP_BATCH: u32 = 64;
/// Keys that a reservation evicts at most where more is in use than the cap, beside what it needs itself: an event loop makes it, and what
/// a lower cap leaves too much may be thousands of pages. Some tens of microseconds.
const EXCESS_BATCH: u32 = 32;

impl<M: Metadata> Zone<M> {
    /// Reserves `bytes` of the cap for `key`, evicting for them; false where nothing is left to evict, or where the cap was lowered and
    /// far more is in use: that leaves by [`Self::shrink`]. No lock may be held.
    pub(super) fn reserve(&self, key: Hashed<'_>, bytes: usize) -> bool {
        let ledger = &self.inner.ledger;
        let mut excess = 0;
        while !ledger.try_reserve(bytes) {
            if ledger.used() > ledger.limit() {
                if excess == EXCESS_BATCH {
                    return false;
                }
                excess += 1;
            }
            if bytes > ledger.limit() || !self.evict_one(Some(self.shard_index(key))) {
                return false;
            }
        }
        true
    }

    /// Reserves `bytes` for a body on its way; such bodies get half of the cap at most.
    pub(crate) fn reserve_arriving(&self, key: Hashed<'_>, bytes: usize) -> bool {
        self.inner.ledger.try_arrive(bytes) && self.reserve_counted(key, bytes)
    }

    /// Reserves `bytes` for a body that is too long to be held; such bodies get a quarter of the cap at most.
    pub(crate) fn reserve_passing(&self, key: Hashed<'_>, bytes: usize) -> bool {
        self.inner.ledger.try_pass(bytes) && self.reserve_counted(key, bytes)
    }

    /// Reserves what is counted as on its way; where that fails, it is no longer.
    fn reserve_counted(&self, key: Hashed<'_>, bytes: usize) -> bool {
        let reserved = self.reserve(key, bytes);
        if !reserved {
            self.arrived(bytes);
        }
        reserved
    }

    /// Counts bytes as no longer on their way; they stay reserved.
    pub(crate) fn arrived(&self, bytes: usize) {
        self.inner.ledger.arrived(bytes);
    }

    pub(crate) fn release_arriving(&self, bytes: usize) {
        self.arrived(bytes);
        self.inner.ledger.release(bytes);
    }

    /// The shard to evict from: that of the key that wants room, so that each shard keeps its own balance of newcomers and
    /// others (one shard after another costs 0.8 points of hit rate, as those pay for a scan that it has yet to reach);
    /// but one that holds clearly more than that first.
    fn shard_to_evict_from(&self, home: Option<usize>) -> usize {
        let shards = &self.inner.shards;
        let next = self.inner.evict_next.fetch_add(1, Relaxed) & (shards.len() - 1);
        let Some(home) = home else { return next };
        let keys = |shard: usize| shards[shard].lock().queue.len();
        let own = keys(home);
        if keys(next) > own + own / 8 + 8 { next } else { home }
    }

    /// Evicts one key; false where there is none. `home` is the shard of the key that wants room.
    pub(super) fn evict_one(&self, home: Option<usize>) -> bool {
        let shards = &self.inner.shards;
        let first = self.shard_to_evict_from(home);
        for step in 0..shards.len() {
            let evicted = shards[first.wrapping_add(step) & (shards.len() - 1)].lock().evict();
            if let Some(entry) = evicted {
                self.note_evicted(&entry);
                self.note_gone(&entry, Gone::Evicted);
                self.release_entry(entry);
                return true;
            }
        }
        false
    }

    /// Bounds the zone to so many bytes for want of memory, [`usize::MAX`] where there is enough, beside what the configuration says.
    /// From now on what is stored displaces what is there; what is too much leaves by [`Self::shrink`].
    pub fn press(&self, bytes: usize) {
        self.inner.pressed.store(bytes, Relaxed);
        self.hold_cap();
    }

    /// Bytes that it holds now.
    pub fn used(&self) -> usize {
        self.inner.ledger.used()
    }

    /// Bytes that it may hold now.
    pub fn cap(&self) -> usize {
        self.inner.ledger.limit()
    }

    /// Evicts down to the cap, at most so many keys, and returns how many. Each is taken out under the lock of its shard, which is let
    /// go before the next: a look-up waits for one of them at most. What lies on disk stays there.
    pub fn shrink(&self, keys: usize) -> usize {
        let ledger = &self.inner.ledger;
        (0..keys).take_while(|_| ledger.used() > ledger.limit() && self.evict_one(None)).count()
    }

    /// The cap that holds: what the configuration says, or less for want of memory.
    pub(super) fn hold_cap(&self) -> usize {
        let cap = self.limits().memory_bytes.min(self.inner.pressed.load(Relaxed));
        self.inner.ledger.set_limit(cap);
        cap
    }

    /// Remembers why an entry was taken out.
    pub(super) fn note_gone(&self, entry: &Entry<M>, why: Gone) {
        self.inner.gone.note(entry.key(self.inner.seed()).hash(), why);
    }

    /// Drops an entry that was taken out, then gives its bytes back. No lock may be held.
    pub(super) fn release_entry(&self, entry: Entry<M>) {
        let weight = entry.weight();
        drop(entry);
        self.inner.ledger.release(weight);
    }

    /// Removes keys that were not hit for `inactive_ms`, looking at up to `budget` slots from where the last call
    /// ended. Does nothing while another thread sweeps.
    pub fn sweep(&self, now: u64, budget: usize) -> Swept {
        let inactive_ms = self.limits().inactive_ms;
        let mut swept = Swept::default();
        let Some(mut next) = self.inner.sweep_next.try_lock() else { return swept };
        let mut left = u32::try_from(budget).unwrap_or(u32::MAX);
        while left > 0 && !swept.finished {
            let (shard, slot) = *next;
            let batch = left.min(SWEEP_BATCH);
            let (dead, slots) =
                self.sweep_batch(shard, slot..slot.saturating_add(batch), now, inactive_ms, &mut swept);
            for entry in dead {
                self.note_gone(&entry, Gone::Evicted);
                self.release_entry(entry);
            }
            // An empty shard costs one of the budget as well: its lock was taken.
            left -= batch.min(slots.saturating_sub(slot)).max(1);
            *next = if slot + batch < slots { (shard, slot + batch) } else { (shard + 1, 0) };
            if next.0 == self.inner.shards.len() {
                *next = (0, 0);
                swept.finished = true;
            }
        }
        swept
    }

    fn sweep_batch(
        &self,
        shard: usize,
        slots: std::ops::Range<u32>,
        now: u64,
        inactive_ms: u64,
        swept: &mut Swept,
    ) -> (Vec<Entry<M>>, u32) {
        let mut shard = self.inner.shards[shard].lock();
        let mut dead = Vec::new();
        for slot in slots.start..slots.end.min(shard.queue.slots()) {
            let Some(entry) = shard.queue.at(slot) else { continue };
            swept.examined += 1;
            if now.saturating_sub(entry.last_used()) >= inactive_ms {
                dead.extend(shard.remove(slot));
            }
        }
        swept.removed += dead.len();
        shard.counts.expired += dead.len() as u64;
        (dead, shard.queue.slots())
    }
}
