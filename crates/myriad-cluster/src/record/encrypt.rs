//! Encryption of values whose contents must not be readable in Valkey: keys of tickets and certificates, challenges.

use aws_lc_rs::aead::{AES_256_GCM, Aad, MAX_TAG_LEN, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use super::RecordError;

/// Maximum length of an encrypted value, in bytes.
pub const MAX_ENCRYPTED_BYTES: usize = 256 * 1024;

/// Number of bytes by which an encrypted value is longer than its contents: nonce and tag.
const OVERHEAD: usize = NONCE_LEN + MAX_TAG_LEN;

/// Root of the keys that encrypt values. Each value has a separate key, derived from the names of the cluster and of the
/// value.
#[derive(Clone)]
pub(super) struct EncryptionRoot(hmac::Key);

impl EncryptionRoot {
    /// Derives the root from the cluster's secret.
    pub(super) fn new(secret: &hmac::Key) -> Self {
        let derived = hmac::sign(secret, b"myriad cluster v1: encryption of values");
        Self(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Returns the key of the value with this name in this cluster. Each name is preceded by its length, so that no two
    /// pairs of names have the same key.
    fn key(&self, cluster: &str, name: &str) -> RandomizedNonceKey {
        let mut derivation = hmac::Context::with_key(&self.0);
        for part in [cluster, name] {
            derivation.update(&(part.len() as u64).to_le_bytes());
            derivation.update(part.as_bytes());
        }
        RandomizedNonceKey::new(&AES_256_GCM, derivation.sign().as_ref())
            .unwrap_or_else(|_| unreachable!("HMAC-SHA256 has the length of the key"))
    }

    /// Encrypts a value with a random nonce. The result is the nonce, the encrypted contents and the tag. `None` if the
    /// operating system has no random numbers.
    pub(super) fn encrypt(
        &self,
        cluster: &str,
        name: &str,
        mut contents: Zeroizing<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        contents.reserve_exact(MAX_TAG_LEN);
        let key = self.key(cluster, name);
        let nonce = key.seal_in_place_append_tag(Aad::empty(), &mut *contents).ok()?;
        Some([nonce.as_ref(), contents.as_slice()].concat())
    }

    /// Decrypts a value that belongs to this cluster and name.
    pub(super) fn decrypt(
        &self,
        cluster: &str,
        name: &str,
        value: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, RecordError> {
        if value.len() > MAX_ENCRYPTED_BYTES + OVERHEAD {
            return Err(RecordError::NotAuthentic);
        }
        let (nonce, encrypted) = value.split_first_chunk::<NONCE_LEN>().ok_or(RecordError::NotAuthentic)?;
        let mut contents = Zeroizing::new(encrypted.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self
            .key(cluster, name)
            .open_in_place(nonce, Aad::empty(), &mut contents)
            .map_err(|_| RecordError::NotAuthentic)?
            .len();
        contents.truncate(length);
        Ok(contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ClusterSecret, NodeName};

    fn secret(cluster: &str, byte: u8) -> ClusterSecret {
        ClusterSecret::new(&NodeName::new(cluster).unwrap(), &[byte; 32]).unwrap()
    }

    #[test]
    fn encrypted_value_is_bound_to_secret_cluster_and_name_and_hides_its_contents() {
        let ours = secret("shop", 7);
        let value = ours.encrypt("one", b"contents of a value".to_vec().into()).unwrap();
        assert!(!value.windows(8).any(|part| part == b"contents"));
        assert_eq!(ours.decrypt("one", &value).unwrap().as_slice(), b"contents of a value");
        assert_ne!(ours.encrypt("one", b"contents of a value".to_vec().into()).unwrap(), value);
        for (reader, name) in [
            (&ours, "two"),
            (&ours, ""),
            (&secret("shop", 8), "one"),
            (&secret("blog", 7), "one"),
            (&secret("shopo", 7), "ne"),
        ] {
            assert_eq!(reader.decrypt(name, &value), Err(RecordError::NotAuthentic), "{name}");
        }
    }

    #[test]
    fn each_changed_or_missing_byte_is_detected() {
        let ours = secret("shop", 7);
        let value = ours.encrypt("one", b"contents".to_vec().into()).unwrap();
        for at in 0..value.len() {
            let mut changed = value.clone();
            changed[at] ^= 1;
            assert_eq!(ours.decrypt("one", &changed), Err(RecordError::NotAuthentic));
            assert_eq!(ours.decrypt("one", &value[..at]), Err(RecordError::NotAuthentic));
        }
        let long = vec![0; MAX_ENCRYPTED_BYTES + OVERHEAD + 1];
        assert_eq!(ours.decrypt("one", &long), Err(RecordError::NotAuthentic));
    }
}
