//! Implementation of the interface through which the disk tier calls the zone.

use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use myriad_disk::index::{
    ExactPurge, FileName, PurgeKind, PurgeRecord, PurgeSet, PurgeVerdict, SoftPurgedPage,
};
use myriad_disk::{IndexedFile, MemoryPurges, MemoryTier, variant_hash};

use super::purges::oldest_flight;
use super::{Inner, Zone};
use crate::Metadata;
use crate::shard::Shard;

/// Divisor of the memory limit: after a restart, pages are loaded without a request only while at most half of the
/// limit is in use.
const WARM_PART: usize = 2;

impl<M: Metadata> MemoryPurges for Inner<M> {
    fn begin_purges(&self, book: &PurgeSet, is_lost: bool) -> Vec<PurgeRecord> {
        self.purges.begin(&self.sequence, book, is_lost)
    }

    fn adopt_purges(&self, news: &PurgeSet) -> PurgeSet {
        self.purges.adopt(&self.sequence, news)
    }

    fn apply_exact(self: Arc<Self>, exact: &ExactPurge) {
        Zone::of(&self).apply_exact(exact);
    }

    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: PurgeKind, count: usize) {
        self.purges.note_found(key, labels, purge, count);
    }

    fn end_count(&self, exact: &ExactPurge) -> usize {
        self.purges.end_count(exact)
    }

    fn take_softened(&self) -> Vec<SoftPurgedPage> {
        self.purges.take_softened()
    }

    fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> PurgeVerdict {
        if self.purges.any_since(since) {
            self.purges.judge_exact(since, key, labels)
        } else {
            PurgeVerdict::Unaffected
        }
    }

    fn holds_newer(&self, filed: &IndexedFile) -> bool {
        let key = filed.key_hash();
        let shard = self.shard_of(key).lock();
        let entry = shard.find_hash(key).and_then(|slot| shard.queue.at(slot));
        entry.is_some_and(|entry| {
            let mut newer = entry.objects.iter().filter(|object| object.generation() > filed.generation());
            newer.any(|object| {
                let variant = object.selection().map(|selection| &*selection.variant);
                variant_hash(variant) as u32 == filed.variant()
            })
        })
    }

    fn judge_file(&self, filed: &IndexedFile, since: u64, count: Option<u64>) -> (PurgeVerdict, u64) {
        if let Some(judged) = self.purges.judge_any(since, count) {
            return judged;
        }
        let mut newest = since;
        let Some(tier) = self.tier.get() else { return (PurgeVerdict::Unaffected, newest) };
        let verdict = tier.judge_file_with(filed, |key, meta| {
            let (verdict, number) = self.purges.judge_stored(since, key, meta, count);
            newest = number;
            verdict
        });
        (verdict, newest)
    }

    fn is_counting(&self) -> bool {
        self.purges.is_counting()
    }

    fn newest_rule(&self) -> u64 {
        self.purges.newest_rule()
    }

    fn newest_rule_before(&self, number: u64) -> u64 {
        self.purges.newest_rule_before(number)
    }

    fn checked_in_memory(&self) -> u64 {
        self.swept_purges.load(SeqCst)
    }

    fn oldest_flight(&self) -> u64 {
        oldest_flight(self)
    }

    fn is_crowded(&self) -> bool {
        self.purges.is_crowded()
    }

    fn prevent_storing_before(&self, number: u64) {
        self.prevent_storing_before(number);
    }
}

impl<M: Metadata> Inner<M> {
    /// Removes the entry of the key with this hash from memory. `first` is called before, under the same lock.
    fn remove_entry(self: Arc<Self>, hash: u128, first: impl FnOnce(&mut Shard<M>)) {
        let removed = {
            let mut shard = self.shard_of(hash).lock();
            first(&mut shard);
            shard.find_hash(hash).and_then(|index| shard.remove(index))
        };
        if let Some(entry) = removed {
            Zone::of(&self).release_entry(entry);
        }
    }
}

impl<M: Metadata> MemoryTier for Inner<M> {
    fn last_used(&self, hash: u128) -> Option<u64> {
        let shard = self.shard_of(hash).lock();
        shard.queue.at(shard.find_hash(hash)?).map(crate::shard::KeyEntry::last_used)
    }

    fn max_variants(&self) -> usize {
        self.limits.read().max_variants.max(1)
    }

    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)> {
        let shard = self.shard_of(hash).lock();
        let entry = shard.find_hash(hash).and_then(|slot| shard.queue.at(slot));
        let objects = entry.into_iter().flat_map(|entry| entry.objects.iter());
        let used = objects.map(|object| {
            let variant = object.selection().map(|selection| &*selection.variant);
            (variant_hash(variant) as u32, object.last_used_s())
        });
        used.collect()
    }

    fn forget(self: Arc<Self>, hash: u128) {
        self.remove_entry(hash, |_| ());
    }

    fn remove(self: Arc<Self>, hash: u128) {
        self.remove_entry(hash, |shard| shard.forget_flights(hash));
    }

    fn forget_all(self: Arc<Self>) {
        Zone::of(&self).clear_memory();
    }

    fn inactive_ms(&self) -> u64 {
        self.limits.read().inactive_ms
    }

    fn write_changed(self: Arc<Self>, now: u64) {
        Zone::of(&self).write_changed_until(now);
    }

    fn write_backlog(self: Arc<Self>) -> bool {
        Zone::of(&self).write_backlog()
    }

    fn warm(self: Arc<Self>, name: FileName, hash: u128, now: u64) -> bool {
        if self.ledger.used() > self.ledger.limit() / WARM_PART {
            return false;
        }
        let Some(tier) = self.tier.get() else { return false };
        self.last_used(hash).is_some() || Zone::of(&self).warm(tier, name, now)
    }

    fn sequence(&self) -> u64 {
        self.sequence.load(Relaxed)
    }

    fn sequence_at_least(&self, least: u64) {
        self.sequence.fetch_max(least, Relaxed);
    }
}
