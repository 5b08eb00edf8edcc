//! Purges in memory: of keys and labels at once, by rule at look-ups and by a sweep.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use myriad_index::{ExactPurge, PurgeRecord, Retired, Verdict, Walk};

use super::{Inner, Zone};
use crate::gone::Gone;
use crate::shard::{Role, Shard, Taken};
use crate::{Count, Covered, MOST_RULE, Metadata, Object, Purge, PurgeError, Purged, Purging};

/// Entries that are asked before a shard's lock is let go of.
const BATCH: u32 = 64;

impl<M: Metadata> Zone<M> {
    /// Purges the pages that `covered` says. It is in force from now on for all requests: each page is asked once, at its next
    /// look-up. Once [`Purging`] has ended it survives a crash, and pages of keys and labels are counted. Where the zone has a
    /// folder, nothing is written and no page is looked for on the caller's thread.
    ///
    /// A page that a soft purge covers has to be fetched before it is shown again ([`Object::fresh_until`] is 0), but may be used
    /// where that fails; [`Self::purge_from`] leaves it stale.
    pub fn purge(&self, covered: Covered<'_>, purge: Purge) -> Purging {
        self.purge_from(covered, purge, 0)
    }

    /// As [`Self::purge`]; pages that a soft purge covers are stale from that time on, in ms since the epoch.
    pub fn purge_from(&self, covered: Covered<'_>, purge: Purge, from: u64) -> Purging {
        let (purges, sequence) = (&self.inner.purges, &self.inner.sequence);
        let added = match covered {
            Covered::Exact { keys, addresses, labels } => {
                // The purge comes first. A page that is stored before the index of its shard is read is in that index; a page
                // that is stored after it has met the purge. Both happen under the shard's lock.
                let add = || purges.add_exact(sequence, purge, keys, addresses, labels);
                return match self.add_purge(add) {
                    Ok(exact) => {
                        self.note_stale_from(exact.number, purge, from);
                        self.purge_exact(exact)
                    }
                    Err(error) => Purging::done(Err(error)),
                };
            }
            Covered::Rule { name, rule } if name.len() <= MOST_RULE && rule.len() <= MOST_RULE => self
                .add_purge(|| match M::covers(rule) {
                    Some(covers) => purges.add_rule(sequence, name, purge, Some((rule, covers))),
                    None => Err(PurgeError::Rule),
                }),
            Covered::Rule { .. } => Err(PurgeError::Rule),
            Covered::All => self.add_purge(|| purges.add_rule(sequence, "all", purge, None)),
        };
        if let Ok(entry) = &added {
            self.note_stale_from(entry.number(), purge, from);
        }
        match (added, self.tier()) {
            (Ok(record), Some(tier)) => tier.disk.purge(record, None),
            (added, _) => {
                let purged = |entry: PurgeRecord| Purged { number: entry.number(), count: Count::Later };
                Purging::done(added.map(purged))
            }
        }
    }

    fn note_stale_from(&self, number: u64, purge: Purge, from: u64) {
        if purge == Purge::Soft && from > 0 {
            self.inner.purges.note_stale_from(number, from);
        }
    }

    /// Adds a purge. Where there are as many as may be, those that only wait for a fetch to end are forgotten first, and the
    /// pages of those fetches are not stored.
    fn add_purge<T>(&self, add: impl Fn() -> Result<T, PurgeError>) -> Result<T, PurgeError> {
        match add() {
            Err(PurgeError::TooMany) => {
                let below = self.forgettable();
                self.inner.let_fetches_go(below);
                self.inner.purges.retire(below.min(oldest_flight(&self.inner)));
                add()
            }
            added => added,
        }
    }

    fn purge_exact(&self, exact: Arc<ExactPurge>) -> Purging {
        let (number, purge) = (exact.number, exact.purge);
        if let Some(tier) = self.tier() {
            let (keys, labels) = (exact.keys.clone(), exact.labels.clone());
            return tier.disk.purge(PurgeRecord::Exact { number, purge, keys, labels }, Some(exact));
        }
        self.take_exact(&exact);
        let count = Count::Exact(self.inner.purges.end_count(&exact));
        Purging::done(Ok(Purged { number, count }))
    }

    /// Finds the pages of a purge's keys and labels in memory.
    pub(super) fn take_exact(&self, exact: &ExactPurge) {
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
        for shard in &self.inner.shards {
            let mut walk = Walk::default();
            // An object that comes into a slot after this has met the purge.
            while !walk.is_over(&exact.labels) {
                let taken = {
                    let mut shard = shard.lock();
                    let slots = shard.labels.next(&exact.labels, &mut walk, BATCH as usize);
                    self.ask_slots(&mut shard, slots)
                };
                self.release_all(taken);
            }
        }
    }

    /// Keys, labels and rules in force, which look-ups ask.
    pub fn live_purges(&self) -> usize {
        self.inner.purges.len()
    }

    /// Looks for pages that rules cover among up to `budget` slots from where the last call ended, and returns the purges whose
    /// pages are counted, in memory and on disk. To be called from time to time; does nothing while another thread is at it.
    pub fn tend_purges(&self, budget: usize) -> Vec<Retired> {
        let purges = &self.inner.purges;
        let Some(mut round) = self.inner.purge_sweep.try_lock() else { return Vec::new() };
        if purges.is_empty() {
            *round = None;
            return Vec::new();
        }
        let newest = purges.newest_rule();
        let swept = &self.inner.swept_purges;
        if newest > swept.load(SeqCst) {
            let mut left = u32::try_from(budget).unwrap_or(u32::MAX);
            let (newest, mut shard, mut slot) = round.take().unwrap_or((newest, 0, 0));
            while left > 0 && shard < self.inner.shards.len() {
                let batch = left.min(BATCH);
                let slots = self.sweep_purges(shard, slot..slot.saturating_add(batch));
                left -= batch.min(slots.saturating_sub(slot)).max(1);
                (shard, slot) = if slot + batch < slots { (shard, slot + batch) } else { (shard + 1, 0) };
            }
            if shard < self.inner.shards.len() {
                *round = Some((newest, shard, slot));
                return Vec::new();
            }
            swept.store(newest, SeqCst);
        }
        self.retire_purges()
    }

    fn retire_purges(&self) -> Vec<Retired> {
        let told = self.inner.purges.tell(self.asked());
        self.inner.purges.retire(self.forgettable().min(oldest_flight(&self.inner)));
        told
    }

    /// All pages were asked by the rules up to this number.
    fn asked(&self) -> u64 {
        let on_disk = self.tier().map_or(u64::MAX, |tier| tier.disk.asked());
        on_disk.min(self.inner.swept_purges.load(SeqCst))
    }

    /// Purges with numbers below this are of no concern to any page that is stored.
    fn forgettable(&self) -> u64 {
        let asked = self.asked();
        let settled = self.tier().map_or(u64::MAX, |tier| tier.disk.settled());
        let below = if self.inner.purges.newest_rule() > asked { asked.saturating_add(1) } else { u64::MAX };
        below.min(settled.saturating_add(1))
    }

    fn sweep_purges(&self, shard: usize, slots: std::ops::Range<u32>) -> u32 {
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
        let purges = &self.inner.purges;
        let goes =
            |object: &Object<M>| purges.any_since(object.asked_by()) && purges.judge(object) == Verdict::Goes;
        let mut taken = Vec::new();
        for slot in slots {
            while let Some(position) =
                shard.queue.at(slot).and_then(|entry| entry.objects.iter().position(goes))
            {
                taken.extend(shard.purge(slot, position));
            }
        }
        taken
    }

    /// What the purges since its fetch say of a page that is in a file, and the newest of them; `None` where there is none.
    /// Purges after `count` count it.
    pub(crate) fn judge_filed(&self, object: &Object<M>, count: Option<u64>) -> Option<(Verdict, u64)> {
        let purges = &self.inner.purges;
        purges.any_since(object.generation()).then(|| purges.judge_filed(object, count))
    }

    /// Whether a purge took an object that is about to be stored. Under the lock of its shard.
    pub(super) fn is_purged(&self, object: &Object<M>) -> bool {
        let purges = &self.inner.purges;
        purges.any_since(object.asked_by()) && purges.judge_arriving(object) == Verdict::Goes
    }

    fn release_all(&self, taken: Vec<Taken<M>>) {
        for taken in taken {
            self.release_taken(Some(taken));
        }
    }

    /// Drops objects that a purge took out, and their files. No lock may be held.
    pub(super) fn release_taken(&self, taken: Option<Taken<M>>) {
        let Some(taken) = taken else { return };
        match &taken {
            Taken::Entry(entry) => self.note_gone(entry, Gone::Purged),
            Taken::Object(object) => self.inner.gone.note(self.key_of(object).hash(), Gone::Purged),
        }
        if let Some(tier) = self.tier() {
            let objects = match &taken {
                Taken::Entry(entry) => &entry.objects[..],
                Taken::Object(object) => std::slice::from_ref(object),
            };
            for object in objects {
                tier.disk.discard(&tier.id(object));
            }
        }
        self.drop_taken(taken);
    }

    /// Drops objects that were taken out of memory, and leaves their files alone. No lock may be held.
    pub(super) fn drop_taken(&self, taken: Taken<M>) {
        match taken {
            Taken::Entry(entry) => self.release_entry(entry),
            Taken::Object(object) => {
                let weight = object.weight();
                drop(object);
                self.inner.ledger.release(weight);
            }
        }
    }
}

/// The number at which the oldest fetch under way began whose page may be stored; the highest where there is none.
pub(super) fn oldest_flight<M: Metadata>(zone: &Inner<M>) -> u64 {
    let oldest = |shard: &parking_lot::Mutex<Shard<M>>| {
        let shard = shard.lock();
        let storing = shard.flights.iter().filter(|record| record.may_store && record.role != Role::Purged);
        storing.map(|record| record.flight.generation).min()
    };
    zone.shards.iter().filter_map(oldest).min().unwrap_or(u64::MAX)
}

impl<M: Metadata> Inner<M> {
    /// Has no page stored whose fetch began before `number`, so that no purge need be kept for it.
    pub(super) fn let_fetches_go(&self, number: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let older = shard.flights.iter_mut().filter(|record| record.flight.generation < number);
            older.for_each(|record| record.role = Role::Purged);
        }
    }
}

impl<M: Metadata> Shard<M> {
    /// Pages of a key that are being fetched are not stored, and claims do not wait for them any more.
    pub(super) fn forget_flights(&mut self, key: u128) {
        let flights = self.flights.iter_hash_mut(key as u64);
        let of_key = flights.filter(|record| record.flight.key.as_ref().hash() == key);
        of_key.for_each(|record| record.role = Role::Purged);
        self.notes.clear_pass(key as u64);
    }
}
