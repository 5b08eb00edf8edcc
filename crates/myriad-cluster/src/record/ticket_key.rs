//! Keys of TLS session tickets.

use zeroize::Zeroizing;

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, RecordError};

const VERSION: u8 = 1;
/// Maximum length of a key, in bytes.
const MAX_KEY: usize = 256;

/// Key of TLS session tickets in Valkey, encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketKeyRecord {
    /// Time at which the key was created, in seconds since the Unix epoch.
    pub made_s: u64,
    /// The key, in the format of the ticket cipher, which this crate does not interpret.
    pub key: Zeroizing<Vec<u8>>,
}

impl TicketKeyRecord {
    /// Returns the name of the key of a period, for tickets with a lifetime in seconds.
    pub fn name(lifetime_s: u32, period: u64) -> String {
        format!("ticket-key:{lifetime_s}:{period}")
    }

    /// Encrypts the record for the value with this name. `None` if the operating system has no random numbers.
    pub fn encode(&self, secret: &ClusterSecret, name: &str) -> Option<Vec<u8>> {
        // The capacity suffices, so that no copies of the key remain in memory.
        let mut writer = FieldWriter::with_capacity(self.key.len() + 64);
        writer.byte(VERSION);
        writer.u64(self.made_s);
        writer.bytes(&self.key);
        secret.encrypt(name, writer.into_bytes().into())
    }

    /// Decrypts the record of the value with this name.
    pub fn decode(secret: &ClusterSecret, name: &str, value: &[u8]) -> Result<Self, RecordError> {
        let contents = secret.decrypt(name, value)?;
        let mut reader = FieldReader::new(&contents);
        reader.version(VERSION)?;
        let made_s = reader.u64()?;
        let key = reader.bytes(MAX_KEY)?.to_vec().into();
        reader.finish()?;
        Ok(Self { made_s, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NodeName;

    #[test]
    fn key_is_bound_to_its_lifetime_and_period() {
        let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
        let record = TicketKeyRecord { made_s: 5, key: vec![3; 48].into() };
        let value = record.encode(&secret, &TicketKeyRecord::name(300, 12)).unwrap();
        assert_eq!(TicketKeyRecord::decode(&secret, "ticket-key:300:12", &value), Ok(record));
        for (lifetime_s, period) in [(300, 13), (3001, 2), (60, 12)] {
            let name = TicketKeyRecord::name(lifetime_s, period);
            assert_eq!(
                TicketKeyRecord::decode(&secret, &name, &value),
                Err(RecordError::NotAuthentic),
                "{name}"
            );
        }
    }
}
