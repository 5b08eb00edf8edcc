//! Keys: opaque bytes with their hash computed once.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

/// An owned key: any bytes, any length, with its XXH3-128 hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    hash: u128,
    bytes: Arc<[u8]>,
}

impl Key {
    /// Copies `bytes` into an owned key.
    pub fn new(bytes: &[u8]) -> Self {
        KeyRef::new(bytes).to_owned()
    }

    /// The key's bytes, as the caller composed them.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Borrows the key for a look-up, without hashing again.
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef { hash: self.hash, bytes: &self.bytes }
    }

    pub(crate) fn matches(&self, key: KeyRef<'_>) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

/// A borrowed key, to look up without allocating.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a> {
    hash: u128,
    bytes: &'a [u8],
}

impl<'a> KeyRef<'a> {
    /// Hashes `bytes` once; every later look-up with this value reuses the hash.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { hash: xxh3_128(bytes), bytes }
    }

    /// The key's bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The XXH3-128 hash of the bytes.
    pub fn hash(self) -> u128 {
        self.hash
    }

    /// Copies the key.
    pub fn to_owned(self) -> Key {
        Key { hash: self.hash, bytes: self.bytes.into() }
    }

    /// The half of the hash that places a key in its table; the other half picks the shard, so that the two choices
    /// stay independent.
    pub(crate) fn table_hash(self) -> u64 {
        self.hash as u64
    }

    /// The half of the hash that picks the shard.
    pub(crate) fn shard_hash(self) -> u64 {
        (self.hash >> 64) as u64
    }
}
