//! The bytes of answers that are held because their client does not take them; a bound for each connection.
//!
//! A piece of a body is fetched once its stream takes some of it, so a client that opens many windows by one byte each has as many
//! pieces held for it. Beyond the bound, which is lower where the worker's connections hold much together, other streams of that
//! client wait.

use crate::memory_figures::{ANSWERS, Counted, is_short};

/// Most bytes of pieces that a connection holds before it fetches no more.
const CONNECTION: usize = 1 << 20;
/// The bound of a connection where all connections of the worker hold more than [`WORKER`], or the process is short of memory.
const CONNECTION_AMONG_MANY: usize = 64 << 10;
const WORKER: usize = 64 << 20;

/// The bytes that one connection holds, as it counted last, among those of all connections of this thread's worker.
#[derive(Debug)]
pub(super) struct HeldBytes(Counted);

impl Default for HeldBytes {
    fn default() -> Self {
        Self(Counted::new(&ANSWERS, 0))
    }
}

impl HeldBytes {
    /// The connection holds so much now.
    pub(super) fn set(&mut self, bytes: usize) {
        self.0.set(bytes);
    }

    /// One more piece, of so many bytes.
    pub(super) fn add(&mut self, bytes: usize) {
        self.set(self.0.part() + bytes);
    }

    /// Whether nothing more is to be fetched.
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
        let mut own = HeldBytes::default();
        own.set(CONNECTION_AMONG_MANY);
        assert!(!own.is_full());
        own.add(CONNECTION);
        assert!(own.is_full());
        own.set(CONNECTION_AMONG_MANY);
        let mut others = HeldBytes::default();
        others.set(WORKER);
        assert!(own.is_full());
        drop(others);
        assert!(!own.is_full());
        own.set(0);
        assert_eq!(ANSWERS.get(), 0);
    }
}
