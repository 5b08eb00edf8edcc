//! Entry of a file in the catalogue.

use std::sync::Arc;

use crate::index::FileName;

/// Unit of accounting for files, in bytes.
pub(crate) const BLOCK: u64 = 4096;

/// Returns the number of blocks that a file of `len` bytes occupies.
pub(crate) fn blocks_of(len: u64) -> u32 {
    u32::try_from(len.div_ceil(BLOCK)).unwrap_or(u32::MAX)
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// Only object of its key.
    Plain,
    /// Selector of its key's variants.
    Marker,
    /// Variant of its key.
    Variant,
}

/// Entry of a file.
#[derive(Clone, Copy, Debug)]
pub struct IndexedFile {
    pub(crate) name: FileName,
    /// XXH3-128 of the key under the seed, in halves to avoid an alignment of 16.
    pub(crate) hash: [u64; 2],
    /// Sequence number at the start of its page's fetch.
    pub(crate) generation: u64,
    /// Number of blocks of [`BLOCK`] bytes that it occupies.
    pub(crate) blocks: u32,
    /// Low half of the hash that distinguishes the variants of a key.
    pub(crate) variant: u32,
    /// Time of its page's last use, in seconds since the epoch.
    pub(crate) used_s: u32,
    pub(crate) role: FileRole,
    /// Set if the file itself was seen, rather than only a snapshot that names it.
    pub(crate) was_seen: bool,
    /// Set if generation and labels are known from the file, or from a snapshot after which no process can have changed
    /// it.
    pub(crate) is_trusted: bool,
    /// Number of additional files that its labels count as, once it is added.
    pub(crate) share: u8,
}

impl IndexedFile {
    /// Returns the sequence number at the start of its page's fetch.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the low half of the hash that distinguishes the variants of a key ([`crate::variant_hash`]); 0 for a key
    /// without variants.
    pub fn variant(&self) -> u32 {
        self.variant
    }

    /// Returns the XXH3-128 of the key under the folder's seed.
    pub fn key_hash(&self) -> u128 {
        join_hash(self.hash)
    }
}

/// Splits a key's hash into the halves stored in [`IndexedFile`].
pub(crate) fn split_hash(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// Joins the result of [`split_hash`].
pub(super) fn join_hash([low, high]: [u64; 2]) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// Marker of a key: the selector of its variants.
#[derive(Clone, Debug)]
pub(crate) struct VariantMarker {
    pub(crate) selector: Arc<[u8]>,
    /// Number that is part of the names of its variants' files. Variants of another family cannot be found any more.
    pub(crate) family: u64,
}
