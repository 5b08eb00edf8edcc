//! Processes that serve QUIC at the same sockets.

use xxhash_rust::xxh3::xxh3_64;

/// How a process stands to new connections. Of those that may read a listener's sockets the last in this order does, and of equals
/// the one of the highest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It does not serve yet.
    Starting,
    /// It takes no more of them.
    Leaving,
    /// It takes them.
    Serving,
}

/// A worker process, as the others know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicProcess {
    /// The number that its connection IDs name; no other process that lives has it.
    pub number: u8,
    /// Its place among all: that of a new binary is above those of the one before, whose later processes it stays above.
    pub rank: u64,
    /// How it stands to new connections.
    pub standing: Standing,
    /// Its listeners, by [`listener_id`].
    pub listeners: Vec<u64>,
}

impl QuicProcess {
    /// How it stands to new connections of a listener; none where it has not that listener.
    pub(super) fn standing_for(&self, listener: u64) -> Option<Standing> {
        self.listeners.contains(&listener).then_some(self.standing)
    }

    /// Whether it may be the one that reads a listener's sockets.
    pub(super) fn may_read(&self, listener: u64) -> bool {
        self.standing_for(listener).is_some_and(|standing| standing != Standing::Starting)
    }
}

/// The ID of a listener, by the name that it has in all processes.
pub fn listener_id(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}
