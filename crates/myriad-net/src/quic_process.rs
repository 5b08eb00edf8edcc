//! Processes that serve QUIC on the same sockets.

use xxhash_rust::xxh3::xxh3_64;

/// State of a process regarding new connections. Of the processes that may read a listener's sockets, the last in this
/// order reads them; of equal processes, the process with the highest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It does not serve yet.
    Starting,
    /// It accepts no more connections.
    Leaving,
    /// It accepts connections.
    Serving,
}

/// Worker process as seen by the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicProcess {
    /// Number in its connection IDs; unique among live processes.
    pub number: u8,
    /// Rank among all processes: a new binary ranks above the previous, including later processes of the previous
    /// binary.
    pub rank: u64,
    /// State regarding new connections.
    pub standing: Standing,
    /// Listeners of the process, by [`listener_id`].
    pub listeners: Vec<u64>,
}

/// Returns the ID of a listener, derived from its name, which is the same in all processes.
pub fn listener_id(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}
