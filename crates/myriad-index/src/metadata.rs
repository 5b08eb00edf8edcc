//! Metadata: what callers keep with the objects that they store.

/// Whether a purge covers a stored object, by its key and metadata.
pub type Covers<M> = Box<dyn Fn(&[u8], <M as Metadata>::View<'_>) -> bool + Send + Sync>;

/// The metadata that a caller keeps with every object.
///
/// A value on its own owns its texts. In an object the texts lie between key and body, in one piece of memory: each further
/// piece would cost memory a million times, and a hit time.
pub trait Metadata: Sized + Send + Sync + 'static {
    /// What the caller keeps with an alternative encoding; `()` where nothing.
    type Alternative: Send + Sync + 'static;

    /// What an object keeps of a value, the texts left out.
    type Kept: Send + Sync + 'static;

    /// A value as it is looked at, wherever its texts are.
    type View<'a>: Copy;

    /// Looks at a value on its own.
    fn view(&self) -> Self::View<'_>;

    /// Takes the texts off a value: they are appended to `texts`.
    fn keep(self, texts: &mut Vec<u8>) -> Self::Kept;

    /// Looks at a value in an object; `texts` are what [`Self::keep`] appended.
    fn view_kept<'a>(kept: &'a Self::Kept, texts: &'a [u8]) -> Self::View<'a>;

    /// Heap bytes that `kept` owns, beyond its own size and the texts.
    fn weight(kept: &Self::Kept) -> usize;

    /// Gives each label of a value: a hash of a URL or tag by which it may be purged ([`crate::Covered::Exact`]). A value must
    /// always give the same labels. Each is accounted with 32 bytes.
    fn labels(_view: Self::View<'_>, _each: &mut dyn FnMut(u64)) {}

    /// The labels of the URL, which a claim knows before there is a response.
    fn address(_view: Self::View<'_>) -> Option<[u64; 2]> {
        None
    }

    /// Reads the rule of a purge ([`crate::Covered::Rule`]): as it was given, now or before a restart of perhaps an older
    /// build. `None` where it is none: such a purge is refused, or, where it was accepted before, covers everything.
    fn covers(_rule: &[u8]) -> Option<Covers<Self>> {
        None
    }

    /// Heap bytes that the metadata of an alternative owns, beyond its own size.
    fn alternative_weight(_alternative: &Self::Alternative) -> usize {
        0
    }
}
