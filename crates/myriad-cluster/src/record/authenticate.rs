//! The cluster's secret, and the tags that authenticate values.

use std::fmt;

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use super::encrypt::EncryptionRoot;
use super::{NodeName, RecordError, RecordTag};

/// Minimum length of a cluster's secret, in bytes.
pub const MIN_SECRET_BYTES: usize = 32;

/// Length of a tag, in bytes.
const TAG: usize = 32;

/// Place to which a value belongs; the tag covers it.
#[derive(Clone, Copy, Debug)]
pub enum RecordContext<'a> {
    /// Log of purges.
    Log,
    /// Member record of this node.
    Member(&'a NodeName),
    /// Receipts for purges of this node.
    Receipts(&'a NodeName),
    /// File with the position of this node.
    Stored(&'a NodeName),
    /// Page with this key in the zone with this name.
    Page {
        /// Name of the zone.
        zone: &'a str,
        /// Cache key.
        key: &'a [u8],
    },
    /// Name of the values of an order or account that the text identifies.
    Certificate {
        /// Text that identifies the order or account.
        text: &'a str,
    },
}

impl RecordContext<'_> {
    /// Returns a number for the kind of the value, and the names of its owner.
    fn label(&self) -> (u8, &str, &[u8]) {
        match self {
            Self::Log => (1, "", b""),
            Self::Member(node) => (2, node.as_str(), b""),
            Self::Receipts(node) => (3, node.as_str(), b""),
            Self::Stored(node) => (4, node.as_str(), b""),
            Self::Page { zone, key } => (5, zone, key),
            Self::Certificate { text } => (6, text, b""),
        }
    }
}

/// Secret of a cluster, as the keys that authenticate and encrypt values.
#[derive(Clone)]
pub struct ClusterSecret {
    key: hmac::Key,
    encryption: EncryptionRoot,
    passes: hmac::Tag,
    cluster: NodeName,
}

impl fmt::Debug for ClusterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterSecret({})", self.cluster)
    }
}

impl ClusterSecret {
    /// Derives the keys of the cluster named `cluster` from its secret. `None` if the secret has less than
    /// [`MIN_SECRET_BYTES`] bytes.
    pub fn new(cluster: &NodeName, secret: &[u8]) -> Option<Self> {
        if secret.len() < MIN_SECRET_BYTES {
            return None;
        }
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = hmac::sign(&root, b"myriad cluster v1: authentication of records");
        Some(Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()),
            encryption: EncryptionRoot::new(&root),
            passes: pass_secret(&root, cluster),
            cluster: cluster.clone(),
        })
    }

    /// Encrypts the contents of the value with this name. `None` if the operating system has no random numbers.
    pub(super) fn encrypt(&self, name: &str, contents: Zeroizing<Vec<u8>>) -> Option<Vec<u8>> {
        self.encryption.encrypt(self.cluster.as_str(), name, contents)
    }

    /// Returns the decrypted contents of the value with this name.
    pub(super) fn decrypt(&self, name: &str, value: &[u8]) -> Result<Zeroizing<Vec<u8>>, RecordError> {
        self.encryption.decrypt(self.cluster.as_str(), name, value)
    }

    /// Returns the secret that signs the passes of `origin_challenge` on all nodes. It does not reveal the other keys.
    pub fn pass_secret(&self) -> &[u8] {
        self.passes.as_ref()
    }

    /// Returns the name of the cluster.
    pub fn cluster(&self) -> &NodeName {
        &self.cluster
    }

    /// Replaces the tag of a value of the log by a valid one, for tests.
    #[cfg(test)]
    pub(crate) fn reseal(&self, value: &[u8]) -> Vec<u8> {
        let mut value = value[..value.len().saturating_sub(TAG)].to_vec();
        self.seal(RecordContext::Log, &mut value);
        value
    }

    /// Returns the tag of a value.
    pub(super) fn tag(&self, context: RecordContext<'_>, value: &[u8]) -> RecordTag {
        RecordTag(self.context(context, value).sign().as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Appends the tag to a value, and returns the tag.
    pub(super) fn seal(&self, context: RecordContext<'_>, value: &mut Vec<u8>) -> RecordTag {
        let tag = self.tag(context, value);
        value.extend_from_slice(&tag.0);
        tag
    }

    /// Returns a value without its tag, and the tag.
    pub(super) fn open<'a>(
        &self,
        context: RecordContext<'_>,
        value: &'a [u8],
    ) -> Result<(&'a [u8], RecordTag), RecordError> {
        let (body, tag) = value.split_last_chunk::<TAG>().ok_or(RecordError::NotAuthentic)?;
        let expected = self.context(context, body).sign();
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_ref(), tag)
            .map_err(|_| RecordError::NotAuthentic)?;
        Ok((body, RecordTag(*tag)))
    }

    /// Computes the tag of a value in its context. Each part before the last has its length, so that no two contexts
    /// give the same input.
    fn context(&self, context: RecordContext<'_>, value: &[u8]) -> hmac::Context {
        let (kind, owner, key) = context.label();
        let mut tag = hmac::Context::with_key(&self.key);
        tag.update(&[kind]);
        for name in [self.cluster.as_str().as_bytes(), owner.as_bytes(), key] {
            tag.update(&(name.len() as u64).to_le_bytes());
            tag.update(name);
        }
        tag.update(value);
        tag
    }
}

/// Derives the secret that signs challenge passes from the secret and the name of the cluster.
fn pass_secret(root: &hmac::Key, cluster: &NodeName) -> hmac::Tag {
    let mut derivation = hmac::Context::with_key(root);
    derivation.update(b"myriad cluster v1: challenge passes of ");
    derivation.update(cluster.as_str().as_bytes());
    derivation.sign()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(cluster: &str, bytes: &[u8]) -> ClusterSecret {
        ClusterSecret::new(&NodeName::new(cluster).unwrap(), bytes).unwrap()
    }

    #[test]
    fn secret_of_passes_is_that_of_the_cluster_and_its_name() {
        let ours = secret("a", &[7; 32]);
        assert_eq!(ours.pass_secret(), secret("a", &[7; 32]).pass_secret());
        for other in [secret("a", &[8; 32]), secret("b", &[7; 32])] {
            assert_ne!(ours.pass_secret(), other.pass_secret());
        }
    }

    #[test]
    fn values_are_bound_to_secret_cluster_kind_and_node() {
        let (a, b) = (NodeName::new("a").unwrap(), NodeName::new("b").unwrap());
        let ours = secret("shop", &[7; 32]);
        let mut value = b"value".to_vec();
        let tag = ours.seal(RecordContext::Member(&a), &mut value);
        assert_eq!(ours.open(RecordContext::Member(&a), &value), Ok((&b"value"[..], tag)));
        for (reader, context) in [
            (&ours, RecordContext::Member(&b)),
            (&ours, RecordContext::Receipts(&a)),
            (&ours, RecordContext::Log),
            (&secret("shop", &[8; 32]), RecordContext::Member(&a)),
            (&secret("blog", &[7; 32]), RecordContext::Member(&a)),
        ] {
            assert_eq!(reader.open(context, &value), Err(RecordError::NotAuthentic));
        }
        for at in 0..value.len() {
            let mut changed = value.clone();
            changed[at] ^= 1;
            assert_eq!(ours.open(RecordContext::Member(&a), &changed), Err(RecordError::NotAuthentic));
        }
        assert_eq!(ours.open(RecordContext::Member(&a), &value[..31]), Err(RecordError::NotAuthentic));
    }

    #[test]
    fn short_secrets_are_refused() {
        assert!(ClusterSecret::new(&NodeName::new("shop").unwrap(), &[1; 31]).is_none());
    }
}
