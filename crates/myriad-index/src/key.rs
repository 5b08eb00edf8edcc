//! Keys: opaque bytes, which a zone hashes with a seed of its own.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// A borrowed key: any bytes, any length.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a>(&'a [u8]);

impl<'a> KeyRef<'a> {
    /// Names `bytes` as a key.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The key's bytes, as the caller composed them.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

/// What the keys of a zone are hashed with. It is secret: visitors choose keys, and whoever knew the seed could make any number
/// of keys of one hash, all of which a look-up of one of them would have to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed that nobody knows.
    pub fn random() -> Self {
        Self(RandomState::new().hash_one(0))
    }

    /// The XXH3-128 of a key.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u128 {
        xxh3_128_with_seed(key, self.0)
    }

    /// A key with its hash.
    #[inline]
    pub fn hashed(self, key: &[u8]) -> Hashed<'_> {
        Hashed { hash: self.hash(key), bytes: key }
    }

    /// Tells files whose keys were hashed with this seed from others; never zero.
    pub fn tag(self) -> u16 {
        (xxh3_64_with_seed(b"tag", self.0) as u16).max(1)
    }
}

/// An owned key with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    hash: u128,
    bytes: Arc<[u8]>,
}

impl Key {
    /// The key's bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Borrows it.
    #[inline]
    pub fn as_ref(&self) -> Hashed<'_> {
        Hashed { hash: self.hash, bytes: &self.bytes }
    }

    /// Whether it is the same key.
    #[inline]
    pub fn matches(&self, key: Hashed<'_>) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

/// A borrowed key with its XXH3-128 under the zone's seed.
#[derive(Clone, Copy, Debug)]
pub struct Hashed<'a> {
    hash: u128,
    bytes: &'a [u8],
}

impl<'a> Hashed<'a> {
    /// The key's bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Its hash.
    #[inline]
    pub fn hash(self) -> u128 {
        self.hash
    }

    /// Copies it.
    pub fn to_owned(self) -> Key {
        Key { hash: self.hash, bytes: self.bytes.into() }
    }

    /// The half of the hash that places a key in its table; the other half picks the shard, so that the two choices
    /// stay independent.
    #[inline]
    pub fn table_hash(self) -> u64 {
        self.hash as u64
    }

    /// The half of the hash that picks the shard.
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
        // What XXH3's own secret blots out of two lanes, and a sum of the rest that is always the same.
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
