//! Objects: an immutable response body with the caller's metadata.

mod alternative;
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

/// Maximum length of a body inside its object's allocation, in bytes. A longer body has a separate allocation, which
/// avoids a copy.
const MAX_INLINE_BODY: u64 = 4096;

/// Parts of an object, without its key.
pub(crate) struct ObjectParts<M: Metadata> {
    pub(crate) meta: M,
    pub(crate) body: Body,
    pub(crate) selection: Option<Selection>,
    pub(crate) generation: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
    /// Current time, which counts as the last use.
    pub(crate) now: u64,
}

/// Number of bits for the hit counter, and its maximum.
const HITS_BITS: u32 = 30;
const HITS: u32 = (1 << HITS_BITS) - 1;
/// Maximum number of hits that the eviction queue has not seen yet.
const MAX_UNSEEN: u32 = 3;

/// Size of a cache line, in bytes.
const LINE: usize = 64;
/// Number of lines after the fixed part that are prefetched. The processor prefetches the lines after them.
const PREFETCHED_LINES: usize = 12;

/// Reads a byte of each of the first lines.
#[inline]
fn touch_lines(bytes: &[u8]) -> u8 {
    bytes.iter().step_by(LINE).take(PREFETCHED_LINES).fold(0, |all, byte| all ^ byte)
}

/// Stored response: an immutable body and metadata, with a validity that a revalidation may extend. This is a handle;
/// cloning it increments a reference count.
///
/// An object is a *generation*: its alternative encodings belong to exactly its bytes, because they are part of it. It
/// is one contiguous allocation, whose cache lines a hit reads in sequence:
///
/// ```text
///   count | fixed part | length | key | texts of the metadata | body, unless it is long
/// ```
pub struct Object<M: Metadata>(ThinArc<Fixed<M>, u8>);

/// Fixed part of an object. The fields that each hit reads or writes come first, next to the count. Each line contains
/// a field that can be prefetched.
#[repr(C)]
struct Fixed<M: Metadata> {
    fresh_until: AtomicU64,
    /// Number of the newest purge that has been applied to it; initially the number of the fetch.
    last_purge_applied: AtomicU64,
    /// Time of the last use, in milliseconds.
    last_used: AtomicU64,
    /// Number of hits, and above [`HITS`] the number of hits that the eviction queue has not seen.
    hits: AtomicU32,
    /// Length of the key, in bytes.
    key_end: u32,
    /// Length of key and texts, in bytes.
    texts_end: u32,
    /// Approximate weight, in units of [`ROUGH_UNIT`] bytes. It is sufficient for the eviction queue, which reads it at
    /// each step.
    rough_weight: AtomicU32,
    encodings: EncodingList<M::EncodingMeta>,
    extras: Option<Box<ObjectExtras>>,
    generation: u64,
    stored_meta: M::StoredForm,
    stored_at: u64,
    updating_until: AtomicU64,
}

/// Parts that few objects have, or only long objects.
#[derive(Default)]
struct ObjectExtras {
    selection: Option<Selection>,
    /// Body that is not stored after the texts.
    separate_body: Option<Body>,
}

/// Reference to an object for the time that its body is sent.
struct InlineBody<M: Metadata>(Object<M>);

impl<M: Metadata> AsRef<[u8]> for InlineBody<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.inline_body()
    }
}

impl<M: Metadata> Object<M> {
    /// Creates an object.
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
                // The object is new, so the index is unused.
                let _ = object.set_alternative(index, alternative);
            }
        }
        object
    }

    /// Returns the object with a body on disk; `None` if another handle to it exists.
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

    /// Returns the body if it has a separate allocation.
    #[inline]
    fn separate_body(&self) -> Option<&Body> {
        self.fixed().extras.as_deref()?.separate_body.as_ref()
    }

    /// Returns the body inside the object's allocation.
    fn inline_body(&self) -> &[u8] {
        &self.0.slice[self.fixed().texts_end as usize..]
    }

    /// Reads a byte of each cache line that a hit will read: of the texts, and of the body, or of its first encoding if
    /// present, because most clients accept it.
    ///
    /// Among a million objects each line is a cache miss, and concurrent misses take no longer than one.
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

    /// Returns whether two handles refer to the same object.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.fixed(), other.fixed())
    }

    /// Counts a hit, in the cache line that a look-up reads anyway. The eviction queue reads this count later.
    ///
    /// The shard's lock is held, so a load and a store are sufficient and avoid a locked instruction.
    #[inline]
    pub(crate) fn count_hit(&self, now: u64) {
        let known = self.fixed().hits.load(Relaxed);
        let unseen = (known >> HITS_BITS).saturating_add(1).min(MAX_UNSEEN);
        self.fixed().hits.store((known & HITS).saturating_add(1).min(HITS) | unseen << HITS_BITS, Relaxed);
        self.fixed().last_used.store(now, Relaxed);
    }

    /// Returns the number of hits since the last call, at most three. The shard's lock is held.
    pub(crate) fn take_unseen_hits(&self) -> u8 {
        let known = self.fixed().hits.load(Relaxed);
        self.fixed().hits.store(known & HITS, Relaxed);
        (known >> HITS_BITS) as u8
    }

    /// Returns the time of the last use, in milliseconds. For an object read from disk this includes the time of that
    /// read.
    pub(crate) fn last_used(&self) -> u64 {
        self.fixed().last_used.load(Relaxed)
    }

    /// Returns the time of the last use, in seconds.
    pub(crate) fn last_used_s(&self) -> u32 {
        (self.last_used() / 1000) as u32
    }

    /// Marks the object as updating until `until`, in milliseconds.
    pub(crate) fn begin_updating(&self, until: u64) {
        self.fixed().updating_until.store(until, Relaxed);
    }

    /// Clears the mark set with `until`, unless a later fetch has replaced it.
    pub(crate) fn end_updating(&self, until: u64) {
        let _ = self.fixed().updating_until.compare_exchange(until, 0, Relaxed, Relaxed);
    }

    /// Returns the caller's metadata.
    #[inline]
    pub fn meta(&self) -> M::MetaView<'_> {
        let fixed = self.fixed();
        let texts = &self.0.slice[fixed.key_end as usize..fixed.texts_end as usize];
        M::view_stored(&fixed.stored_meta, texts)
    }

    /// Calls `each` with each label of the metadata.
    pub(crate) fn labels(&self, each: &mut dyn FnMut(u64)) {
        M::labels(self.meta(), each);
    }

    /// Returns the body as received from the origin. No bytes are copied.
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

    /// Returns the file of a body that is not in memory.
    #[inline]
    pub fn stored_body(&self) -> Option<&Arc<StoredBody>> {
        self.separate_body().and_then(Body::stored)
    }

    /// Returns the bytes of the key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.0.slice[..self.fixed().key_end as usize]
    }

    /// Returns the variant of the key; `None` if the key has no selector.
    pub fn selection(&self) -> Option<&Selection> {
        self.fixed().extras.as_deref()?.selection.as_ref()
    }

    /// Returns the zone's sequence number at the start of the object's fetch. It is unique in the zone, and purges are
    /// ordered by it.
    pub fn generation(&self) -> u64 {
        self.fixed().generation
    }

    /// Returns the time of completion.
    pub fn stored_at(&self) -> u64 {
        self.fixed().stored_at
    }

    /// Returns the time until which the object is fresh. A revalidation may change it.
    ///
    /// 0 after a soft purge whose time is unknown, as after a restart, or which requires it
    /// ([`crate::Zone::purge_from`]).
    pub fn fresh_until(&self) -> u64 {
        self.fixed().fresh_until.load(Relaxed)
    }

    /// Returns whether the object is fresh at `now`.
    pub fn is_fresh(&self, now: u64) -> bool {
        now < self.fresh_until()
    }

    /// Sets the time until which the object is fresh.
    pub fn set_fresh_until(&self, at: u64) {
        self.fixed().fresh_until.store(at, Relaxed);
    }

    /// Returns the number of the newest purge that has been applied to it; initially the number of its fetch.
    #[inline]
    pub(crate) fn last_purge_applied(&self) -> u64 {
        self.fixed().last_purge_applied.load(Relaxed)
    }

    /// Returns whether a fetch of a newer object is in progress at `now` (nginx's `UPDATING`).
    pub fn is_updating(&self, now: u64) -> bool {
        now < self.fixed().updating_until.load(Relaxed)
    }

    /// Returns the number of look-ups and claims that found the object.
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
        self.fixed().fresh_until.fetch_min(from, Relaxed);
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
