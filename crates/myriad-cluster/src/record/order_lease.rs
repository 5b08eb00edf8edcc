//! Leases of orders of automatic certificates.

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, RecordError};

const VERSION: u8 = 1;

/// State of the order of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderState {
    /// A node orders the certificate.
    InProgress,
    /// No node orders the certificate. After a failed order, none does until the pause has passed.
    Paused,
}

/// Lease of the order of a certificate in Valkey, encrypted. The encoded value is different each time, so that it identifies
/// the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLeaseRecord {
    /// State of the order.
    pub state: OrderState,
    /// Time at which the order must be complete, or the pause has passed, in seconds since the Unix epoch.
    pub until_s: u64,
    /// Number of successive orders that have failed, of all nodes.
    pub failures: u32,
}

impl OrderLeaseRecord {
    /// Maximum length of an encoded record, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Encrypts the record for the value with this name. `None` if the operating system has no random numbers.
    pub fn encode(&self, secret: &ClusterSecret, name: &str) -> Option<Vec<u8>> {
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.byte(match self.state {
            OrderState::InProgress => 0,
            OrderState::Paused => 1,
        });
        writer.u64(self.until_s);
        writer.u32(self.failures);
        secret.encrypt(name, writer.into_bytes().into())
    }

    /// Decrypts the record of the value with this name.
    pub fn decode(secret: &ClusterSecret, name: &str, value: &[u8]) -> Result<Self, RecordError> {
        if value.len() > Self::MAX_BYTES {
            return Err(RecordError::NotAuthentic);
        }
        let contents = secret.decrypt(name, value)?;
        let mut reader = FieldReader::new(&contents);
        reader.version(VERSION)?;
        let state = match reader.byte()? {
            0 => OrderState::InProgress,
            1 => OrderState::Paused,
            _ => return Err(RecordError::Malformed),
        };
        let (until_s, failures) = (reader.u64()?, reader.u32()?);
        reader.finish()?;
        Ok(Self { state, until_s, failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CertificateNames, NodeName};

    #[test]
    fn lease_is_bound_to_its_order_and_no_two_values_are_equal() {
        let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
        let other = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[8; 32]).unwrap();
        let [one, two] = ["one", "two"].map(|text| CertificateNames::new(&secret, text).lease());
        for state in [OrderState::InProgress, OrderState::Paused] {
            let record = OrderLeaseRecord { state, until_s: u64::MAX, failures: u32::MAX };
            let value = record.encode(&secret, &one).unwrap();
            assert!(value.len() <= OrderLeaseRecord::MAX_BYTES);
            assert_ne!(record.encode(&secret, &one).unwrap(), value);
            assert_eq!(OrderLeaseRecord::decode(&secret, &one, &value), Ok(record));
            for (secret, name) in [(&secret, &two), (&other, &one)] {
                let refused = OrderLeaseRecord::decode(secret, name, &value);
                assert_eq!(refused, Err(RecordError::NotAuthentic));
            }
        }
        for value in [&b""[..], b"1", &[0; OrderLeaseRecord::MAX_BYTES + 1]] {
            assert!(OrderLeaseRecord::decode(&secret, &one, value).is_err());
        }
    }
}
