//! Purges by what objects are: by label at once, by any other test as a ban that a sweep follows.
//!
//! They cover memory and what is being fetched or read. A page that lies on disk alone is covered as long as the ban lives: bans are
//! neither written down nor kept for the disk tier yet, so a zone with one must be purged by key.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Zone;
use crate::ban::{Covers, Purge, Retired, Verdict};
use crate::shard::{Shard, Taken};
use crate::{Metadata, Object};

/// Entries that a sweep asks before it lets go of a shard's lock.
const SWEEP_BATCH: u32 = 64;

impl<M: Metadata> Zone<M> {
    /// Purges all objects that bear one of `labels`, with all their variants and encodings, and returns how many they
    /// were. What is being fetched at this moment is not stored, or stale at once, should it turn out to bear one.
    pub fn purge_labels(&self, labels: &[u64], purge: Purge) -> usize {
        let wanted: Box<[u64]> = labels.into();
        let covers = move |_: &[u8], meta: &M| {
            let mut bears = false;
            meta.labels(&mut |label| bears |= wanted.contains(&label));
            bears
        };
        // The ban comes first: what is stored before the index of its shard is read is in that index, and what is stored
        // after it has met the ban, both under the shard's lock.
        let ban = self.inner.bans.add(&self.inner.sequence, "labels".into(), purge, Box::new(covers), false);
        for shard in &self.inner.shards {
            let taken = {
                let mut shard = shard.lock();
                let slots: Vec<u32> = labels.iter().flat_map(|label| shard.labels.slots(*label)).collect();
                let mut taken = Vec::new();
                for slot in slots {
                    self.ask_entry(&mut shard, slot, &mut taken);
                }
                taken
            };
            self.release_all(taken);
        }
        ban.count.load(Relaxed)
    }

    /// Purges all objects that `covers` holds of. Takes effect before it returns, at the cost of one question the next
    /// time an object is looked up; [`Self::tend_bans`] finds the rest and tells how many they were, by `name`. Returns the
    /// purge's place in the zone's sequence.
    pub fn ban(&self, name: &str, purge: Purge, covers: Covers<M>) -> u64 {
        self.inner.bans.add(&self.inner.sequence, name.into(), purge, covers, true).number
    }

    /// Bans that are not retired.
    pub fn live_bans(&self) -> usize {
        self.inner.bans.since(0).len()
    }

    /// Looks for what bans cover among up to `budget` slots from where the last call ended, and returns the bans that are
    /// over. To be called from time to time; does nothing while another thread is at it.
    pub fn tend_bans(&self, budget: usize) -> Vec<Retired> {
        let bans = &self.inner.bans;
        let Some(mut sweep) = self.inner.ban_sweep.try_lock() else { return Vec::new() };
        if bans.is_empty() {
            *sweep = None;
            return Vec::new();
        }
        let mut left = u32::try_from(budget).unwrap_or(u32::MAX);
        let (newest, mut shard, mut slot) = sweep.unwrap_or_else(|| (bans.newest(), 0, 0));
        while left > 0 && shard < self.inner.shards.len() {
            let batch = left.min(SWEEP_BATCH);
            let slots = self.sweep_bans(shard, slot..slot.saturating_add(batch));
            left -= batch.min(slots.saturating_sub(slot)).max(1);
            (shard, slot) = if slot + batch < slots { (shard, slot + batch) } else { (shard + 1, 0) };
        }
        if shard < self.inner.shards.len() {
            *sweep = Some((newest, shard, slot));
            return Vec::new();
        }
        *sweep = None;
        bans.note_swept(newest);
        bans.retire(self.oldest_flight())
    }

    fn sweep_bans(&self, shard: usize, slots: std::ops::Range<u32>) -> u32 {
        let (taken, end) = {
            let mut shard = self.inner.shards[shard].lock();
            let mut taken = Vec::new();
            let end = shard.queue.slots();
            (slots.start..slots.end.min(end)).for_each(|slot| self.ask_entry(&mut shard, slot, &mut taken));
            (taken, end)
        };
        self.release_all(taken);
        end
    }

    /// Asks the bans about all objects of an entry.
    fn ask_entry(&self, shard: &mut Shard<M>, slot: u32, taken: &mut Vec<Taken<M>>) {
        let bans = &self.inner.bans;
        let goes = |object: &Arc<Object<M>>| {
            bans.any_since(object.asked_by()) && bans.judge(object) == Verdict::Goes
        };
        while let Some(position) = shard.queue.at(slot).and_then(|entry| entry.objects.iter().position(goes))
        {
            taken.extend(shard.take(slot, position));
        }
    }

    /// Whether a ban took an object that is about to be stored. Under the lock of its shard.
    pub(super) fn is_banned(&self, object: &Object<M>) -> bool {
        let bans = &self.inner.bans;
        bans.any_since(object.asked_by()) && bans.judge_arriving(object) == Verdict::Goes
    }

    /// The number at which the oldest fetch under way began.
    fn oldest_flight(&self) -> u64 {
        let oldest = |shard: &parking_lot::Mutex<Shard<M>>| {
            shard.lock().flights.iter().map(|record| record.flight.generation).min()
        };
        self.inner.shards.iter().filter_map(oldest).min().unwrap_or(u64::MAX)
    }

    fn release_all(&self, taken: Vec<Taken<M>>) {
        for taken in taken {
            self.release_taken(Some(taken));
        }
    }

    /// Drops what a ban took out. No lock may be held.
    pub(super) fn release_taken(&self, taken: Option<Taken<M>>) {
        match taken {
            None => {}
            Some(Taken::Entry(entry)) => self.release_entry(entry),
            Some(Taken::Object(object)) => {
                let weight = object.weight();
                drop(object);
                self.inner.ledger.release(weight);
            }
        }
    }
}
