//! Completion of a flight (a fetch that several requests share) in a cache zone: releases its claim and stores its
//! object.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use myriad_disk::index::HashedKeyRef;
use smallvec::{SmallVec, smallvec};

use super::Zone;
use crate::flight::{Flight, NotStored};
use crate::object::ObjectParts;
use crate::shard::{FlightRole, KeyEntry, Shard};
use crate::variants::Variants;
use crate::{
    ALTERNATIVES, AlternativeEncoding, AttachError, Metadata, Object, Replacement, ReplacementBody, Selection,
};

/// Objects that were replaced in a shard. They must be dropped after the shard's lock is released.
pub(super) type ReplacedObjects<M> = SmallVec<[Object<M>; 1]>;

impl<M: Metadata> Zone<M> {
    /// Records the response head of a fetch, so that requests that may join can compare their variants with it. If
    /// `oversized` is true (the body is too long for memory), other requests cannot join any more.
    pub(crate) fn resolve(
        &self,
        flight: &Arc<Flight<M>>,
        head: &Arc<M>,
        selection: Option<&Selection>,
        oversized: bool,
    ) {
        let mut shard = self.shard(flight.key.as_ref());
        if let Some(record) = shard.flight_mut(flight) {
            record.head = Some(Arc::clone(head));
            record.selection = selection.cloned();
            if oversized && record.role == FlightRole::Open {
                record.role = FlightRole::Oversized;
            }
        }
    }

    /// Returns true if other requests may join this fetch: its role is [`FlightRole::Open`].
    pub(crate) fn is_shared(&self, flight: &Arc<Flight<M>>) -> bool {
        let mut shard = self.shard(flight.key.as_ref());
        shard.flight_mut(flight).is_some_and(|record| record.role == FlightRole::Open)
    }

    /// Excludes new readers from a fetch whose body became too long for memory.
    pub(crate) fn close_oversized(&self, flight: &Arc<Flight<M>>) {
        let mut shard = self.shard(flight.key.as_ref());
        if let Some(record) = shard.flight_mut(flight)
            && record.role == FlightRole::Open
        {
            record.role = FlightRole::Oversized;
        }
    }

    /// Records that the object of a fetch cannot be stored, because its body is too long for memory and not written to
    /// disk. Purges then need not be retained for it.
    pub(crate) fn note_unstored(&self, flight: &Arc<Flight<M>>) {
        if let Some(record) = self.shard(flight.key.as_ref()).flight_mut(flight) {
            record.may_store = false;
        }
    }

    /// Ends the exclusive fetch of a key that stores no object. If `pass` is given (current time and a duration, in
    /// milliseconds), requests for the key get [`Claim::Pass`](super::Claim::Pass) for that time, from the same moment
    /// on, unless a purge covers the fetch.
    pub(crate) fn retire(&self, flight: &Arc<Flight<M>>, pass: Option<(u64, u64)>) {
        let key = flight.key.as_ref();
        let mut shard = self.shard(key);
        let record = shard.remove_flight(flight);
        if let Some((now, pass_ms)) = pass
            && pass_ms > 0
            // What was learned before a purge does not apply to the next response.
            && record.is_some_and(|r| r.role != FlightRole::Purged)
        {
            shard.notes.set_pass(key.table_hash(), now, now.saturating_add(pass_ms));
        }
    }

    /// Ends the exclusive fetch of a key and stores its object, in one step. The fetch ends also if the object cannot
    /// be stored: a purge covers it, a later object is stored, or memory is short. `charged` bytes are already reserved
    /// for the object and are used or released. With `to_disk`, the stored object is written to disk, too.
    pub(crate) fn store(
        &self,
        flight: &Arc<Flight<M>>,
        object: &Object<M>,
        charged: usize,
        to_disk: bool,
    ) -> Result<(), NotStored> {
        let key = flight.key.as_ref();
        let wanted = object.weight() + KeyEntry::<M>::OVERHEAD;
        if wanted > charged && !self.reserve(key, wanted - charged) {
            self.retire(flight, None);
            self.inner.ledger.release(charged);
            self.inner.rejected.fetch_add(1, Relaxed);
            return Err(NotStored::OverCap);
        }
        let held = wanted.max(charged);
        let max_variants = self.limits().max_variants.max(1);
        // A later object may have been stored already, and may be only on disk by now.
        let is_overtaken = self.tier().is_some_and(|tier| tier.disk.has_or_writes_newer(&tier.id(object)));
        let entered = {
            let mut shard = self.shard(key);
            match shard.remove_flight(flight) {
                None => Err(NotStored::Purged),
                Some(record) if record.role == FlightRole::Purged || self.is_purged(object) => {
                    Err(NotStored::Purged)
                }
                Some(_) if is_overtaken => Err(NotStored::Superseded),
                Some(_) => shard.insert_object(key, object, max_variants),
            }
        };
        let surplus = match &entered {
            Ok(entered) => held - wanted + entered.freed,
            Err(_) => held,
        };
        self.inner.ledger.release(surplus);
        if to_disk && entered.is_ok() {
            self.write(object);
        }
        entered.map(drop)
    }

    /// Adds an encoding to a stored object, whose file, if the zone has a disk tier, will be written again, or to a
    /// replacement of a stored object. Returns an error if the object is not stored any more or has an encoding with this
    /// index, if `index` is not below [`ALTERNATIVES`], or if memory is short.
    pub fn attach(
        &self,
        object: &Object<M>,
        index: u8,
        alternative: AlternativeEncoding<M::EncodingMeta>,
    ) -> Result<(), AttachError> {
        if usize::from(index) >= ALTERNATIVES {
            return Err(AttachError::NoRoom);
        }
        if object.alternative(index).is_some() {
            return Err(AttachError::Occupied);
        }
        let cost = Object::<M>::alternative_cost(&alternative);
        let key = self.key_of(object);
        if !self.reserve(key, cost) {
            return Err(AttachError::NoRoom);
        }
        let attached = {
            let shard = self.shard(key);
            match shard.owns(key, object) {
                false => Err(AttachError::Gone),
                true if object.set_alternative(usize::from(index), alternative) => Ok(()),
                true => Err(AttachError::Occupied),
            }
        };
        match &attached {
            Ok(()) => self.note_changed(object),
            Err(_) => self.inner.ledger.release(cost),
        }
        attached
    }

    /// Adds a replacement to a stored object: `body` is sent in its place, or the original if `body` is `None`. `now` is
    /// in milliseconds. The replacement is not written to disk; it is removed together with the object.
    ///
    /// Returns [`AttachError::Gone`] if the object is not stored any more, [`AttachError::Occupied`] if it has had
    /// [`crate::MAX_REPLACEMENTS`], and [`AttachError::NoRoom`] if memory is short.
    pub fn replace(
        &self,
        object: &Object<M>,
        body: Option<ReplacementBody<M>>,
        state: M::ReplacementState,
        now: u64,
    ) -> Result<(), AttachError> {
        let key = self.key_of(object);
        let made = body.map(|ReplacementBody { meta, body, alternatives }| {
            let parts = ObjectParts {
                meta,
                body,
                selection: object.selection().cloned(),
                generation: self.inner.sequence.fetch_add(1, Relaxed),
                stored_at: object.stored_at(),
                fresh_until: object.fresh_until(),
                alternatives,
                now,
            };
            Object::new(object.key(), parts)
        });
        let replacement = Replacement::new(made, state);
        let cost = Object::replacement_cost(&replacement);
        if !self.reserve(key, cost) {
            return Err(AttachError::NoRoom);
        }
        let added = {
            let shard = self.shard(key);
            match shard.owns(key, object) {
                false => Err(AttachError::Gone),
                true if object.add_replacement(replacement) => Ok(()),
                true => Err(AttachError::Occupied),
            }
        };
        if added.is_err() {
            self.inner.ledger.release(cost);
        }
        added
    }
}

/// Result of storing an object in a shard.
struct InsertResult<M: Metadata> {
    /// Number of bytes of the memory limit to release: those of replaced objects, and the overhead of an entry that
    /// already existed.
    freed: usize,
    /// Replaced objects. They are dropped after the lock is released, because dropping a large body takes long.
    _replaced: ReplacedObjects<M>,
}

impl<M: Metadata> Shard<M> {
    /// Returns whether an object, or the original of a replacement, is stored under its key.
    fn owns(&self, key: HashedKeyRef<'_>, object: &Object<M>) -> bool {
        self.entry(key).is_some_and(|entry| entry.objects.iter().any(|stored| stored.owns(object)))
    }

    fn insert_object(
        &mut self,
        key: HashedKeyRef<'_>,
        object: &Object<M>,
        max_variants: usize,
    ) -> Result<InsertResult<M>, NotStored> {
        let Some(index) = self.find(key) else {
            self.insert(KeyEntry::new(object));
            self.note_stored(key);
            return Ok(InsertResult { freed: 0, _replaced: ReplacedObjects::new() });
        };
        let Some(entry) = self.queue.at_mut(index) else { return Err(NotStored::OverCap) };
        let before = entry.objects.len();
        let dead = entry.replace(object, max_variants)?;
        let after = entry.objects.len();
        self.counts.objects = self.counts.objects + after - before;
        self.update_after_removal(index, &dead);
        self.note_stored(key);
        let freed = KeyEntry::<M>::OVERHEAD + dead.iter().map(Object::weight).sum::<usize>();
        Ok(InsertResult { freed, _replaced: dead })
    }

    fn note_stored(&mut self, key: HashedKeyRef<'_>) {
        self.counts.stored += 1;
        self.notes.clear_pass(key.table_hash());
    }
}

impl<M: Metadata> KeyEntry<M> {
    /// Stores an object in place of the former object of the same variant. If its selector differs from that of the
    /// entry, all objects of the entry are replaced, because look-ups could not find them. For a new variant, the least
    /// recently used variants are removed while the key has `max_variants`. Returns the objects that were replaced or
    /// removed; fails if the former object of the variant or, with another selector, any object of the entry is later.
    fn replace(&mut self, object: &Object<M>, max_variants: usize) -> Result<ReplacedObjects<M>, NotStored> {
        let later = |other: &Object<M>| other.generation() > object.generation();
        let selector = object.selection().map(|s| &s.selector);
        if self.selector() != selector {
            if self.objects.iter().any(later) {
                return Err(NotStored::Superseded);
            }
            let former = std::mem::replace(&mut self.objects, Variants::One(object.clone()));
            return Ok(former.iter().cloned().collect());
        }
        if let Some(former) =
            self.objects.as_mut_slice().iter_mut().find(|o| o.selection() == object.selection())
        {
            if later(former) {
                return Err(NotStored::Superseded);
            }
            return Ok(smallvec![std::mem::replace(former, object.clone())]);
        }
        let mut dead = ReplacedObjects::new();
        while self.objects.len() >= max_variants {
            let coldest = self.objects.iter().enumerate().min_by_key(|(_, o)| o.last_used());
            let Some((coldest, _)) = coldest else { break };
            let Some(coldest) = self.objects.take(coldest) else {
                let last = std::mem::replace(&mut self.objects, Variants::One(object.clone()));
                dead.extend(last.iter().cloned());
                return Ok(dead);
            };
            dead.push(coldest);
        }
        self.objects.push(object.clone());
        Ok(dead)
    }
}
