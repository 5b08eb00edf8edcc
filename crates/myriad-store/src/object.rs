//! Objects: an immutable response body with the caller's metadata.

mod alternative;
mod weight;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use myriad_disk::StoredBody;
use myriad_index::Judged;
use once_cell::race::OnceBox;
use triomphe::ThinArc;

use crate::{Body, Metadata, Selection};

use alternative::Encodings;
pub use alternative::{ALTERNATIVES, Alternative, AttachError};

/// The longest body that lies in its object's piece of memory, in bytes. A longer one stays in its own piece, which saves a
/// copy.
const WITHIN: u64 = 4096;

/// The parts of an object, without its key.
pub(crate) struct Parts<M: Metadata> {
    pub(crate) meta: M,
    pub(crate) body: Body,
    pub(crate) selection: Option<Selection>,
    pub(crate) generation: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) alternatives: [Option<Alternative<M::Alternative>>; ALTERNATIVES],
    /// The time now, which counts as its last use.
    pub(crate) now: u64,
}

/// Bits that count hits, and the most they can.
const HITS_BITS: u32 = 30;
const HITS: u32 = (1 << HITS_BITS) - 1;
/// The most hits that wait for the eviction queue to see them.
const MOST_UNSEEN: u32 = 3;

/// Bytes that memory gives at once.
const LINE: usize = 64;
/// Lines behind the fixed part that are asked for; the processor sees by itself that the others will be read.
const TOUCHED: usize = 12;

/// Reads a byte of each of the first lines.
#[inline]
fn touched(bytes: &[u8]) -> u8 {
    bytes.iter().step_by(LINE).take(TOUCHED).fold(0, |all, byte| all ^ byte)
}

/// One stored response: an immutable body and metadata, with validity that a revalidation may extend. This is a handle: cloning
/// it counts.
///
/// An object is one *generation*: its alternative encodings belong to exactly its bytes, because they live inside it. It is one
/// piece of memory, whose lines lie side by side for a hit to read:
///
/// ```text
///   count | fixed part | length | key | texts of the metadata | body, unless it is long
/// ```
pub struct Object<M: Metadata>(ThinArc<Fixed<M>, u8>);

/// In this order: what each hit reads or writes comes first, with the count, and something that can be asked for before it is
/// needed lies in every line.
#[repr(C)]
struct Fixed<M: Metadata> {
    fresh_until: AtomicU64,
    /// The number of the newest purge that it was asked by; at first that of the fetch.
    asked_by: AtomicU64,
    /// When it was last used, ms.
    last_used: AtomicU64,
    /// Hits, and above [`HITS`] those that the eviction queue has not seen.
    hits: AtomicU32,
    /// Bytes of the key.
    key_end: u32,
    /// Bytes of key and texts.
    texts_end: u32,
    /// About what it weighs, in units of [`ROUGH_UNIT`] bytes: the eviction queue asks at each step, and needs no more.
    rough_weight: AtomicU32,
    encodings: Encodings<M::Alternative>,
    rare: Option<Box<Rare>>,
    generation: u64,
    kept: M::Kept,
    stored_at: u64,
    updating_until: AtomicU64,
}

/// Parts that few objects have, or only long ones.
#[derive(Default)]
struct Rare {
    selection: Option<Selection>,
    /// A body that does not lie behind the texts.
    apart: Option<Body>,
}

/// Keeps an object while the body within it is sent.
struct Within<M: Metadata>(Object<M>);

impl<M: Metadata> AsRef<[u8]> for Within<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.within()
    }
}

impl<M: Metadata> Object<M> {
    /// Makes an object of its key and all the rest.
    pub(crate) fn new(key: &[u8], parts: Parts<M>) -> Self {
        let Parts { meta, body, selection, generation, stored_at, fresh_until, alternatives, now } = parts;
        let is_within = body.stored().is_none() && body.len() <= WITHIN;
        let mut data = Vec::with_capacity(key.len() + 512 + if is_within { body.len() as usize } else { 0 });
        data.extend_from_slice(key);
        let kept = meta.keep(&mut data);
        let texts_end = data.len();
        if is_within {
            body.segments().iter().for_each(|segment| data.extend_from_slice(segment));
        }
        let fixed = Fixed {
            fresh_until: AtomicU64::new(fresh_until),
            asked_by: AtomicU64::new(generation),
            last_used: AtomicU64::new(now.max(stored_at)),
            hits: AtomicU32::new(0),
            key_end: key.len() as u32,
            texts_end: texts_end as u32,
            rough_weight: AtomicU32::new(0),
            encodings: OnceBox::new(),
            rare: (!is_within || selection.is_some())
                .then(|| Box::new(Rare { selection, apart: (!is_within).then_some(body) })),
            generation,
            kept,
            stored_at,
            updating_until: AtomicU64::new(0),
        };
        let object = Self(ThinArc::from_header_and_slice(fixed, &data));
        object.add_rough_weight(object.base_weight());
        for (index, alternative) in alternatives.into_iter().enumerate() {
            if let Some(alternative) = alternative {
                // The object is new, so the place is free.
                let _ = object.set_alternative(index, alternative);
            }
        }
        object
    }

    /// The same object with a body that lies on disk; `None` where there is another handle of it.
    pub(crate) fn with_body(mut self, body: Body) -> Option<Self> {
        let is_placed = self.0.with_arc_mut(|shared| {
            let own = triomphe::Arc::get_mut(shared)?;
            own.header_mut().rare.get_or_insert_default().apart = Some(body);
            Some(())
        });
        is_placed.map(|()| self)
    }

    fn fixed(&self) -> &Fixed<M> {
        &self.0.header.header
    }

    /// The body, where it does not lie within.
    #[inline]
    fn apart(&self) -> Option<&Body> {
        self.fixed().rare.as_deref()?.apart.as_ref()
    }

    /// The body, where it lies within.
    fn within(&self) -> &[u8] {
        &self.0.slice[self.fixed().texts_end as usize..]
    }

    /// Reads a byte of each line of memory that a hit will read of this object: the texts, and the body, or its first encoding
    /// where it has one, as most clients take that. Among a million objects each line is a miss of the processor's caches, and
    /// misses at the same time take no longer than one.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let fixed = self.fixed();
        let first = fixed.asked_by.load(Relaxed) ^ fixed.generation ^ fixed.stored_at;
        let (own, encoded) = match fixed.encodings.get() {
            Some(encoding) => (&self.0.slice[..fixed.texts_end as usize], &encoding.alternative.bytes[..]),
            None => (&self.0.slice[..], &[][..]),
        };
        std::hint::black_box(first as u8 ^ touched(own) ^ touched(encoded));
    }

    /// Whether two handles are of one object.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.fixed(), other.fixed())
    }

    /// Counts a hit, in the line that a look-up reads anyway: what the eviction queue wants to know of it waits there. The shard's
    /// lock is held, so a load and a store lose nothing and save a locked instruction.
    #[inline]
    pub(crate) fn count_hit(&self, now: u64) {
        let known = self.fixed().hits.load(Relaxed);
        let unseen = (known >> HITS_BITS).saturating_add(1).min(MOST_UNSEEN);
        self.fixed().hits.store((known & HITS).saturating_add(1).min(HITS) | unseen << HITS_BITS, Relaxed);
        self.fixed().last_used.store(now, Relaxed);
    }

    /// Hits since this was asked last, at most three. The shard's lock is held.
    pub(crate) fn take_unseen_hits(&self) -> u8 {
        let known = self.fixed().hits.load(Relaxed);
        self.fixed().hits.store(known & HITS, Relaxed);
        (known >> HITS_BITS) as u8
    }

    /// When the object was last used, in ms: what was read from disk was used then, not when it was stored.
    pub(crate) fn last_used(&self) -> u64 {
        self.fixed().last_used.load(Relaxed)
    }

    /// The same in seconds.
    pub(crate) fn last_used_s(&self) -> u32 {
        (self.last_used() / 1000) as u32
    }

    /// From now until `until`, in ms, it counts as updating.
    pub(crate) fn begin_updating(&self, until: u64) {
        self.fixed().updating_until.store(until, Relaxed);
    }

    /// It does not count as updating any more, unless another fetch than that until `until` has begun since.
    pub(crate) fn end_updating(&self, until: u64) {
        let _ = self.fixed().updating_until.compare_exchange(until, 0, Relaxed, Relaxed);
    }

    /// The caller's metadata.
    #[inline]
    pub fn meta(&self) -> M::View<'_> {
        let fixed = self.fixed();
        let texts = &self.0.slice[fixed.key_end as usize..fixed.texts_end as usize];
        M::view_kept(&fixed.kept, texts)
    }

    /// Tells each label that the metadata tells.
    pub(crate) fn labels(&self, each: &mut dyn FnMut(u64)) {
        M::labels(self.meta(), each);
    }

    /// The body as it came from the origin, to be sent or kept; no bytes are copied.
    pub fn body(&self) -> Body {
        match self.apart() {
            Some(body) => body.clone(),
            None if self.within().is_empty() => Body::default(),
            None => Body::from(Bytes::from_owner(Within(self.clone()))),
        }
    }

    /// Bytes of the body.
    #[inline]
    pub fn body_len(&self) -> u64 {
        match self.apart() {
            Some(body) => body.len(),
            None => self.within().len() as u64,
        }
    }

    /// The file of a body that is not in memory.
    #[inline]
    pub fn stored_body(&self) -> Option<&Arc<StoredBody>> {
        self.apart().and_then(Body::stored)
    }

    /// The key's bytes.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.0.slice[..self.fixed().key_end as usize]
    }

    /// Which variant of the key this is; `None` where the key has no selector.
    pub fn selection(&self) -> Option<&Selection> {
        self.fixed().rare.as_deref()?.selection.as_ref()
    }

    /// The zone's sequence number at which the fetch of this object began: unique in the zone, and what purges are
    /// ordered against.
    pub fn generation(&self) -> u64 {
        self.fixed().generation
    }

    /// When the object was completed.
    pub fn stored_at(&self) -> u64 {
        self.fixed().stored_at
    }

    /// When the object stops being fresh; a revalidation may move it. 0 after a soft purge of which it is not known when it
    /// came, as after a restart, or which says so ([`crate::Zone::purge_from`]).
    pub fn fresh_until(&self) -> u64 {
        self.fixed().fresh_until.load(Relaxed)
    }

    /// Whether the object is fresh at `now`.
    pub fn is_fresh(&self, now: u64) -> bool {
        now < self.fresh_until()
    }

    /// Sets when the object stops being fresh.
    pub fn set_fresh_until(&self, at: u64) {
        self.fixed().fresh_until.store(at, Relaxed);
    }

    /// The number of the newest purge that it was judged by; at first that of its fetch.
    #[inline]
    pub(crate) fn asked_by(&self) -> u64 {
        self.fixed().asked_by.load(Relaxed)
    }

    /// Whether somebody is fetching a newer one at `now` (nginx's `UPDATING`).
    pub fn is_updating(&self, now: u64) -> bool {
        now < self.fixed().updating_until.load(Relaxed)
    }

    /// How often the object was found by a look-up or a claim.
    pub fn hits(&self) -> u32 {
        self.fixed().hits.load(Relaxed) & HITS
    }
}

impl<M: Metadata> Judged<M> for Object<M> {
    fn key(&self) -> &[u8] {
        self.key()
    }

    fn meta(&self) -> M::View<'_> {
        self.meta()
    }

    fn generation(&self) -> u64 {
        self.generation()
    }

    fn asked_by(&self) -> u64 {
        self.asked_by()
    }

    fn note_asked(&self, number: u64) {
        self.fixed().asked_by.fetch_max(number, Relaxed);
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
