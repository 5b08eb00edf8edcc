//! TLS session ticket keys, stored by the supervisor so that the next worker process can resume the sessions of
//! clients.
//!
//! The worker creates and rotates the keys. Only the last record for each ticket lifetime is stored, so no key outlives
//! its rotation.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use zeroize::Zeroizing;

/// Maximum number of different lifetimes of TLS tickets (values of `ssl_session_timeout`) for which keys are stored;
/// usually there is a single value.
const MOST: usize = 64;
/// Maximum length of a record of TLS ticket keys, in bytes; two keys take about a hundred.
const LARGEST: usize = 256;

/// Records of TLS ticket keys, by the lifetime of tickets in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TicketKeys(HashMap<u32, Zeroizing<Vec<u8>>>);

impl TicketKeys {
    /// Creates the set from records of TLS ticket keys; records that exceed the bounds are skipped.
    pub(crate) fn from_records(records: impl IntoIterator<Item = (u32, Zeroizing<Vec<u8>>)>) -> Self {
        let mut keys = Self::default();
        for (lifetime_s, record) in records {
            let _ = keys.replace_record(lifetime_s, record);
        }
        keys
    }

    /// Replaces the record of keys for a ticket lifetime. If the new record is empty, only removes the old one.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is too long, or if there are too many lifetimes.
    pub(crate) fn replace_record(
        &mut self,
        lifetime_s: u32,
        record: Zeroizing<Vec<u8>>,
    ) -> Result<(), &'static str> {
        if record.is_empty() {
            self.0.remove(&lifetime_s);
            return Ok(());
        }
        self.remove_expired(now_s());
        if record.len() > LARGEST || (self.0.len() >= MOST && !self.0.contains_key(&lifetime_s)) {
            return Err("a worker process sent too many session ticket keys, or one that is too long");
        }
        self.0.insert(lifetime_s, record);
        Ok(())
    }

    /// Removes the records of expired ticket keys, then returns the set with the remaining records.
    pub(crate) fn valid(&mut self) -> &Self {
        self.remove_expired(now_s());
        self
    }

    /// Removes the records for which all tickets have expired. A record starts with the creation time of its newer key,
    /// in seconds since the Unix epoch; the key issues tickets for one lifetime, and each ticket is valid for another.
    fn remove_expired(&mut self, now_s: u64) {
        self.0.retain(|lifetime_s, record| {
            let made_s = record.first_chunk().map(|made| u64::from_be_bytes(*made));
            made_s.is_none_or(|made_s| made_s.saturating_add(2 * u64::from(*lifetime_s)) >= now_s)
        });
    }

    /// Returns all records of ticket keys, each with its ticket lifetime in seconds.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        self.0.iter().map(|(lifetime_s, record)| (*lifetime_s, record.as_slice()))
    }

    /// Returns all records of ticket keys by value, by ticket lifetime in seconds.
    pub(crate) fn into_map(self) -> HashMap<u32, Zeroizing<Vec<u8>>> {
        self.0
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_go_when_they_are_taken_back_and_when_their_last_ticket_has_expired() {
        let made =
            |made_s: u64| -> Zeroizing<Vec<u8>> { [&made_s.to_be_bytes()[..], &[7; 48]].concat().into() };
        let mut keys = TicketKeys::from_records([(60, made(now_s())), (300, made(now_s()))]);
        assert_eq!(keys.replace_record(60, Zeroizing::default()), Ok(()));
        assert_eq!(keys.iter().map(|(lifetime_s, _)| lifetime_s).collect::<Vec<_>>(), [300]);
        keys.remove_expired(now_s() + 590);
        assert_eq!(keys.iter().len(), 1);
        keys.remove_expired(now_s() + 610);
        assert_eq!(keys.iter().len(), 0);
        // Reloads that change the lifetime repeatedly do not exhaust the bound.
        for lifetime_s in 1..1000 {
            assert_eq!(keys.replace_record(lifetime_s, made(now_s() - 2001)), Ok(()), "{lifetime_s}");
        }
    }

    #[test]
    fn the_last_record_of_a_life_time_counts_and_there_are_only_so_many() {
        let mut keys = TicketKeys::from_records([
            (300, vec![1].into()),
            (300, vec![2].into()),
            (60, vec![3; LARGEST + 1].into()),
        ]);
        assert_eq!(keys.iter().collect::<Vec<_>>(), [(300, &[2][..])]);
        for lifetime_s in 0..MOST as u32 - 1 {
            assert_eq!(keys.replace_record(lifetime_s, vec![0].into()), Ok(()));
        }
        assert!(keys.replace_record(1000, vec![0].into()).is_err());
        assert_eq!(keys.replace_record(300, vec![4].into()), Ok(()), "a known lifetime can be replaced");
    }
}
