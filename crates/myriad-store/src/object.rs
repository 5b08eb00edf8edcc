//! What is stored: one immutable response body with the caller's metadata.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::Body;
use crate::flight::{Completion, Flight};

/// Alternative encodings that one object can carry, besides its body as it came.
pub const ALTERNATIVES: usize = 4;

/// What the caller keeps with every object.
pub trait Metadata: Send + Sync + 'static {
    /// What the caller keeps with an alternative encoding; `()` where nothing.
    type Alternative: Send + Sync + 'static;

    /// Heap bytes that this value owns, beyond its own size.
    fn weight(&self) -> usize;

    /// Tells each label of this value: hashes of what it may be purged by ([`crate::Covered::Exact`]). Always the same
    /// ones; some 32 bytes of index each belong into [`Self::weight`].
    fn labels(&self, _each: &mut dyn FnMut(u64)) {}

    /// Those of the labels that claims of it tell ([`crate::ClaimOptions::address`]).
    fn address(&self) -> Option<[u64; 2]> {
        None
    }

    /// Reads the rule of a purge ([`crate::Covered::Rule`]): as it was given, now or before a restart of perhaps an older
    /// build. `None` where it is none: such a purge is refused, or, where it was accepted before, covers everything.
    fn covers(_rule: &[u8]) -> Option<crate::Covers<Self>>
    where
        Self: Sized,
    {
        None
    }

    /// Heap bytes that the metadata of an alternative owns, beyond its own size.
    fn alternative_weight(_alternative: &Self::Alternative) -> usize {
        0
    }
}

/// Metadata that can be kept on disk.
///
/// What [`Self::encode`] writes, [`Self::decode`] of the same [`Self::VERSION`] reads; of damage it hears nothing, since
/// files are checksummed, but a file may have been written by another build.
pub trait Persist: Metadata + Sized {
    /// To be raised by every change of the encoding: files of another version are set aside.
    const VERSION: u16;

    /// Appends the metadata.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads it back; `None` where it cannot be what was written.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Appends the metadata of an alternative.
    fn encode_alternative(meta: &Self::Alternative, out: &mut Vec<u8>);

    /// Reads it back.
    fn decode_alternative(bytes: &[u8]) -> Option<Self::Alternative>;
}

/// Which variant of a key an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Opaque bytes from which the caller derives a variant key for any request (the field names of `Vary`).
    pub selector: Arc<[u8]>,
    /// The variant key that the object's own request gave.
    pub variant: Arc<[u8]>,
}

/// One more encoding of an object's body.
#[derive(Debug)]
pub struct Alternative<A> {
    /// The encoded body; the allocation should be of its exact size, since its length is what is accounted.
    pub bytes: Bytes,
    /// The caller's metadata (the head that goes with it).
    pub meta: A,
}

/// Why an alternative was not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The object is no longer stored: purged, evicted or replaced by another generation.
    Gone,
    /// Another alternative is already at that index.
    Occupied,
    /// The zone's cap leaves no room, or the index is not below [`ALTERNATIVES`].
    NoRoom,
}

/// All that an object is made of, but its key.
pub(crate) struct Restored<M: Metadata> {
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

/// The alternatives of an object: most have one or two, so each brings its own place.
struct Encoding<A> {
    index: usize,
    alternative: Alternative<A>,
    next: Encodings<A>,
}

type Encodings<A> = OnceLock<Box<Encoding<A>>>;

/// One stored response: an immutable body and metadata, with validity that a revalidation may extend.
///
/// An object is one *generation*: its alternative encodings belong to exactly its bytes, because they live inside it.
pub struct Object<M: Metadata> {
    meta: M,
    body: Body,
    key: Arc<[u8]>,
    selection: Option<Box<Selection>>,
    generation: u64,
    stored_at: u64,
    fresh_until: AtomicU64,
    updating_until: AtomicU64,
    /// The number of the newest ban that was asked; at first that of the fetch.
    asked_by: AtomicU64,
    weight: AtomicUsize,
    hits: AtomicU32,
    last_hit_s: AtomicU32,
    encodings: Encodings<M::Alternative>,
}

impl<M: Metadata> Object<M> {
    /// Bytes of an object beside its data: itself, its reference counts and what the allocator adds.
    const OVERHEAD: usize = size_of::<Self>() + 32;

    /// Bytes of a segment beside its data: the shared count that `bytes` allocates, and the allocator's header.
    const SEGMENT_OVERHEAD: usize = 48;

    pub(crate) fn new(
        flight: &Flight<M>,
        body: Body,
        selection: Option<Selection>,
        finish: Completion<M>,
    ) -> Self {
        let restored = Restored {
            meta: finish.meta,
            body,
            selection,
            generation: flight.generation,
            stored_at: finish.now,
            fresh_until: finish.fresh_until,
            alternatives: finish.alternatives,
            now: finish.now,
        };
        Self::restored(Arc::clone(flight.key.bytes()), restored)
    }

    /// An object that was stored before.
    pub(crate) fn restored(key: Arc<[u8]>, restored: Restored<M>) -> Self {
        let object = Self {
            meta: restored.meta,
            body: restored.body,
            key,
            selection: restored.selection.map(Box::new),
            generation: restored.generation,
            stored_at: restored.stored_at,
            fresh_until: AtomicU64::new(restored.fresh_until),
            updating_until: AtomicU64::new(0),
            asked_by: AtomicU64::new(restored.generation),
            weight: AtomicUsize::new(0),
            hits: AtomicU32::new(0),
            last_hit_s: AtomicU32::new((restored.now / 1000) as u32),
            encodings: OnceLock::new(),
        };
        let mut weight = object.base_weight();
        for (index, alternative) in restored.alternatives.into_iter().enumerate() {
            if let Some(alternative) = alternative {
                weight += Self::alternative_cost(&alternative);
                // The object is new, so the place is free.
                let _ = object.set_alternative(index, alternative);
            }
        }
        object.weight.store(weight, Relaxed);
        object
    }

    /// The same object with its body, which lies on disk.
    pub(crate) fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    fn base_weight(&self) -> usize {
        let selection = |s: &Selection| size_of::<Selection>() + s.selector.len() + s.variant.len() + 64;
        let segments = self.body.segments().len();
        let spilled = if segments > 1 { size_of_val(self.body.segments()) + 64 } else { 0 };
        Self::OVERHEAD
            + self.meta.weight()
            + self.body.segments().iter().map(Bytes::len).sum::<usize>()
            + segments * Self::SEGMENT_OVERHEAD
            + spilled
            + self.selection().map_or(0, selection)
    }

    /// Bytes that an alternative adds to its object.
    pub(crate) fn alternative_cost(alternative: &Alternative<M::Alternative>) -> usize {
        size_of::<Encoding<M::Alternative>>()
            + 16
            + alternative.bytes.len()
            + Self::SEGMENT_OVERHEAD
            + M::alternative_weight(&alternative.meta)
    }

    fn encodings(&self) -> impl Iterator<Item = &Encoding<M::Alternative>> {
        std::iter::successors(self.encodings.get(), |encoding| encoding.next.get()).map(Box::as_ref)
    }

    /// Puts `alternative` at `index`; false where one is there already or the index is out of range.
    pub(crate) fn set_alternative(&self, index: usize, alternative: Alternative<M::Alternative>) -> bool {
        if index >= ALTERNATIVES {
            return false;
        }
        let mut encoding = Box::new(Encoding { index, alternative, next: OnceLock::new() });
        let mut place = &self.encodings;
        loop {
            match place.get() {
                Some(other) if other.index == index => return false,
                Some(other) => place = &other.next,
                None => match place.set(encoding) {
                    Ok(()) => return true,
                    Err(back) => encoding = back,
                },
            }
        }
    }

    /// Adds to the weight; called under the shard's lock, as is every reading that the ledger depends on.
    pub(crate) fn add_weight(&self, bytes: usize) {
        self.weight.fetch_add(bytes, Relaxed);
    }

    /// Counts a hit. The shard's lock is held, so a load and a store lose nothing and save a locked instruction.
    pub(crate) fn count_hit(&self, now: u64) {
        self.hits.store(self.hits.load(Relaxed).wrapping_add(1), Relaxed);
        self.last_hit_s.store((now / 1000) as u32, Relaxed);
    }

    /// When the object was last hit, in seconds.
    pub(crate) fn last_hit_s(&self) -> u32 {
        self.last_hit_s.load(Relaxed)
    }

    pub(crate) fn lease(&self, until: u64) {
        self.updating_until.store(until, Relaxed);
    }

    /// Ends the lease that ran until `until`, unless another has begun since.
    pub(crate) fn end_lease(&self, until: u64) {
        let _ = self.updating_until.compare_exchange(until, 0, Relaxed, Relaxed);
    }

    /// The caller's metadata.
    pub fn meta(&self) -> &M {
        &self.meta
    }

    /// The body as it came from the origin.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The key's bytes.
    pub fn key(&self) -> &Arc<[u8]> {
        &self.key
    }

    /// Which variant of the key this is; `None` where the key has no selector.
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_deref()
    }

    /// The zone's sequence number at which the fetch of this object began: unique in the zone, and what purges are
    /// ordered against.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// When the object was completed.
    pub fn stored_at(&self) -> u64 {
        self.stored_at
    }

    /// When the object stops being fresh; a revalidation may move it.
    pub fn fresh_until(&self) -> u64 {
        self.fresh_until.load(Relaxed)
    }

    /// When the object was last used, in ms: what was read from disk was used now, not when it was stored.
    pub(crate) fn used_at(&self) -> u64 {
        self.stored_at.max(u64::from(self.last_hit_s()) * 1000)
    }

    /// Whether the object is fresh at `now`.
    pub fn is_fresh(&self, now: u64) -> bool {
        now < self.fresh_until()
    }

    /// Sets when the object stops being fresh.
    pub fn set_fresh_until(&self, at: u64) {
        self.fresh_until.store(at, Relaxed);
    }

    /// Makes the object stale from this moment on: a soft purge.
    pub(crate) fn expire(&self) {
        self.set_fresh_until(0);
    }

    pub(crate) fn asked_by(&self) -> u64 {
        self.asked_by.load(Relaxed)
    }

    pub(crate) fn note_asked(&self, number: u64) {
        self.asked_by.fetch_max(number, Relaxed);
    }

    /// Whether somebody is fetching a newer one at `now` (nginx's `UPDATING`).
    pub fn is_updating(&self, now: u64) -> bool {
        now < self.updating_until.load(Relaxed)
    }

    /// How often the object was found by a look-up or a claim.
    pub fn hits(&self) -> u32 {
        self.hits.load(Relaxed)
    }

    /// The bytes that the zone accounts for this object, overhead and alternatives included.
    pub fn weight(&self) -> usize {
        self.weight.load(Relaxed)
    }

    /// The alternative encoding at `index`, if there is one.
    pub fn alternative(&self, index: u8) -> Option<&Alternative<M::Alternative>> {
        let index = usize::from(index);
        self.encodings().find(|encoding| encoding.index == index).map(|encoding| &encoding.alternative)
    }
}

impl<M: Metadata> fmt::Debug for Object<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("key", &self.key.escape_ascii().to_string())
            .field("generation", &self.generation)
            .field("len", &self.body.len())
            .finish_non_exhaustive()
    }
}
