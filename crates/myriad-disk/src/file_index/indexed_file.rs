//! Entry of a file in the file index.

use std::sync::Arc;

use crate::index::FileName;

/// Unit in which the disk space of files is accounted, in bytes.
pub(crate) const BLOCK: u64 = 4096;

/// Returns the number of blocks that a file of `len` bytes occupies.
pub(crate) fn blocks_of(len: u64) -> u32 {
    u32::try_from(len.div_ceil(BLOCK)).unwrap_or(u32::MAX)
}

/// Role of a file among the files of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// Only page of its key.
    Plain,
    /// Marker: contains the selector (the request fields in `Vary`) of its key's variants, and no page.
    Marker,
    /// One variant of its key. Its name depends on the marker's family.
    Variant,
}

/// Entry of a file in the file index.
#[derive(Clone, Copy, Debug)]
pub struct IndexedFile {
    pub(crate) name: FileName,
    /// Halves of the key's XXH3-128 under the folder's seed. A `u128` would need an alignment of 16.
    pub(crate) hash: [u64; 2],
    /// Sequence number at the start of the fetch of the file's page; a later fetch has a higher number.
    pub(crate) generation: u64,
    /// Number of blocks of [`BLOCK`] bytes that the file occupies.
    pub(crate) blocks: u32,
    /// Low half of [`crate::variant_hash`]; 0 for a key without variants.
    pub(crate) variant: u32,
    /// Last use of the file's page, in seconds since the epoch.
    pub(crate) used_s: u32,
    pub(crate) role: FileRole,
    /// Set if the file itself was found in the folder; unset if only a snapshot names it.
    pub(crate) was_seen: bool,
    /// Set if generation and labels of the page are certain: read from the file, or from a snapshot after which no
    /// process can have changed the file.
    pub(crate) is_trusted: bool,
    /// Number of additional files that the entry counts as because of its labels (hashes by which purges find the
    /// page). Set when the entry is added.
    pub(crate) share: u8,
}

impl IndexedFile {
    /// Returns the sequence number at the start of the fetch of the file's page; a later fetch has a higher number.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the low half of [`crate::variant_hash`]; 0 for a key without variants.
    pub fn variant(&self) -> u32 {
        self.variant
    }

    /// Returns the XXH3-128 of the key under the folder's seed.
    pub fn key_hash(&self) -> u128 {
        join_hash(self.hash)
    }
}

/// Splits a key hash into the low and high halves stored in [`IndexedFile`].
pub(crate) fn split_hash(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// Joins the low and high halves of a key hash; the inverse of [`split_hash`].
pub(super) fn join_hash([low, high]: [u64; 2]) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// Contents of a marker file, which describes the variants of a key whose pages have `Vary`.
#[derive(Clone, Debug)]
pub(crate) struct VariantMarker {
    pub(crate) selector: Arc<[u8]>,
    /// Number that is part of the file names of the key's variants. Files with another family number are unreachable.
    pub(crate) family: u64,
}
