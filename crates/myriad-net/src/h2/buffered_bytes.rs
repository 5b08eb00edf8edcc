//! Limit of the response bytes that an HTTP/2 connection buffers because its client does not read them.
//!
//! The next piece of a body is fetched once its stream can send a part of it. A client that opens many windows by one
//! byte each therefore causes one buffered piece per stream. Above the limit, no stream of the connection fetches
//! pieces. The limit is lower while all connections of the worker together buffer many bytes or memory is short.

use crate::memory_counters::{ANSWERS, CountedBytes, is_short};

/// Number of buffered response bytes of an HTTP/2 connection from which no more body pieces are fetched, unless
/// `CONNECTION_AMONG_MANY` applies.
const CONNECTION: usize = 1 << 20;
/// Limit of buffered response bytes of a connection while all connections of the worker buffer more than [`WORKER`]
/// bytes, or the process is short of memory.
const CONNECTION_AMONG_MANY: usize = 64 << 10;
const WORKER: usize = 64 << 20;

/// Response bytes buffered by one connection at the last count. Also included in the sum of this thread's worker.
#[derive(Debug)]
pub(super) struct ConnectionBufferedBytes(CountedBytes);

impl Default for ConnectionBufferedBytes {
    fn default() -> Self {
        Self(CountedBytes::new(&ANSWERS, 0))
    }
}

impl ConnectionBufferedBytes {
    /// Sets the number of response bytes buffered by the connection.
    pub(super) fn set(&mut self, bytes: usize) {
        self.0.set(bytes);
    }

    /// Adds `bytes` to the number of response bytes buffered by the connection.
    pub(super) fn add(&mut self, bytes: usize) {
        self.set(self.0.part() + bytes);
    }

    /// Returns true if the connection may fetch no more body pieces because it buffers too many bytes.
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
