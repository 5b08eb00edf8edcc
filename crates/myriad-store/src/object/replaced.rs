//! Look-up and adding of the replacements of an object: objects that are sent in its place.

use super::alternative::{ALTERNATIVES, AlternativeEncoding};
use super::replacement::{MAX_REPLACEMENTS, Replacement};
use super::{Object, ObjectReplacement};
use crate::{Body, Metadata};

/// Metadata and body of a replacement that is to be added to an object.
pub struct ReplacementBody<M: Metadata> {
    /// Metadata of the replacement.
    pub meta: M,
    /// Body of the replacement, in memory.
    pub body: Body,
    /// Encodings of `body`, each at its index; `None` for a missing one.
    pub alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
}

impl<M: Metadata> Object<M> {
    /// Returns the latest replacement of the object; `None` if none was added.
    #[inline]
    pub fn replacement(&self) -> Option<&ObjectReplacement<M>> {
        let mut latest = self.fixed().replacements.get()?;
        while let Some(next) = latest.next().get() {
            latest = next;
        }
        Some(latest)
    }

    /// Returns whether another replacement can be added.
    pub fn may_get_replacement(&self) -> bool {
        self.replacements().count() < MAX_REPLACEMENTS
    }

    pub(super) fn replacements(&self) -> impl Iterator<Item = &ObjectReplacement<M>> {
        std::iter::successors(self.fixed().replacements.get(), |replacement| replacement.next().get())
    }

    /// Returns true if both are the same object, or if `other` is a replacement of this one.
    pub(crate) fn owns(&self, other: &Self) -> bool {
        let is_other = |own: &ObjectReplacement<M>| own.object().is_some_and(|own| own.is_same(other));
        self.is_same(other) || self.replacements().any(is_other)
    }

    /// Returns the number of bytes that a replacement adds to the weight of its original.
    pub(crate) fn replacement_cost(replacement: &ObjectReplacement<M>) -> usize {
        let object = replacement.object().map_or(0, Self::weight);
        size_of::<ObjectReplacement<M>>() + 16 + M::replacement_weight(replacement.state()) + object
    }

    /// Adds a replacement after the latest one. Returns false if the object has had [`MAX_REPLACEMENTS`].
    pub(crate) fn add_replacement(&self, replacement: ObjectReplacement<M>) -> bool {
        let cost = Self::replacement_cost(&replacement);
        let mut boxed: Box<Replacement<_, _>> = Box::new(replacement);
        let mut place = &self.fixed().replacements;
        for _ in 0..MAX_REPLACEMENTS {
            match place.get() {
                Some(earlier) => place = earlier.next(),
                None => match place.set(boxed) {
                    Ok(()) => {
                        self.add_rough_weight(cost);
                        return true;
                    }
                    Err(back) => boxed = back,
                },
            }
        }
        false
    }
}
