//! Automatic certificates with their keys, keys of accounts, and pending challenges.

use zeroize::Zeroizing;

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, RecordContext, RecordError};

const VERSION: u8 = 1;
/// Maximum length of a text in PEM, in bytes.
const MAX_PEM: usize = 128 * 1024;
/// Maximum number of challenges of an order.
const MAX_CHALLENGES: usize = 1000;
/// Maximum length of each text of a challenge, in bytes.
const MAX_TEXT: usize = 1024;

/// Names of the values of an order or of an account in Valkey. They do not reveal its host names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CertificateNames {
    id: String,
}

impl CertificateNames {
    /// Returns the names for an order or account that `text` identifies.
    pub fn new(secret: &ClusterSecret, text: &str) -> Self {
        let tag = secret.tag(RecordContext::Certificate { text }, b"name");
        let digits =
            tag.0[..16].iter().fold(String::with_capacity(32), |id, byte| id + &format!("{byte:02x}"));
        Self { id: digits }
    }

    /// Returns the name of the certificate with its key.
    pub fn certificate(&self) -> String {
        format!("acme-certificate:{}", self.id)
    }

    /// Returns the name of the account's key.
    pub fn account(&self) -> String {
        format!("acme-account:{}", self.id)
    }

    /// Returns the name of the pending challenges.
    pub fn challenges(&self) -> String {
        format!("acme-challenges:{}", self.id)
    }

    /// Returns the name of the lease of the order.
    pub fn lease(&self) -> String {
        format!("acme-lease:{}", self.id)
    }

    /// Returns the part that all names have in common: 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Text in PEM in Valkey, encrypted: a certificate chain with its private key, or the key of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PemRecord {
    /// The text.
    pub pem: Zeroizing<Vec<u8>>,
}

impl PemRecord {
    /// Encrypts the record for the value with this name. `None` if the text is too long, or the operating system has no
    /// random numbers.
    pub fn encode(&self, secret: &ClusterSecret, name: &str) -> Option<Vec<u8>> {
        if self.pem.len() > MAX_PEM {
            return None;
        }
        // The capacity suffices, so that no copies of the key remain in memory.
        let mut writer = FieldWriter::with_capacity(self.pem.len() + 64);
        writer.byte(VERSION);
        writer.bytes(&self.pem);
        secret.encrypt(name, writer.into_bytes().into())
    }

    /// Decrypts the record of the value with this name.
    pub fn decode(secret: &ClusterSecret, name: &str, value: &[u8]) -> Result<Self, RecordError> {
        let contents = secret.decrypt(name, value)?;
        let mut reader = FieldReader::new(&contents);
        reader.version(VERSION)?;
        let pem = reader.bytes(MAX_PEM)?.to_vec().into();
        reader.finish()?;
        Ok(Self { pem })
    }
}

/// Pending challenge by which an authority validates a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeRecord {
    /// Token; requests for it get `answer` (`http-01`). `None` for `tls-alpn-01`.
    pub token: Option<String>,
    /// Validated host name or IP address.
    pub identifier: String,
    /// Key authorization.
    pub answer: String,
}

impl ChallengeRecord {
    /// Encrypts the challenges of an order for the value with this name. `None` if the operating system has no random
    /// numbers, or there are too many challenges.
    pub fn encode_all(challenges: &[Self], secret: &ClusterSecret, name: &str) -> Option<Vec<u8>> {
        if challenges.len() > MAX_CHALLENGES {
            return None;
        }
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.u32(challenges.len() as u32);
        for challenge in challenges {
            writer.byte(u8::from(challenge.token.is_some()));
            writer.bytes(challenge.token.as_deref().unwrap_or_default().as_bytes());
            writer.bytes(challenge.identifier.as_bytes());
            writer.bytes(challenge.answer.as_bytes());
        }
        secret.encrypt(name, writer.into_bytes().into())
    }

    /// Decrypts the challenges in the value with this name.
    pub fn decode_all(secret: &ClusterSecret, name: &str, value: &[u8]) -> Result<Vec<Self>, RecordError> {
        let contents = secret.decrypt(name, value)?;
        let mut reader = FieldReader::new(&contents);
        reader.version(VERSION)?;
        let challenges = reader.items(MAX_CHALLENGES, |reader| {
            let has_token = match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(RecordError::Malformed),
            };
            let token = reader.text(MAX_TEXT)?;
            if !has_token && !token.is_empty() {
                return Err(RecordError::Malformed);
            }
            Ok(Self {
                token: has_token.then_some(token),
                identifier: reader.text(MAX_TEXT)?,
                answer: reader.text(MAX_TEXT)?,
            })
        })?;
        reader.finish()?;
        Ok(challenges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NodeName;

    #[test]
    fn certificates_and_challenges_are_bound_to_their_names() {
        let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
        let [one, two] = ["one.test", "two.test"].map(|text| CertificateNames::new(&secret, text));
        assert_ne!(one, two);
        assert!(!one.certificate().contains("one.test"));
        let record = PemRecord { pem: b"certificate and key".to_vec().into() };
        let value = record.encode(&secret, &one.certificate()).unwrap();
        assert_eq!(PemRecord::decode(&secret, &one.certificate(), &value), Ok(record));
        for name in [two.certificate(), one.account(), one.challenges()] {
            assert_eq!(PemRecord::decode(&secret, &name, &value), Err(RecordError::NotAuthentic));
        }
        let challenge = |token: Option<&str>| ChallengeRecord {
            token: token.map(str::to_owned),
            identifier: "one.test".to_owned(),
            answer: "token.thumbprint".to_owned(),
        };
        let challenges = [challenge(Some("token")), challenge(None)];
        let value = ChallengeRecord::encode_all(&challenges, &secret, &one.challenges()).unwrap();
        let decoded = ChallengeRecord::decode_all(&secret, &one.challenges(), &value);
        assert_eq!(decoded.as_deref(), Ok(&challenges[..]));
        assert!(ChallengeRecord::decode_all(&secret, &two.challenges(), &value).is_err());
        let long = PemRecord { pem: vec![0; MAX_PEM + 1].into() };
        assert!(long.encode(&secret, "name").is_none());
    }
}
