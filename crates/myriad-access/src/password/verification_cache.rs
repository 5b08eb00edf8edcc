//! Cache of recently verified passwords, so that a slow hash is not computed again for every resource of a page.

use myriad_base::bounded::Lru;
use sha2::{Digest, Sha256};

/// Maximum number of successful verifications in the cache; the oldest are evicted.
const MOST: u64 = 1024;
/// Time for which a successful verification is cached, in milliseconds.
const VALID_MS: u64 = 60_000;

/// Successful verifications, by a keyed digest of the stored hash and the password. A changed password file therefore
/// invalidates them, and neither value can be read from the cache.
pub struct VerificationCache {
    key: [u8; 32],
    until_ms: Lru<[u8; 32], u64>,
}

impl VerificationCache {
    /// Creates an empty cache; `key` must be random.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, until_ms: Lru::new(MOST) }
    }

    /// Returns whether this password has recently matched the stored hash. `now` is in milliseconds.
    pub fn contains(&self, stored: &[u8], password: &[u8], now: u64) -> bool {
        self.until_ms.get(&self.digest(stored, password)).is_some_and(|until| now < *until)
    }

    /// Records for one minute that the password matches the stored hash. `now` is in milliseconds.
    pub fn insert(&mut self, stored: &[u8], password: &[u8], now: u64) {
        let digest = self.digest(stored, password);
        self.until_ms.insert(digest, now.saturating_add(VALID_MS), 1);
    }

    fn digest(&self, stored: &[u8], password: &[u8]) -> [u8; 32] {
        let length = (stored.len() as u64).to_le_bytes();
        let hasher = Sha256::new().chain_update(self.key).chain_update(length);
        hasher.chain_update(stored).chain_update(password).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_remembered_for_a_minute_for_this_hash_and_password_alone() {
        let mut memory = VerificationCache::new([7; 32]);
        memory.insert(b"$2y$x", b"secret", 1_000);
        assert!(memory.contains(b"$2y$x", b"secret", 60_999));
        assert!(!memory.contains(b"$2y$x", b"secret", 61_000));
        assert!(!memory.contains(b"$2y$x", b"other", 2_000));
        assert!(!memory.contains(b"$2y$y", b"secret", 2_000));
        // The boundary between hash and password is part of the digest.
        assert!(!memory.contains(b"$2y$xs", b"ecret", 2_000));
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = VerificationCache::new([7; 32]);
        for number in 0..5_000u32 {
            memory.insert(b"x", &number.to_le_bytes(), 1_000);
            assert!(memory.until_ms.len() as u64 <= MOST);
        }
        assert!(
            memory.contains(b"x", &3_976u32.to_le_bytes(), 1_000)
                && !memory.contains(b"x", &3_975u32.to_le_bytes(), 1_000)
        );
        assert!(memory.contains(b"x", &4_999u32.to_le_bytes(), 1_000));
    }
}
