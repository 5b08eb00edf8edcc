//! Memory of a worker's connections: what they hold, and what they do without where the process runs short of it (`memory_limit`).

use myriad_memory::Stage;

use crate::memory_figures::{self, ANSWERS, BODIES, BUFFERS, Counted, SESSIONS};
use crate::request_buffers;

/// Bytes of a connection that is idle, its task and its state included: measured, 12,000 of them took 1438 each
/// (`bench/many_clients.py`).
const CONNECTION: usize = 1438;
/// Bytes that a session of TLS adds to that: measured with 1,000 idle ones of TLS 1.3, by which memory grew.
const SESSION: usize = 8200;

/// What the connections of a worker hold, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// State of connections, and their sessions of TLS: their number times what one was measured to take.
    pub connections: u64,
    /// Buffers of requests: those that are read into, and those that wait in the pool.
    pub buffers: u64,
    /// Bodies that came ahead of their readers, of requests and of origins, and answers that wait for their clients, of connections that
    /// requests share.
    pub bodies: u64,
}

/// What the connections of this thread's worker hold, of which `clients` are open.
pub fn held(clients: usize) -> Held {
    Held {
        connections: (clients * CONNECTION + SESSIONS.get() * SESSION) as u64,
        buffers: BUFFERS.get() as u64,
        bodies: (BODIES.get() + ANSWERS.get()) as u64,
    }
}

/// Bytes of a body that wait in memory for their reader, among those of all such bodies of this thread's worker.
#[derive(Debug)]
pub struct WaitingBytes(Counted);

impl Default for WaitingBytes {
    fn default() -> Self {
        Self(Counted::new(&BODIES, 0))
    }
}

impl WaitingBytes {
    /// How many there are.
    pub fn get(&self) -> u64 {
        self.0.part() as u64
    }

    /// There are so many more.
    pub fn add(&mut self, more: usize) {
        self.0.set(self.0.part() + more);
    }

    /// So many have been taken, or dropped.
    pub fn take(&mut self, count: usize) {
        self.0.set(self.0.part().saturating_sub(count));
    }
}

/// Tells the worker of this thread how much the process lacks memory. Idle buffers are given back where it does.
pub fn set_stage(stage: Stage) {
    memory_figures::STAGE.set(stage);
    if stage > Stage::Normal {
        request_buffers::give_back();
    }
}
