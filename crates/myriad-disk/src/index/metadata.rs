//! Metadata of callers for the objects that they store.

/// Predicate that returns whether a purge covers a stored object, by its key and metadata.
pub type PurgePredicate<M> = Box<dyn Fn(&[u8], <M as Metadata>::MetaView<'_>) -> bool + Send + Sync>;

/// Metadata that a caller stores with every object.
///
/// A separate value owns its texts. In an object the texts are between key and body, in the same allocation: a further
/// allocation would cost memory for each of a million objects, and time for each hit.
pub trait Metadata: Sized + Send + Sync + 'static {
    /// Caller's metadata of an alternative encoding; `()` for none.
    type EncodingMeta: Send + Sync + 'static;

    /// Part of a value stored in an object, without the texts.
    type StoredForm: Send + Sync + 'static;

    /// View of a value, independent of the location of its texts.
    type MetaView<'a>: Copy;

    /// Returns a view of a separate value.
    fn view(&self) -> Self::MetaView<'_>;

    /// Converts a value to its stored form, and appends its texts to `texts`.
    fn into_stored(self, texts: &mut Vec<u8>) -> Self::StoredForm;

    /// Returns a view of a value in an object. `texts` are the bytes appended by [`Self::into_stored`].
    fn view_stored<'a>(stored: &'a Self::StoredForm, texts: &'a [u8]) -> Self::MetaView<'a>;

    /// Returns the number of heap bytes that `kept` owns, in addition to its own size and the texts.
    fn weight(kept: &Self::StoredForm) -> usize;

    /// Calls `each` with each label of a value: a hash of a URL or tag by which it may be purged
    /// ([`crate::index::PurgeScope::Exact`]). A value must always have the same labels. Each is accounted with 32 bytes.
    fn labels(_view: Self::MetaView<'_>, _each: &mut dyn FnMut(u64)) {}

    /// Returns the labels of the URL, which a claim has before the response arrives.
    fn address(_view: Self::MetaView<'_>) -> Option<[u64; 2]> {
        None
    }

    /// Parses the rule of a purge ([`crate::index::PurgeScope::Rule`]), which was given now or before a restart, perhaps to an
    /// older build.
    ///
    /// `None` for an invalid rule: such a purge is rejected, or, if it was accepted before, covers everything.
    fn covers(_rule: &[u8]) -> Option<PurgePredicate<Self>> {
        None
    }

    /// Returns the number of heap bytes that the metadata of an alternative owns, in addition to its own size.
    fn alternative_weight(_alternative: &Self::EncodingMeta) -> usize {
        0
    }
}
