//! One file, as the catalogue knows it.

use std::sync::Arc;

use myriad_index::Name;

/// Bytes of the unit that files are accounted in.
pub(crate) const BLOCK: u64 = 4096;

/// Blocks that a file of `len` bytes takes.
pub(crate) fn blocks_of(len: u64) -> u32 {
    u32::try_from(len.div_ceil(BLOCK)).unwrap_or(u32::MAX)
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one object of its key.
    Plain,
    /// The selector of its key's variants.
    Marker,
    /// One of the variants of its key.
    Variant,
}

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct Filed {
    pub(crate) name: Name,
    /// XXH3-128 of the key under the seed, in halves so that it needs no alignment of 16.
    pub(crate) hash: [u64; 2],
    /// The sequence number at which the fetch of its page began.
    pub(crate) generation: u64,
    /// Blocks of [`BLOCK`] bytes that it takes.
    pub(crate) blocks: u32,
    /// The low half of the hash that tells the variants of a key apart.
    pub(crate) variant: u32,
    /// When its page was last used, in seconds since the epoch.
    pub(crate) used_s: u32,
    pub(crate) role: Role,
    /// Whether the file itself was seen, rather than only a snapshot that names it.
    pub(crate) seen: bool,
    /// Whether generation and labels are known from the file, or from a snapshot that nothing can have changed since.
    pub(crate) sure: bool,
    /// As how many files more its labels count, once it is entered.
    pub(crate) share: u8,
}

impl Filed {
    /// The sequence number at which the fetch of its page began.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The low half of the hash that tells the variants of a key apart ([`crate::variant_hash`]); 0 where there are none.
    pub fn variant(&self) -> u32 {
        self.variant
    }

    /// XXH3-128 of the key under the folder's seed.
    pub fn key_hash(&self) -> u128 {
        whole(self.hash)
    }
}

/// Splits a key's hash as [`Filed`] keeps it.
pub(crate) fn halves(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// The hash of [`halves`].
pub(super) fn whole([low, high]: [u64; 2]) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// The marker of a key: what its variants vary by.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) selector: Arc<[u8]>,
    /// A number that is part of the names of its variants' files: those of another family cannot be found any more.
    pub(crate) family: u64,
}
