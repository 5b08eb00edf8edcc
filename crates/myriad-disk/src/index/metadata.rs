//! Metadata that the caller of the store attaches to each object.

/// Parsed purge rule: returns true if the rule covers an object with this key and metadata.
pub type PurgePredicate<M> = Box<dyn Fn(&[u8], <M as Metadata>::MetaView<'_>) -> bool + Send + Sync>;

/// Caller's metadata of an object, such as status and headers of the response.
///
/// A value outside an object owns its texts. In an object, the texts are stored between key and body, in the same
/// allocation: a separate allocation would cost memory for each of a million objects, and time for each hit.
pub trait Metadata: Sized + Send + Sync + 'static {
    /// Caller's metadata of an alternative encoding of an object; `()` for none.
    type EncodingMeta: Send + Sync + 'static;

    /// Caller's state of a replacement of an object; `()` for none.
    type ReplacementState: Send + Sync + 'static;

    /// Form of the metadata inside a stored object, without its texts, which the object stores separately.
    type StoredForm: Send + Sync + 'static;

    /// Borrowed view of the metadata, whether its texts are in the value or in an object.
    type MetaView<'a>: Copy;

    /// Returns a view of a value outside an object.
    fn view(&self) -> Self::MetaView<'_>;

    /// Converts the metadata to the form in a stored object, and appends its texts to `texts`.
    fn into_stored(self, texts: &mut Vec<u8>) -> Self::StoredForm;

    /// Returns a view of a value in an object. `texts` are the bytes that [`Self::into_stored`] appended.
    fn view_stored<'a>(stored: &'a Self::StoredForm, texts: &'a [u8]) -> Self::MetaView<'a>;

    /// Returns the number of heap bytes owned by the stored form, in addition to its own size and the texts.
    fn weight(kept: &Self::StoredForm) -> usize;

    /// Calls `each` with each label of a value: hashes of URL and tags by which the object may be purged
    /// ([`crate::index::PurgeScope::Exact`]). The labels of a value must not change. Each counts as 32 bytes.
    fn labels(_view: Self::MetaView<'_>, _each: &mut dyn FnMut(u64)) {}

    /// Returns the labels of the value's URL, which are known before the response arrives; `None` if it has none.
    fn address(_view: Self::MetaView<'_>) -> Option<[u64; 2]> {
        None
    }

    /// Returns the time until which the metadata declares the object fresh, in milliseconds; `u64::MAX` if it declares
    /// none. A soft purge lowers the time that the object itself stores below this value
    /// ([`crate::index::Purgeable::expire`]), even if the object was stale already.
    fn fresh_until(_view: Self::MetaView<'_>) -> u64 {
        u64::MAX
    }

    /// Parses the rule of a purge ([`crate::index::PurgeScope::Rule`]). The rule may have been logged by an older
    /// version of the program. Returns `None` for an invalid rule: a new purge is then rejected, and a logged purge
    /// covers everything.
    fn covers(_rule: &[u8]) -> Option<PurgePredicate<Self>> {
        None
    }

    /// Returns the number of heap bytes owned by the metadata of an encoding, in addition to its own size.
    fn alternative_weight(_alternative: &Self::EncodingMeta) -> usize {
        0
    }

    /// Returns the number of heap bytes owned by the state of a replacement, in addition to its own size.
    fn replacement_weight(_state: &Self::ReplacementState) -> usize {
        0
    }
}
