//! What callers keep with the objects they store.

/// Whether a purge covers a stored object, by its key and metadata.
pub type Covers<M> = Box<dyn Fn(&[u8], <M as Metadata>::View<'_>) -> bool + Send + Sync>;

/// What the caller keeps with every object.
///
/// A value on its own owns its texts. In an object they lie behind the key and before the body, in the object's own piece of
/// memory: a million objects would pay for each piece more, and a hit would wait for it.
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

    /// Tells each label of a value: hashes of what it may be purged by ([`crate::Covered::Exact`]). Always the same ones: each
    /// is accounted with 32 bytes of index.
    fn labels(_view: Self::View<'_>, _each: &mut dyn FnMut(u64)) {}

    /// Those of the labels that claims of it tell ([`crate::ClaimOptions::address`]).
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

/// Metadata that can be kept on disk.
///
/// What [`Self::encode`] writes, [`Self::decode`] of the same [`Self::VERSION`] reads; of damage it hears nothing, since
/// files are checksummed, but a file may have been written by another build.
pub trait Persist: Metadata {
    /// To be raised by every change of the encoding: files of another version are set aside.
    const VERSION: u16;

    /// Appends the metadata.
    fn encode(view: Self::View<'_>, out: &mut Vec<u8>);

    /// Reads it back; `None` where it cannot be what was written.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Appends the metadata of an alternative.
    fn encode_alternative(meta: &Self::Alternative, out: &mut Vec<u8>);

    /// Reads it back.
    fn decode_alternative(bytes: &[u8]) -> Option<Self::Alternative>;
}
