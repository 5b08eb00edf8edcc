//! Limit of the response bytes buffered on a connection because the client does not read them.
//!
//! A piece of a body is fetched once its stream takes some of it, so a client that opens many windows by one byte each
//! causes one buffered piece per stream. Above the limit, which is lower if the worker's connections buffer many bytes
//! together, other streams of that client wait.

use crate::memory_counters::{ANSWERS, CountedBytes, is_short};

/// Maximum number of buffered bytes of a connection; above it no more pieces are fetched.
const CONNECTION: usize = 1 << 20;
/// Limit of a connection if all connections of the worker buffer more than [`WORKER`] bytes, or the process is short of
/// memory.
const CONNECTION_AMONG_MANY: usize = 64 << 10;
const WORKER: usize = 64 << 20;

/// Bytes buffered by one connection at its last count, included in the sum of this thread's worker.
#[derive(Debug)]
pub(super) struct ConnectionBufferedBytes(CountedBytes);

impl Default for ConnectionBufferedBytes {
    fn default() -> Self {
        Self(CountedBytes::new(&ANSWERS, 0))
    }
}

impl ConnectionBufferedBytes {
    /// Sets the number of buffered bytes.
    pub(super) fn set(&mut self, bytes: usize) {
        self.0.set(bytes);
    }

    /// Adds a piece of `bytes` bytes.
    pub(super) fn add(&mut self, bytes: usize) {
        self.set(self.0.part() + bytes);
    }

    /// Returns whether no more pieces may be fetched.
    pub(super) fn is_full(&self) -> bool {
        let most = if ANSWERS.get() > WORKER || is_short() { CONNECTION_AMONG_MANY } else { CONNECTION };
        self.0.part() >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_holds_less_where_the_worker_holds_much() {
        let mut own = ConnectionBufferedBytes::default();
        own.set(CONNECTION_AMONG_MANY);
        assert!(!own.is_full());
        own.add(CONNECTION);
        assert!(own.is_full());
        own.set(CONNECTION_AMONG_MANY);
        let mut others = ConnectionBufferedBytes::default();
        others.set(WORKER);
        assert!(own.is_full());
        drop(others);
        assert!(!own.is_full());
        own.set(0);
        assert_eq!(ANSWERS.get(), 0);
    }
}
