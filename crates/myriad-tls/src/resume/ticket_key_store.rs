//! Ticket keys that must outlive the process.

use std::fmt;

/// Passes ticket keys to the next process. It returns no errors, but logs them itself.
pub trait TicketKeyStore: fmt::Debug + Send + Sync {
    /// Stores a record of the keys for tickets with a lifetime in seconds; `None` removes the record, because no server
    /// issues such tickets any more.
    fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>);
}

#[cfg(test)]
pub(crate) mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Collects the ticket keys passed to it.
    #[derive(Debug, Default)]
    pub(crate) struct RecordedTicketKeys(pub(crate) Mutex<Vec<(u32, Option<Vec<u8>>)>>);

    impl TicketKeyStore for RecordedTicketKeys {
        fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>) {
            self.0.lock().push((lifetime_s, record.map(<[u8]>::to_vec)));
        }
    }
}
