//! Stored objects of one cache key: usually a single object, otherwise one for each variant.

use std::ops::Deref;

use crate::{Metadata, Object};

/// Objects of one key, at least one: a single object inline (two words), or several in a list.
#[derive(Debug)]
pub(crate) enum Variants<M: Metadata> {
    One(Object<M>),
    #[expect(
        clippy::box_collection,
        reason = "a list in place would make each of a million single ones a word longer"
    )]
    Several(Box<Vec<Object<M>>>),
}

impl<M: Metadata> Clone for Variants<M> {
    fn clone(&self) -> Self {
        match self {
            Self::One(object) => Self::One(object.clone()),
            Self::Several(objects) => Self::Several(objects.clone()),
        }
    }
}

impl<M: Metadata> Deref for Variants<M> {
    type Target = [Object<M>];

    #[inline]
    fn deref(&self) -> &[Object<M>] {
        match self {
            Self::One(object) => std::slice::from_ref(object),
            Self::Several(objects) => objects,
        }
    }
}

impl<M: Metadata> Variants<M> {
    pub(crate) fn as_mut_slice(&mut self) -> &mut [Object<M>] {
        match self {
            Self::One(object) => std::slice::from_mut(object),
            Self::Several(objects) => objects,
        }
    }

    pub(crate) fn push(&mut self, object: Object<M>) {
        match self {
            Self::One(first) => *self = Self::Several(Box::new(vec![first.clone(), object])),
            Self::Several(objects) => objects.push(object),
        }
    }

    /// Removes and returns the object at `position`. Returns `None` for the last remaining object, which is not
    /// removed, and if there is none at `position`.
    pub(crate) fn take(&mut self, position: usize) -> Option<Object<M>> {
        let Self::Several(objects) = self else { return None };
        if objects.len() < 2 || position >= objects.len() {
            return None;
        }
        let taken = objects.swap_remove(position);
        if let [last] = &objects[..] {
            *self = Self::One(last.clone());
        }
        Some(taken)
    }
}
