//! Objects: immutable response bodies with the caller's metadata.

mod alternative;
mod replaced;
mod replacement;
mod weight;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use myriad_disk::StoredBody;
use myriad_disk::index::Purgeable;
use once_cell::race::OnceBox;
use triomphe::ThinArc;

use crate::{Body, Metadata, Selection};

use alternative::EncodingList;
pub use alternative::{ALTERNATIVES, AlternativeEncoding, AttachError};
pub use replaced::ReplacementBody;
use replacement::ReplacementList;
pub use replacement::{MAX_REPLACEMENTS, Replacement};

/// Maximum length of a body that is stored in the allocation of its object, in bytes. A longer body has its own
/// allocation, which avoids copying it.
const MAX_INLINE_BODY: u64 = 4096;

/// Parts from which an object is made, except its key.
pub(crate) struct ObjectParts<M: Metadata> {
    pub(crate) meta: M,
    pub(crate) body: Body,
    pub(crate) selection: Option<Selection>,
    pub(crate) generation: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
    /// Current time in milliseconds, which counts as the time of the object's last use.
    pub(crate) now: u64,
}

/// Number of bits for the hit counter of an object.
const HITS_BITS: u32 = 30;
/// Maximum of the hit counter of an object.
const HITS: u32 = (1 << HITS_BITS) - 1;
/// Maximum number of hits that are counted for the eviction queue until it takes them.
const MAX_UNSEEN: u32 = 3;

/// Size of a cache line, in bytes.
const LINE: usize = 64;
/// Maximum number of cache lines that are prefetched after the fixed part of an object, and of an encoding. The
/// processor's own prefetching follows after these.
const PREFETCHED_LINES: usize = 12;

/// Reads one byte of each of the first [`PREFETCHED_LINES`] cache lines, to load them into the processor's cache.
#[inline]
fn touch_lines(bytes: &[u8]) -> u8 {
    bytes.iter().step_by(LINE).take(PREFETCHED_LINES).fold(0, |all, byte| all ^ byte)
}

/// Handle of a stored response: an immutable body and metadata, with a freshness lifetime that a soft purge may shorten.
/// Cloning increments a reference count.
///
/// Each fetch makes a new object; the sequence number at the start of the fetch is the object's *generation*. Encodings
/// are part of the object, so they always belong to exactly its bytes. An object is one contiguous allocation, whose
/// cache lines a hit reads in sequence:
///
/// ```text
///   count | fixed part | length | key | texts of the metadata | body, unless it is long
/// ```
pub struct Object<M: Metadata>(ThinArc<Fixed<M>, u8>);

/// Replacement of an object.
pub(crate) type ObjectReplacement<M> = Replacement<Object<M>, <M as Metadata>::ReplacementState>;

/// Fixed part of an object. The fields that each hit reads or writes come first, in the cache line of the reference
/// count. Each cache line contains a field by which it can be prefetched.
#[repr(C)]
struct Fixed<M: Metadata> {
    fresh_until: AtomicU64,
    /// Number of the newest purge that the object was checked against; initially its generation.
    last_purge_applied: AtomicU64,
    /// Time of the object's last use, in milliseconds.
    last_used: AtomicU64,
    /// Number of hits in the low [`HITS_BITS`] bits; above, the number of hits that the eviction queue has not taken
    /// yet.
    hits: AtomicU32,
    /// Length of the key, in bytes; the key is at the start of the variable part.
    key_end: u32,
    /// Length of key and texts of the metadata together, in bytes.
    texts_end: u32,
    /// Approximate weight of the object in units of [`ROUGH_UNIT`] bytes. It suffices for the eviction queue, which
    /// reads it at each step.
    rough_weight: AtomicU32,
    encodings: EncodingList<M::EncodingMeta>,
    replacements: ReplacementList<Object<M>, M::ReplacementState>,
    extras: Option<Box<ObjectExtras>>,
    generation: u64,
    stored_meta: M::StoredForm,
    stored_at: u64,
    updating_until: AtomicU64,
}

/// Parts that only few objects or only objects with long bodies have.
#[derive(Default)]
struct ObjectExtras {
    selection: Option<Selection>,
    /// Body that is not in the object's own allocation; `None` for a body that is.
    separate_body: Option<Body>,
}

/// Reference to an object whose own allocation contains the body, held while the body is being sent.
struct InlineBody<M: Metadata>(Object<M>);

impl<M: Metadata> AsRef<[u8]> for InlineBody<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.inline_body()
    }
}

impl<M: Metadata> Object<M> {
    /// Creates an object with the key `key`.
    pub(crate) fn new(key: &[u8], parts: ObjectParts<M>) -> Self {
        let ObjectParts { meta, body, selection, generation, stored_at, fresh_until, alternatives, now } =
            parts;
        let is_within = body.stored().is_none() && body.len() <= MAX_INLINE_BODY;
        let mut data = Vec::with_capacity(key.len() + 512 + if is_within { body.len() as usize } else { 0 });
        data.extend_from_slice(key);
        let stored_meta = meta.into_stored(&mut data);
        let texts_end = data.len();
        if is_within {
            body.segments().iter().for_each(|segment| data.extend_from_slice(segment));
        }
        let fixed = Fixed {
            fresh_until: AtomicU64::new(fresh_until),
            last_purge_applied: AtomicU64::new(generation),
            last_used: AtomicU64::new(now.max(stored_at)),
            hits: AtomicU32::new(0),
            key_end: key.len() as u32,
            texts_end: texts_end as u32,
            rough_weight: AtomicU32::new(0),
            encodings: OnceBox::new(),
            replacements: OnceBox::new(),
            extras: (!is_within || selection.is_some())
                .then(|| Box::new(ObjectExtras { selection, separate_body: (!is_within).then_some(body) })),
            generation,
            stored_meta,
            stored_at,
            updating_until: AtomicU64::new(0),
        };
        let object = Self(ThinArc::from_header_and_slice(fixed, &data));
        object.add_rough_weight(object.base_weight());
        for (index, alternative) in alternatives.into_iter().enumerate() {
            if let Some(alternative) = alternative {
                // The object is new, so no index is occupied.
                let _ = object.set_alternative(index, alternative);
            }
        }
        object
    }

    /// Returns the object with `body`, for example on disk, in place of its body; `None` if another handle of the
    /// object exists.
    pub(crate) fn with_body(mut self, body: Body) -> Option<Self> {
        let is_placed = self.0.with_arc_mut(|shared| {
            let own = triomphe::Arc::get_mut(shared)?;
            own.header_mut().extras.get_or_insert_default().separate_body = Some(body);
            Some(())
        });
        is_placed.map(|()| self)
    }

    fn fixed(&self) -> &Fixed<M> {
        &self.0.header.header
    }

    /// Returns the body if it is not in the object's own allocation.
    #[inline]
    fn separate_body(&self) -> Option<&Body> {
        self.fixed().extras.as_deref()?.separate_body.as_ref()
    }

    /// Returns the body in the object's own allocation; empty if it is elsewhere.
    fn inline_body(&self) -> &[u8] {
        &self.0.slice[self.fixed().texts_end as usize..]
    }

    /// Prefetches the cache lines that a hit will read, by reading a byte of each: those of the texts, and those of the
    /// first encoding (which most clients accept) or, without encodings, of the body.
    ///
    /// Among a million objects, each line is a cache miss, and concurrent misses take no longer than one.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let fixed = self.fixed();
        let first = fixed.last_purge_applied.load(Relaxed) ^ fixed.generation ^ fixed.stored_at;
        let (own, encoded) = match fixed.encodings.get() {
            Some(encoding) => (&self.0.slice[..fixed.texts_end as usize], &encoding.alternative.bytes[..]),
            None => (&self.0.slice[..], &[][..]),
        };
        std::hint::black_box(first as u8 ^ touch_lines(own) ^ touch_lines(encoded));
    }

    /// Returns true if both handles refer to the same stored object, not only to equal contents.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.fixed(), other.fixed())
    }

    /// Counts a hit and sets the time of the last use to `now`, in a cache line that a look-up reads anyway. The eviction
    /// queue takes the count later.
    ///
    /// The caller holds the shard's lock, so a load and a store suffice, without an atomic read-modify-write
    /// instruction.
    #[inline]
    pub(crate) fn count_hit(&self, now: u64) {
        let known = self.fixed().hits.load(Relaxed);
        let unseen = (known >> HITS_BITS).saturating_add(1).min(MAX_UNSEEN);
        self.fixed().hits.store((known & HITS).saturating_add(1).min(HITS) | unseen << HITS_BITS, Relaxed);
        self.fixed().last_used.store(now, Relaxed);
    }

    /// Returns the number of hits since the last call, at most three. The caller holds the shard's lock.
    pub(crate) fn take_unseen_hits(&self) -> u8 {
        let known = self.fixed().hits.load(Relaxed);
        self.fixed().hits.store(known & HITS, Relaxed);
        (known >> HITS_BITS) as u8
    }

    /// Returns the time of the object's last use, in milliseconds. Reading the object from disk counts as a use.
    pub(crate) fn last_used(&self) -> u64 {
        self.fixed().last_used.load(Relaxed)
    }

    /// Returns the time of the object's last use, in seconds since the epoch.
    pub(crate) fn last_used_s(&self) -> u32 {
        (self.last_used() / 1000) as u32
    }

    /// Marks the object as being updated by a fetch until `until`, in milliseconds.
    pub(crate) fn begin_updating(&self, until: u64) {
        self.fixed().updating_until.store(until, Relaxed);
    }

    /// Removes the mark that a fetch is updating the object, set with `until`, unless a later fetch has set another
    /// one.
    pub(crate) fn end_updating(&self, until: u64) {
        let _ = self.fixed().updating_until.compare_exchange(until, 0, Relaxed, Relaxed);
    }

    /// Returns the caller's metadata of the object.
    #[inline]
    pub fn meta(&self) -> M::MetaView<'_> {
        let fixed = self.fixed();
        let texts = &self.0.slice[fixed.key_end as usize..fixed.texts_end as usize];
        M::view_stored(&fixed.stored_meta, texts)
    }

    /// Calls `each` with each label of the metadata: hashes of URL and tags, by which purges find the object.
    pub(crate) fn labels(&self, each: &mut dyn FnMut(u64)) {
        M::labels(self.meta(), each);
    }

    /// Returns the original body, as opposed to its alternative encodings. No bytes are copied.
    pub fn body(&self) -> Body {
        match self.separate_body() {
            Some(body) => body.clone(),
            None if self.inline_body().is_empty() => Body::default(),
            None => Body::from(Bytes::from_owner(InlineBody(self.clone()))),
        }
    }

    /// Returns the length of the body, in bytes.
    #[inline]
    pub fn body_len(&self) -> u64 {
        match self.separate_body() {
            Some(body) => body.len(),
            None => self.inline_body().len() as u64,
        }
    }

    /// Returns the file of a body that is on disk; `None` for a body in memory.
    #[inline]
    pub fn stored_body(&self) -> Option<&Arc<StoredBody>> {
        self.separate_body().and_then(Body::stored)
    }

    /// Returns the bytes of the key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.0.slice[..self.fixed().key_end as usize]
    }

    /// Returns the variant of the object; `None` if its key has no variants.
    pub fn selection(&self) -> Option<&Selection> {
        self.fixed().extras.as_deref()?.selection.as_ref()
    }

    /// Returns the sequence number of the zone at the start of the object's fetch. It is unique in the zone; purges
    /// with higher numbers may cover the object.
    pub fn generation(&self) -> u64 {
        self.fixed().generation
    }

    /// Returns the time at which the object was complete, in milliseconds.
    pub fn stored_at(&self) -> u64 {
        self.fixed().stored_at
    }

    /// Returns the time until which the object is fresh, in milliseconds. A soft purge may change it: it is then below the
    /// time in the metadata, by at least 1 ms.
    ///
    /// It is 0 after a soft purge by [`crate::Zone::purge`], and after a soft purge by [`crate::Zone::purge_from`]
    /// whose time is not known any more, as after a restart.
    pub fn fresh_until(&self) -> u64 {
        self.fixed().fresh_until.load(Relaxed)
    }

    /// Returns true if the object is fresh at `now` (milliseconds).
    pub fn is_fresh(&self, now: u64) -> bool {
        now < self.fresh_until()
    }

    /// Sets the time until which the object is fresh, in milliseconds.
    #[cfg(test)]
    pub(crate) fn set_fresh_until(&self, at: u64) {
        self.fixed().fresh_until.store(at, Relaxed);
    }

    /// Returns the number of the newest purge that the object was checked against; initially its generation.
    #[inline]
    pub(crate) fn last_purge_applied(&self) -> u64 {
        self.fixed().last_purge_applied.load(Relaxed)
    }

    /// Returns true if the object counts as being updated by a fetch at `now` (nginx's cache status `UPDATING`). A
    /// fetch that takes longer than its time for this may still be in progress.
    pub fn is_updating(&self, now: u64) -> bool {
        now < self.fixed().updating_until.load(Relaxed)
    }

    /// Returns the number of look-ups that found the object, and of claims that found it usable; at most 2³⁰ - 1.
    pub fn hits(&self) -> u32 {
        self.fixed().hits.load(Relaxed) & HITS
    }
}

impl<M: Metadata> Purgeable<M> for Object<M> {
    fn key(&self) -> &[u8] {
        self.key()
    }

    fn meta(&self) -> M::MetaView<'_> {
        self.meta()
    }

    fn generation(&self) -> u64 {
        self.generation()
    }

    fn last_purge_applied(&self) -> u64 {
        self.last_purge_applied()
    }

    fn note_purges_applied(&self, number: u64) {
        self.fixed().last_purge_applied.fetch_max(number, Relaxed);
    }

    fn expire(&self, from: u64) {
        let declared = M::fresh_until(self.meta());
        self.fixed().fresh_until.fetch_min(from.min(declared.saturating_sub(1)), Relaxed);
    }
}

impl<M: Metadata> Clone for Object<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Metadata> fmt::Debug for Object<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("key", &self.key().escape_ascii().to_string())
            .field("generation", &self.generation())
            .field("len", &self.body_len())
            .finish_non_exhaustive()
    }
}
