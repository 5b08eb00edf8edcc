//! Description of the processes that serve QUIC on the same sockets.

use xxhash_rust::xxh3::xxh3_64;

/// State of a process regarding new connections, in increasing order of precedence: of the processes that may read a
/// listener's sockets, the process with the greatest state reads them; of several with this state, the process with the
/// highest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The process does not serve yet and may not read the sockets.
    Starting,
    /// The process accepts no new connections, but serves existing ones.
    Leaving,
    /// The process accepts new connections.
    Serving,
}

/// Worker process that shares QUIC sockets, as described to the other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicProcess {
    /// Number of the process in connection IDs; unique among live processes.
    pub number: u8,
    /// Precedence among processes with the same standing. A new binary ranks above the previous one and all processes
    /// that the previous one starts.
    pub rank: u64,
    /// State of the process regarding new connections.
    pub standing: Standing,
    /// IDs of the process's listeners ([`listener_id`]).
    pub listeners: Vec<u64>,
}

/// Returns the ID of a QUIC listener: a hash of its name, so that it is the same in all processes.
pub fn listener_id(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}
