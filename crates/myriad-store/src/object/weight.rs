//! Accounted memory of an object and its encodings.

use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use myriad_disk::index::LabelIndex;
use once_cell::race::OnceBox;

use super::alternative::{ALTERNATIVES, AlternativeEncoding, EncodingNode};
use super::{Fixed, Object};
use crate::{Body, Metadata, Selection};

/// Unit of approximate weights of objects, in bytes. It permits weights up to 64 GB in 32 bits.
const ROUGH_UNIT: usize = 16;

impl<M: Metadata> Object<M> {
    /// Bytes of an object besides its data: fixed part, reference count, length, and rounding by the allocator.
    const OVERHEAD: usize = size_of::<Fixed<M>>() + 16 + 64;

    /// Bytes of memory of a body segment besides its data: the shared counter that the crate `bytes` allocates, and the
    /// allocator's header.
    const SEGMENT_OVERHEAD: usize = 48;

    pub(super) fn base_weight(&self) -> usize {
        let selection = |s: &Selection| size_of::<Selection>() + s.selector.len() + s.variant.len() + 64;
        let separate_weight = |body: &Body| {
            let segments = body.segments();
            let spilled = if segments.len() > 1 { size_of_val(segments) + 64 } else { 0 };
            let bytes = segments.iter().map(Bytes::len).sum::<usize>();
            size_of::<Body>() + 16 + bytes + segments.len() * Self::SEGMENT_OVERHEAD + spilled
        };
        let mut labels = 0;
        self.labels(&mut |_| labels += LabelIndex::BYTES);
        let fixed = self.fixed();
        Self::OVERHEAD
            + labels
            + self.0.slice.len()
            + M::weight(&fixed.stored_meta)
            + self.separate_body().map_or(0, separate_weight)
            + self.selection().map_or(0, selection)
    }

    pub(super) fn add_rough_weight(&self, bytes: usize) {
        let units = u32::try_from(bytes / ROUGH_UNIT).unwrap_or(u32::MAX);
        self.fixed().rough_weight.store(self.rough_weight().saturating_add(units), Relaxed);
    }

    /// Returns the approximate weight of the object, in units of [`ROUGH_UNIT`] bytes.
    pub(crate) fn rough_weight(&self) -> u32 {
        self.fixed().rough_weight.load(Relaxed)
    }

    /// Returns the number of bytes that an encoding adds to the weight of its object.
    pub(crate) fn alternative_cost(alternative: &AlternativeEncoding<M::EncodingMeta>) -> usize {
        size_of::<EncodingNode<M::EncodingMeta>>()
            + 16
            + alternative.bytes.len()
            + Self::SEGMENT_OVERHEAD
            + M::alternative_weight(&alternative.meta)
    }

    /// Returns the number of bytes accounted for this object in the zone's memory limit, including overhead, encodings
    /// and replacements.
    ///
    /// It increases with each encoding and replacement that is added, which happens under the shard's lock. Wherever the weight changes
    /// the zone's budget, that lock is held as well.
    pub fn weight(&self) -> usize {
        let alternatives = self.encodings().map(|encoding| Self::alternative_cost(&encoding.alternative));
        let replacements = self.replacements().map(Self::replacement_cost);
        self.base_weight() + alternatives.sum::<usize>() + replacements.sum::<usize>()
    }

    fn encodings(&self) -> impl Iterator<Item = &EncodingNode<M::EncodingMeta>> {
        std::iter::successors(self.fixed().encodings.get(), |encoding| encoding.next.get())
    }

    /// Adds an encoding of the body at `index`. Returns false if the index is occupied or out of range.
    pub(crate) fn set_alternative(
        &self,
        index: usize,
        alternative: AlternativeEncoding<M::EncodingMeta>,
    ) -> bool {
        if index >= ALTERNATIVES {
            return false;
        }
        let cost = Self::alternative_cost(&alternative);
        let mut encoding = Box::new(EncodingNode { index, alternative, next: OnceBox::new() });
        let mut place = &self.fixed().encodings;
        loop {
            match place.get() {
                Some(other) if other.index == index => return false,
                Some(other) => place = &other.next,
                None => match place.set(encoding) {
                    Ok(()) => {
                        self.add_rough_weight(cost);
                        return true;
                    }
                    Err(back) => encoding = back,
                },
            }
        }
    }

    /// Returns the encoding of the body at `index`; `None` if there is none.
    pub fn alternative(&self, index: u8) -> Option<&AlternativeEncoding<M::EncodingMeta>> {
        let index = usize::from(index);
        self.encodings().find(|encoding| encoding.index == index).map(|encoding| &encoding.alternative)
    }
}
