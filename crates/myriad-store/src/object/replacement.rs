//! Replacement of an object: an object that is sent in its place, such as a smaller page with the same meaning.

use once_cell::race::OnceBox;

/// Maximum number of replacements that an object has one after another.
pub const MAX_REPLACEMENTS: usize = 4;

/// Replacement of an object by another one, `O`, or the result that there is none, with the caller's state `S`.
#[derive(Debug)]
pub struct Replacement<O, S> {
    object: Option<O>,
    state: S,
    next: ReplacementList<O, S>,
}

/// Start of the list of an object's replacements, in their order; empty until one is added.
pub(super) type ReplacementList<O, S> = OnceBox<Replacement<O, S>>;

impl<O, S> Replacement<O, S> {
    pub(crate) fn new(object: Option<O>, state: S) -> Self {
        Self { object, state, next: OnceBox::new() }
    }

    /// Returns the object that is sent; `None` if the original is sent.
    pub fn object(&self) -> Option<&O> {
        self.object.as_ref()
    }

    /// Returns the state of the caller.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Returns the next replacement in the list, which is used in place of this one.
    pub(super) fn next(&self) -> &ReplacementList<O, S> {
        &self.next
    }
}
