//! What purges say of a page.

/// What the purges say of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Stays,
    /// It stays, but is not fresh any more.
    Stale,
    Goes,
}

/// A page that a soft purge has covered in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softened {
    pub(crate) key: u128,
    pub(crate) generation: u64,
    /// The newest purge that it was asked by.
    pub(crate) number: u64,
}
