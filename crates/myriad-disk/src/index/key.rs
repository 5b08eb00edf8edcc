//! Keys of pages: opaque bytes, hashed with the seed of their zone.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Borrowed cache key: any bytes of any length.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a>(&'a [u8]);

impl<'a> KeyRef<'a> {
    /// Creates a cache key from `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the key.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Seed of the hashes of a zone's keys.
///
/// It is secret, because clients control keys: with a known seed, a client could create any number of keys with equal
/// hashes, and a look-up of one of them would have to compare all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// Returns a random seed.
    pub fn random() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// Returns the XXH3-128 of a key.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u128 {
        xxh3_128_with_seed(key, self.0)
    }

    /// Returns a key together with its hash under this seed.
    #[inline]
    pub fn hashed(self, key: &[u8]) -> HashedKeyRef<'_> {
        HashedKeyRef { hash: self.hash(key), bytes: key }
    }

    /// Returns a tag, never 0, that is stored in files to detect that their keys were hashed with another seed.
    pub fn tag(self) -> u16 {
        (xxh3_64_with_seed(b"tag", self.0) as u16).max(1)
    }
}

/// Owned cache key with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedKey {
    hash: u128,
    bytes: Arc<[u8]>,
}

impl HashedKey {
    /// Returns the bytes of the key.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Borrows the key.
    #[inline]
    pub fn as_ref(&self) -> HashedKeyRef<'_> {
        HashedKeyRef { hash: self.hash, bytes: &self.bytes }
    }

    /// Returns true if both are the same key, by hash and bytes.
    #[inline]
    pub fn matches(&self, key: HashedKeyRef<'_>) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

/// Borrowed key with its XXH3-128 under the zone's seed.
#[derive(Clone, Copy, Debug)]
pub struct HashedKeyRef<'a> {
    hash: u128,
    bytes: &'a [u8],
}

impl<'a> HashedKeyRef<'a> {
    /// Returns the bytes of the key.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the XXH3-128 of the key under the zone's seed.
    #[inline]
    pub fn hash(self) -> u128 {
        self.hash
    }

    /// Copies the key and its hash into an owned key.
    pub fn to_owned(self) -> HashedKey {
        HashedKey { hash: self.hash, bytes: self.bytes.into() }
    }

    /// Returns the half of the hash that determines the position of a key in its shard's table. It is independent of
    /// the half that selects the shard.
    #[inline]
    pub fn table_hash(self) -> u64 {
        self.hash as u64
    }

    /// Returns the half of the hash that selects the shard.
    #[inline]
    pub fn shard_hash(self) -> u64 {
        (self.hash >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_that_were_made_for_one_hash_share_none_under_a_seed() {
        // XXH3's default secret cancels a part of two lanes, and the sum of the rest is constant.
        let made = |n: u32| {
            let mut key = [b'x'; 512];
            key[..4].copy_from_slice(&[0xb8, 0xfe, 0x6c, 0x39]);
            key[4..8].copy_from_slice(&n.to_le_bytes());
            key[64..68].copy_from_slice(&[0x7c, 0x01, 0x81, 0x2c]);
            key[68..72].copy_from_slice(&(1_u32 << 20).wrapping_sub(n).to_le_bytes());
            key
        };
        let hashes = |seed: Seed| (0..1000).map(|n| seed.hash(&made(n))).collect::<HashSet<_>>().len();
        assert_eq!((hashes(Seed(0)), hashes(Seed::random())), (1, 1000));
        assert_ne!(Seed::random(), Seed::random());
    }
}
