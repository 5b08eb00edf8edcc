//! Purges of a cache zone: those of keys and labels are applied immediately, those by rule at look-ups and in the
//! background.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use myriad_disk::index::{
    ExactPurge, FinishedPurge, LabelWalk, NAME_OF_ALL, NAME_OF_EXPIRY, PurgeRecord, PurgeVerdict,
};

use super::{Inner, Zone};
use crate::removed_keys::RemovalReason;
use crate::shard::{FlightRole, RemovedItem, Shard};
use crate::{
    LoggedPurge, MAX_RULE_LEN, Metadata, Object, PurgeCount, PurgeError, PurgeFuture, PurgeKind, PurgeScope,
};

/// Number of entries that are checked against purges while a shard is locked once.
const BATCH: u32 = 64;

impl<M: Metadata> Zone<M> {
    /// Purges the pages that `covered` describes.
    ///
    /// The purge is active when this returns, unless it is refused ([`PurgeError::Rule`], [`PurgeError::TooMany`]):
    /// each page is checked at its next look-up. Once the [`PurgeFuture`] completes, the purge survives a crash, and
    /// the pages of purged keys and labels have been counted. In a zone with a folder, the calling thread neither
    /// writes nor searches for pages.
    ///
    /// A page covered by a soft purge must be fetched before it is served again ([`Object::fresh_until`] is 0), but may
    /// be used if that fetch fails. With [`Self::purge_from`], it is stale instead and can be served while it is
    /// updated.
    pub fn purge(&self, covered: PurgeScope<'_>, purge: PurgeKind) -> PurgeFuture {
        self.purge_from(covered, purge, 0)
    }

    /// Like [`Self::purge`], but pages covered by a soft purge are stale from `from` on (milliseconds since the epoch).
    pub fn purge_from(&self, covered: PurgeScope<'_>, purge: PurgeKind, from: u64) -> PurgeFuture {
        let (purges, sequence) = (&self.inner.purges, &self.inner.sequence);
        let added = match covered {
            PurgeScope::Exact { keys, addresses, labels } => {
                // The purge is added first. A page stored before its shard's index is searched is found in the index; a
                // page stored later is checked against the purge. Both happen under the shard's lock.
                let add = || purges.add_exact(sequence, purge, keys, addresses, labels);
                return match self.add_purge(add) {
                    Ok(exact) => {
                        self.note_stale_from(exact.number, purge, from);
                        self.purge_exact(exact)
                    }
                    Err(error) => PurgeFuture::done(Err(error)),
                };
            }
            PurgeScope::Rule { name, rule } if name.len() <= MAX_RULE_LEN && rule.len() <= MAX_RULE_LEN => {
                self.add_purge(|| match M::covers(rule) {
                    Some(covers) => purges.add_rule(sequence, name, purge, Some((rule, covers))),
                    None => Err(PurgeError::Rule),
                })
            }
            PurgeScope::Rule { .. } => Err(PurgeError::Rule),
            PurgeScope::All => self.add_purge(|| purges.add_rule(sequence, NAME_OF_ALL, purge, None)),
            PurgeScope::Expiry => self.add_purge(|| purges.add_rule(sequence, NAME_OF_EXPIRY, purge, None)),
        };
        if let Ok(entry) = &added {
            self.note_stale_from(entry.number(), purge, from);
        }
        match (added, self.tier()) {
            (Ok(record), Some(tier)) => tier.disk.purge(record, None),
            (added, _) => {
                let purged =
                    |entry: PurgeRecord| LoggedPurge { number: entry.number(), count: PurgeCount::Later };
                PurgeFuture::done(added.map(purged))
            }
        }
    }

    fn note_stale_from(&self, number: u64, purge: PurgeKind, from: u64) {
        if purge == PurgeKind::Soft && from > 0 {
            self.inner.purges.note_stale_from(number, from);
        }
    }

    /// Adds a purge. If the maximum number of purges is reached, obsolete purges are removed first. For this, older
    /// fetches in progress are prevented from storing their objects.
    fn add_purge<T>(&self, add: impl Fn() -> Result<T, PurgeError>) -> Result<T, PurgeError> {
        match add() {
            Err(PurgeError::TooMany) => {
                let below = self.forgettable();
                self.inner.prevent_storing_before(below);
                self.inner.purges.retire(below.min(oldest_flight(&self.inner)));
                add()
            }
            added => added,
        }
    }

    fn purge_exact(&self, exact: Arc<ExactPurge>) -> PurgeFuture {
        let (number, purge) = (exact.number, exact.purge);
        if let Some(tier) = self.tier() {
            let (keys, labels) = (exact.keys.clone(), exact.labels.clone());
            return tier.disk.purge(PurgeRecord::Exact { number, purge, keys, labels }, Some(exact));
        }
        self.apply_exact(&exact);
        let count = PurgeCount::Exact(self.inner.purges.end_count(&exact));
        PurgeFuture::done(Ok(LoggedPurge { number, count }))
    }

    /// Applies a purge of keys and labels to the objects in memory.
    pub(super) fn apply_exact(&self, exact: &ExactPurge) {
        for key in &exact.keys {
            let taken = {
                let mut shard = self.inner.shard_of(*key).lock();
                if exact.purge == PurgeKind::Hard {
                    shard.forget_flights(*key);
                }
                let slot = shard.find_hash(*key);
                self.judge_slots(&mut shard, slot)
            };
            self.release_all(taken);
        }
        for shard in &self.inner.shards {
            let mut walk = LabelWalk::default();
            // An object that is stored in a slot later has been checked against the purge.
            while !walk.is_over(&exact.labels) {
                let taken = {
                    let mut shard = shard.lock();
                    let slots = shard.labels.next(&exact.labels, &mut walk, BATCH as usize);
                    self.judge_slots(&mut shard, slots)
                };
                self.release_all(taken);
            }
        }
    }

    /// Returns the number of keys, labels and rules with active purges.
    pub fn live_purges(&self) -> usize {
        self.inner.purges.len()
    }

    /// Checks up to `budget` slots in memory against purge rules, continuing where the last call ended. Returns the
    /// purges by rule that have been completed, in memory and on disk, with the numbers of covered pages.
    ///
    /// Must be called periodically. Does nothing if another thread is in this function.
    pub fn maintain_purges(&self, budget: usize) -> Vec<FinishedPurge> {
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

    fn retire_purges(&self) -> Vec<FinishedPurge> {
        let finished = self.inner.purges.take_finished(self.checked_through());
        self.inner.purges.retire(self.forgettable().min(oldest_flight(&self.inner)));
        finished
    }

    /// Returns the purge number up to which all purges by rule have been checked against every page, in memory and on
    /// disk.
    fn checked_through(&self) -> u64 {
        let on_disk = self.tier().map_or(u64::MAX, |tier| tier.disk.checked_through());
        on_disk.min(self.inner.swept_purges.load(SeqCst))
    }

    /// Returns the number below which no purge can cover a stored page any more, so that these purges can be removed.
    fn forgettable(&self) -> u64 {
        let asked = self.checked_through();
        let settled = self.tier().map_or(u64::MAX, |tier| tier.disk.forgotten_through());
        let below = if self.inner.purges.newest_rule() > asked { asked.saturating_add(1) } else { u64::MAX };
        below.min(settled.saturating_add(1))
    }

    fn sweep_purges(&self, shard: usize, slots: std::ops::Range<u32>) -> u32 {
        let (taken, end) = {
            let mut shard = self.inner.shards[shard].lock();
            let end = shard.queue.slots();
            (self.judge_slots(&mut shard, slots.start..slots.end.min(end)), end)
        };
        self.release_all(taken);
        end
    }

    /// Checks all objects in some slots against the purges, and removes and returns those that are purged.
    fn judge_slots(&self, shard: &mut Shard<M>, slots: impl IntoIterator<Item = u32>) -> Vec<RemovedItem<M>> {
        let purges = &self.inner.purges;
        let goes = |object: &Object<M>| {
            purges.any_since(object.last_purge_applied()) && purges.judge(object) == PurgeVerdict::Removed
        };
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

    /// Judges a page in a file by the purges since the page's fetch. Returns the verdict and the number of the newest
    /// purge; `None` if there was no purge since then. Purges with numbers above `count` count the page; none if
    /// `count` is `None`.
    pub(crate) fn judge_filed(&self, object: &Object<M>, count: Option<u64>) -> Option<(PurgeVerdict, u64)> {
        let purges = &self.inner.purges;
        purges.any_since(object.generation()).then(|| purges.judge_filed(object, count))
    }

    /// Returns true if a hard purge covers an object that is about to be stored. If a soft purge does, makes the object
    /// stale. The caller must hold the shard's lock.
    pub(super) fn is_purged(&self, object: &Object<M>) -> bool {
        let purges = &self.inner.purges;
        purges.any_since(object.last_purge_applied())
            && purges.judge_arriving(object) == PurgeVerdict::Removed
    }

    fn release_all(&self, taken: Vec<RemovedItem<M>>) {
        for taken in taken {
            self.release_taken(Some(taken));
        }
    }

    /// Drops an entry or object that a purge removed from memory, and removes its files. The caller must hold no lock.
    pub(super) fn release_taken(&self, taken: Option<RemovedItem<M>>) {
        let Some(taken) = taken else { return };
        match &taken {
            RemovedItem::Entry(entry) => self.note_removal(entry, RemovalReason::Purged),
            RemovedItem::Object(object) => {
                self.inner.removed_keys.note(self.key_of(object).hash(), RemovalReason::Purged);
            }
        }
        if let Some(tier) = self.tier() {
            let objects = match &taken {
                RemovedItem::Entry(entry) => &entry.objects[..],
                RemovedItem::Object(object) => std::slice::from_ref(object),
            };
            for object in objects {
                tier.disk.discard(&tier.id(object));
            }
        }
        self.drop_taken(taken);
    }

    /// Drops an entry or object that was removed from memory; its files remain. The caller must hold no lock.
    pub(super) fn drop_taken(&self, taken: RemovedItem<M>) {
        match taken {
            RemovedItem::Entry(entry) => self.release_entry(entry),
            RemovedItem::Object(object) => {
                let weight = object.weight();
                drop(object);
                self.inner.ledger.release(weight);
            }
        }
    }
}

/// Returns the number of the oldest fetch in progress whose object may be stored; `u64::MAX` if there is none.
pub(super) fn oldest_flight<M: Metadata>(zone: &Inner<M>) -> u64 {
    let oldest = |shard: &parking_lot::Mutex<Shard<M>>| {
        let shard = shard.lock();
        let storing =
            shard.flights.iter().filter(|record| record.may_store && record.role != FlightRole::Purged);
        storing.map(|record| record.flight.generation).min()
    };
    zone.shards.iter().filter_map(oldest).min().unwrap_or(u64::MAX)
}

impl<M: Metadata> Inner<M> {
    /// Prevents all fetches that began before `number` from storing their objects, so that no purge must be retained
    /// for them.
    pub(super) fn prevent_storing_before(&self, number: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let older = shard.flights.iter_mut().filter(|record| record.flight.generation < number);
            older.for_each(|record| record.role = FlightRole::Purged);
        }
    }
}

impl<M: Metadata> Shard<M> {
    /// Prevents fetches in progress for a key from storing their objects, and excludes further requests from joining
    /// them. `key` is the hash of the key.
    pub(super) fn forget_flights(&mut self, key: u128) {
        let flights = self.flights.iter_hash_mut(key as u64);
        let of_key = flights.filter(|record| record.flight.key.as_ref().hash() == key);
        of_key.for_each(|record| record.role = FlightRole::Purged);
        self.notes.clear_pass(key as u64);
    }
}
