//! Replacement of an object: an object that is sent in its place, such as a smaller page with the same meaning.

use std::fmt;

use once_cell::race::OnceBox;

use super::{ALTERNATIVES, AlternativeEncoding, Object};
use crate::{Body, Metadata};

/// Maximum number of replacements that an object has one after another.
pub const MAX_REPLACEMENTS: usize = 4;

/// Metadata and body of a replacement that is to be added to an object.
pub struct ReplacementBody<M: Metadata> {
    /// Metadata of the replacement.
    pub meta: M,
    /// Body of the replacement, in memory.
    pub body: Body,
    /// Encodings of `body`.
    pub alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
}

/// Replacement of an object, or the result that there is none.
pub struct Replacement<M: Metadata> {
    object: Option<Object<M>>,
    state: M::ReplacementState,
    next: OnceBox<Self>,
}

impl<M: Metadata> Replacement<M> {
    pub(crate) fn new(object: Option<Object<M>>, state: M::ReplacementState) -> Self {
        Self { object, state, next: OnceBox::new() }
    }

    /// Returns the object that is sent; `None` if the original is sent.
    pub fn object(&self) -> Option<&Object<M>> {
        self.object.as_ref()
    }

    /// Returns the state of the caller.
    pub fn state(&self) -> &M::ReplacementState {
        &self.state
    }

    /// Returns the number of bytes that this replacement adds to the weight of its original.
    pub(crate) fn weight(&self) -> usize {
        let object = self.object.as_ref().map_or(0, Object::weight);
        size_of::<Self>() + 16 + M::replacement_weight(&self.state) + object
    }
}

impl<M: Metadata> fmt::Debug for Replacement<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replacement").field("object", &self.object).finish_non_exhaustive()
    }
}

impl<M: Metadata> Object<M> {
    /// Returns the latest replacement of the object; `None` if none was added.
    #[inline]
    pub fn replacement(&self) -> Option<&Replacement<M>> {
        let mut latest = self.fixed().replacements.get()?;
        while let Some(next) = latest.next.get() {
            latest = next;
        }
        Some(latest)
    }

    pub(crate) fn replacements(&self) -> impl Iterator<Item = &Replacement<M>> {
        std::iter::successors(self.fixed().replacements.get(), |replacement| replacement.next.get())
    }

    /// Returns true if both are the same object, or if `other` is a replacement of this one.
    pub(crate) fn owns(&self, other: &Self) -> bool {
        self.is_same(other)
            || self.replacements().any(|own| own.object.as_ref().is_some_and(|own| own.is_same(other)))
    }

    /// Adds a replacement after the latest one. Returns false if the object has had [`MAX_REPLACEMENTS`].
    pub(crate) fn add_replacement(&self, replacement: Replacement<M>) -> bool {
        let weight = replacement.weight();
        let mut boxed = Box::new(replacement);
        let mut place = &self.fixed().replacements;
        for _ in 0..MAX_REPLACEMENTS {
            match place.get() {
                Some(earlier) => place = &earlier.next,
                None => match place.set(boxed) {
                    Ok(()) => {
                        self.add_rough_weight(weight);
                        return true;
                    }
                    Err(back) => boxed = back,
                },
            }
        }
        false
    }
}
