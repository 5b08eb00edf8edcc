//! Keys of tickets that must outlive the process.

use std::fmt;

/// Hands keys of tickets to the process after this one. It returns no errors: it logs them itself.
pub trait KeepTicketKeys: fmt::Debug + Send + Sync {
    /// Keeps a record of the keys for tickets of a life time in seconds; none removes the record, since no server gives such
    /// tickets any more.
    fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>);
}

#[cfg(test)]
pub(crate) mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Remembers the keys of tickets that it is handed.
    #[derive(Debug, Default)]
    pub(crate) struct Told(pub(crate) Mutex<Vec<(u32, Option<Vec<u8>>)>>);

    impl KeepTicketKeys for Told {
        fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>) {
            self.0.lock().push((lifetime_s, record.map(<[u8]>::to_vec)));
        }
    }
}
