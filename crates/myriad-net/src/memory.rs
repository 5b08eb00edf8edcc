//! Memory of a worker's connections, and its reduction when the process is short of memory (`memory_limit`).

use myriad_base::memory::PressureStage;

use crate::memory_counters::{self, ANSWERS, BODIES, BUFFERS, CountedBytes, SESSIONS};
use crate::request_buffers;

/// Bytes of an idle connection, including its task and state: 12,000 of them took 1438 bytes each (measured with
/// `bench/many_clients.py`).
const CONNECTION: usize = 1438;
/// Additional bytes of a TLS session: measured as the memory growth of 1,000 idle TLS 1.3 sessions.
const SESSION: usize = 8200;

/// Memory held by the connections of a worker, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionMemory {
    /// State of connections and TLS sessions: their number times a measured size.
    pub connections: u64,
    /// Request buffers: those in use and those in the pool.
    pub buffers: u64,
    /// Buffered bodies of requests and upstream responses that have not been read yet, and buffered responses of
    /// multiplexed connections.
    pub bodies: u64,
}

/// Returns the memory held by the connections of this thread's worker, of which `clients` are open.
pub fn connection_memory(clients: usize) -> ConnectionMemory {
    ConnectionMemory {
        connections: (clients * CONNECTION + SESSIONS.get() * SESSION) as u64,
        buffers: BUFFERS.get() as u64,
        bodies: (BODIES.get() + ANSWERS.get()) as u64,
    }
}

/// Bytes of a body buffered for its reader, counted in the sum of this thread's worker.
#[derive(Debug)]
pub struct BufferedBodyBytes(CountedBytes);

impl Default for BufferedBodyBytes {
    fn default() -> Self {
        Self(CountedBytes::new(&BODIES, 0))
    }
}

impl BufferedBodyBytes {
    /// Returns the number of bytes.
    pub fn get(&self) -> u64 {
        self.0.part() as u64
    }

    /// Adds `more` bytes.
    pub fn add(&mut self, more: usize) {
        self.0.set(self.0.part() + more);
    }

    /// Subtracts `count` bytes that have been read or dropped.
    pub fn take(&mut self, count: usize) {
        self.0.set(self.0.part().saturating_sub(count));
    }
}

/// Sets the memory stage of this thread's worker. Idle buffers are freed when memory is short.
pub fn set_stage(stage: PressureStage) {
    memory_counters::STAGE.set(stage);
    if stage > PressureStage::Normal {
        request_buffers::free_pooled();
    }
}
