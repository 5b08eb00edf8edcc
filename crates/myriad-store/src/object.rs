//! What is stored: one immutable response body with the caller's metadata.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use once_cell::race::OnceBox;
use triomphe::ThinArc;

use crate::labels::Labels;
use crate::{Body, Metadata, StoredBody};

/// Alternative encodings that one object can carry, besides its body as it came.
pub const ALTERNATIVES: usize = 4;

/// The longest body that lies in its object's own piece of memory, in bytes: a longer one is worth a piece of its own, and is not
/// copied once more.
const WITHIN: u64 = 4096;

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

/// Bytes of the unit in which an object tells about what it weighs, up to 64 GB.
const HEFT: usize = 16;

/// Bytes that memory gives at once.
const LINE: usize = 64;
/// Lines behind the fixed part that are asked for; the processor sees by itself that the others will be read.
const TOUCHED: usize = 12;

/// Reads a byte of each of the first lines.
#[inline]
fn touched(bytes: &[u8]) -> u8 {
    bytes.iter().step_by(LINE).take(TOUCHED).fold(0, |all, byte| all ^ byte)
}

/// The alternatives of an object: most have one or two, so each brings its own place.
struct Encoding<A> {
    index: usize,
    alternative: Alternative<A>,
    next: Encodings<A>,
}

type Encodings<A> = OnceBox<Encoding<A>>;

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
    /// The number of the newest ban that was asked; at first that of the fetch.
    asked_by: AtomicU64,
    /// When it was last used, ms.
    last_used: AtomicU64,
    /// Hits, and above [`HITS`] those that the eviction queue has not seen.
    hits: AtomicU32,
    /// Where the key ends.
    key_end: u32,
    /// Where the texts end.
    texts_end: u32,
    /// About what it weighs, in units of [`HEFT`] bytes: the eviction queue asks at each step, and needs no more.
    heft: AtomicU32,
    encodings: Encodings<M::Alternative>,
    rare: Option<Box<Rare>>,
    generation: u64,
    kept: M::Kept,
    stored_at: u64,
    updating_until: AtomicU64,
}

/// What few objects have, or only those that are long.
#[derive(Default)]
struct Rare {
    selection: Option<Selection>,
    /// A body that does not lie behind the texts.
    apart: Option<Body>,
}

/// The body that lies within an object, for as long as somebody sends it.
struct Within<M: Metadata>(Object<M>);

impl<M: Metadata> AsRef<[u8]> for Within<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.within()
    }
}

impl<M: Metadata> Object<M> {
    /// Bytes of an object beside its data: the fixed part, count and length, and what the allocator rounds up.
    const OVERHEAD: usize = size_of::<Fixed<M>>() + 16 + 64;

    /// Bytes of a segment beside its data: the shared count that `bytes` allocates, and the allocator's header.
    const SEGMENT_OVERHEAD: usize = 48;

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
            heft: AtomicU32::new(0),
            encodings: OnceBox::new(),
            rare: (!is_within || selection.is_some())
                .then(|| Box::new(Rare { selection, apart: (!is_within).then_some(body) })),
            generation,
            kept,
            stored_at,
            updating_until: AtomicU64::new(0),
        };
        let object = Self(ThinArc::from_header_and_slice(fixed, &data));
        object.add_heft(object.base_weight());
        for (index, alternative) in alternatives.into_iter().enumerate() {
            if let Some(alternative) = alternative {
                // The object is new, so the place is free.
                let _ = object.set_alternative(index, alternative);
            }
        }
        object
    }

    /// The same object with its body, which lies on disk; `None` where somebody else holds it already.
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

    fn base_weight(&self) -> usize {
        let selection = |s: &Selection| size_of::<Selection>() + s.selector.len() + s.variant.len() + 64;
        let apart = |body: &Body| {
            let segments = body.segments();
            let spilled = if segments.len() > 1 { size_of_val(segments) + 64 } else { 0 };
            let bytes = segments.iter().map(Bytes::len).sum::<usize>();
            size_of::<Body>() + 16 + bytes + segments.len() * Self::SEGMENT_OVERHEAD + spilled
        };
        let mut labels = 0;
        self.labels(&mut |_| labels += Labels::BYTES);
        let fixed = self.fixed();
        Self::OVERHEAD
            + labels
            + self.0.slice.len()
            + M::weight(&fixed.kept)
            + self.apart().map_or(0, apart)
            + self.selection().map_or(0, selection)
    }

    fn add_heft(&self, bytes: usize) {
        let units = u32::try_from(bytes / HEFT).unwrap_or(u32::MAX);
        self.fixed().heft.store(self.heft().saturating_add(units), Relaxed);
    }

    /// About what it weighs, in units that are the same for all.
    pub(crate) fn heft(&self) -> u32 {
        self.fixed().heft.load(Relaxed)
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
        std::iter::successors(self.fixed().encodings.get(), |encoding| encoding.next.get())
    }

    /// Puts `alternative` at `index`; false where one is there already or the index is out of range.
    pub(crate) fn set_alternative(&self, index: usize, alternative: Alternative<M::Alternative>) -> bool {
        if index >= ALTERNATIVES {
            return false;
        }
        let cost = Self::alternative_cost(&alternative);
        let mut encoding = Box::new(Encoding { index, alternative, next: OnceBox::new() });
        let mut place = &self.fixed().encodings;
        loop {
            match place.get() {
                Some(other) if other.index == index => return false,
                Some(other) => place = &other.next,
                None => match place.set(encoding) {
                    Ok(()) => {
                        self.add_heft(cost);
                        return true;
                    }
                    Err(back) => encoding = back,
                },
            }
        }
    }

    /// Asks memory for all the lines that a hit reads of this object: those of the texts, and those of the body, or of its encoding
    /// where it has one, as most clients take that. Among a million objects each is a miss of the processor's caches, and misses
    /// that are under way together take no longer than one.
    #[inline]
    pub(crate) fn gather(&self) {
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

    pub(crate) fn lease(&self, until: u64) {
        self.fixed().updating_until.store(until, Relaxed);
    }

    /// Ends the lease that ran until `until`, unless another has begun since.
    pub(crate) fn end_lease(&self, until: u64) {
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

    /// Ends the object's freshness at `from`, in ms since the epoch, unless it ended before; 0 stands for a time that is
    /// not known.
    pub(crate) fn expire(&self, from: u64) {
        self.fixed().fresh_until.fetch_min(from, Relaxed);
    }

    pub(crate) fn asked_by(&self) -> u64 {
        self.fixed().asked_by.load(Relaxed)
    }

    pub(crate) fn note_asked(&self, number: u64) {
        self.fixed().asked_by.fetch_max(number, Relaxed);
    }

    /// Whether somebody is fetching a newer one at `now` (nginx's `UPDATING`).
    pub fn is_updating(&self, now: u64) -> bool {
        now < self.fixed().updating_until.load(Relaxed)
    }

    /// How often the object was found by a look-up or a claim.
    pub fn hits(&self) -> u32 {
        self.fixed().hits.load(Relaxed) & HITS
    }

    /// The bytes that the zone accounts for this object, overhead and alternatives included. It grows with each alternative that
    /// is attached, under the shard's lock, as is every reading that the ledger depends on.
    pub fn weight(&self) -> usize {
        let alternatives = self.encodings().map(|encoding| Self::alternative_cost(&encoding.alternative));
        self.base_weight() + alternatives.sum::<usize>()
    }

    /// The alternative encoding at `index`, if there is one.
    pub fn alternative(&self, index: u8) -> Option<&Alternative<M::Alternative>> {
        let index = usize::from(index);
        self.encodings().find(|encoding| encoding.index == index).map(|encoding| &encoding.alternative)
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
