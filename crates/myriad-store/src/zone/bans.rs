//! Purges in memory: by key and label at once, by rule as a test that a sweep follows.

use std::sync::Arc;

use super::Zone;
use crate::ban::{Exact, Retired, Verdict};
use crate::shard::{Role, Shard, Taken};
use crate::{Count, Covered, KeyRef, MOST_RULE, Metadata, Object, Purge, PurgeError, Purged, Purging};

/// Entries that a sweep asks before it lets go of a shard's lock.
const SWEEP_BATCH: u32 = 64;

/// How far the purges have been asked about what is in memory.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// The round under way: the newest purge when it began, shard, slot.
    round: Option<(u64, usize, u32)>,
    /// All objects were asked by the purges up to this number.
    swept: u64,
}

impl<M: Metadata> Zone<M> {
    /// Purges what `covered` says. It holds from this moment on for everybody who asks, at the cost of one question the
    /// next time a page is looked up; once [`Purging`] has ended it survives a crash, and pages that are named exactly are
    /// counted.
    pub fn purge(&self, covered: Covered<'_>, purge: Purge) -> Purging {
        let (bans, sequence) = (&self.inner.bans, &self.inner.sequence);
        let added = match covered {
            Covered::Exact { keys, addresses, labels } => {
                return self.purge_exact(keys, addresses, labels, purge);
            }
            Covered::Rule { name, rule } if name.len() <= MOST_RULE && rule.len() <= MOST_RULE => {
                match M::covers(rule) {
                    Some(covers) => bans.add_test(sequence, name, purge, Some(covers)),
                    None => Err(PurgeError::Rule),
                }
            }
            Covered::Rule { .. } => Err(PurgeError::Rule),
            Covered::All => bans.add_test(sequence, "all", purge, None),
        };
        Purging::done(added.map(|number| Purged { number, count: Count::Later }))
    }

    fn purge_exact(&self, keys: &[KeyRef<'_>], addresses: &[u64], labels: &[u64], purge: Purge) -> Purging {
        let hashes: Vec<u128> = keys.iter().map(|key| key.hash()).collect();
        // The purge comes first: what is stored before the index of its shard is read is in that index, and what is stored
        // after it has met the purge, both under the shard's lock.
        let added = self.inner.bans.add_exact(&self.inner.sequence, purge, &hashes, addresses, labels);
        Purging::done(added.map(|exact| {
            self.take_exact(&exact);
            let count = Count::Exact(self.inner.bans.end_count(&exact));
            Purged { number: exact.number, count }
        }))
    }

    /// Finds in memory what a purge names exactly.
    fn take_exact(&self, exact: &Exact) {
        for key in &exact.keys {
            let taken = {
                let mut shard = self.inner.shard_of(*key).lock();
                if exact.purge == Purge::Hard {
                    shard.forget_flights(*key);
                }
                let slot = shard.find_hash(*key);
                self.ask_slots(&mut shard, slot)
            };
            self.release_all(taken);
        }
        if exact.labels.is_empty() {
            return;
        }
        for shard in &self.inner.shards {
            let taken = {
                let mut shard = shard.lock();
                let slots: Vec<u32> =
                    exact.labels.iter().flat_map(|label| shard.labels.slots(*label)).collect();
                self.ask_slots(&mut shard, slots)
            };
            self.release_all(taken);
        }
    }

    /// Keys, labels and rules that are asked at look-ups now.
    pub fn live_bans(&self) -> usize {
        self.inner.bans.len()
    }

    /// Looks for what rules cover among up to `budget` slots from where the last call ended, and returns the purges that are
    /// over. To be called from time to time; does nothing while another thread is at it.
    pub fn tend_bans(&self, budget: usize) -> Vec<Retired> {
        let bans = &self.inner.bans;
        let Some(mut sweep) = self.inner.ban_sweep.try_lock() else { return Vec::new() };
        if bans.is_empty() {
            *sweep = Sweep::default();
            return Vec::new();
        }
        let mut left = u32::try_from(budget).unwrap_or(u32::MAX);
        let newest = bans.newest_test();
        if newest > sweep.swept {
            let (newest, mut shard, mut slot) = sweep.round.take().unwrap_or((newest, 0, 0));
            while left > 0 && shard < self.inner.shards.len() {
                let batch = left.min(SWEEP_BATCH);
                let slots = self.sweep_bans(shard, slot..slot.saturating_add(batch));
                left -= batch.min(slots.saturating_sub(slot)).max(1);
                (shard, slot) = if slot + batch < slots { (shard, slot + batch) } else { (shard + 1, 0) };
            }
            if shard < self.inner.shards.len() {
                sweep.round = Some((newest, shard, slot));
                return Vec::new();
            }
            sweep.swept = newest;
        }
        let below = if bans.newest_test() > sweep.swept { sweep.swept + 1 } else { u64::MAX };
        bans.retire(below.min(self.oldest_flight()))
    }

    fn sweep_bans(&self, shard: usize, slots: std::ops::Range<u32>) -> u32 {
        let (taken, end) = {
            let mut shard = self.inner.shards[shard].lock();
            let end = shard.queue.slots();
            (self.ask_slots(&mut shard, slots.start..slots.end.min(end)), end)
        };
        self.release_all(taken);
        end
    }

    /// Asks the purges about all objects of some entries, and takes out what they cover.
    fn ask_slots(&self, shard: &mut Shard<M>, slots: impl IntoIterator<Item = u32>) -> Vec<Taken<M>> {
        let bans = &self.inner.bans;
        let goes = |object: &Arc<Object<M>>| {
            bans.any_since(object.asked_by()) && bans.judge(object) == Verdict::Goes
        };
        let mut taken = Vec::new();
        for slot in slots {
            while let Some(position) =
                shard.queue.at(slot).and_then(|entry| entry.objects.iter().position(goes))
            {
                taken.extend(shard.take(slot, position));
            }
        }
        taken
    }

    /// Whether a purge took an object that is about to be stored. Under the lock of its shard.
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

    /// Drops what a purge took out. No lock may be held.
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

impl<M: Metadata> Shard<M> {
    /// What is being fetched of a key is not stored, and nobody follows it any more.
    fn forget_flights(&mut self, key: u128) {
        let flights = self.flights.iter_hash_mut(key as u64);
        let of_key = flights.filter(|record| record.flight.key.as_ref().hash() == key);
        of_key.for_each(|record| record.role = Role::Purged);
        self.notes.clear_pass(key as u64);
    }
}
