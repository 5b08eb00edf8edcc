//! Storage of ticket keys for the next process.

use std::fmt;

/// Storage that passes ticket keys to the next process. Errors are logged by the implementation.
pub trait TicketKeyStore: fmt::Debug + Send + Sync {
    /// Stores the serialized keys for tickets with a lifetime in seconds. `None` removes them, because no server issues
    /// such tickets any more.
    fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>);
}

#[cfg(test)]
pub(crate) mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Test store that records all calls.
    #[derive(Debug, Default)]
    pub(crate) struct RecordedTicketKeys(pub(crate) Mutex<Vec<(u32, Option<Vec<u8>>)>>);

    impl TicketKeyStore for RecordedTicketKeys {
        fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>) {
            self.0.lock().push((lifetime_s, record.map(<[u8]>::to_vec)));
        }
    }
}
