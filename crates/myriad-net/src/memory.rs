//! Memory used by the connections of a worker, and its reduction under memory pressure (`memory_limit`).

use myriad_base::memory::PressureStage;

use crate::memory_counters::{self, ANSWERS, BODIES, BUFFERS, CountedBytes, SESSIONS};
use crate::request_buffers;

/// Bytes of an idle connection with its task and state, measured with 12,000 connections by `bench/many_clients.py`.
const CONNECTION: usize = 1438;
/// Additional bytes of a TLS session, measured with 1,000 idle TLS 1.3 sessions.
const SESSION: usize = 8200;

/// Memory used by the connections of a worker, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionMemory {
    /// Estimate for connections and for their TLS sessions, except those of QUIC: their numbers multiplied by measured
    /// sizes.
    pub connections: u64,
    /// Size of the request buffers, in use and pooled.
    pub buffers: u64,
    /// Buffered bodies of requests and upstream responses that have not been read yet, and response bytes buffered on
    /// HTTP/2 connections.
    pub bodies: u64,
}

/// Returns the memory used by the connections of this thread's worker; `clients` is the number of open connections.
pub fn connection_memory(clients: usize) -> ConnectionMemory {
    ConnectionMemory {
        connections: (clients * CONNECTION + SESSIONS.get() * SESSION) as u64,
        buffers: BUFFERS.get() as u64,
        bodies: (BODIES.get() + ANSWERS.get()) as u64,
    }
}

/// Number of body bytes buffered for a reader. Also included in the sum of this thread's worker; subtracted when
/// dropped.
#[derive(Debug)]
pub struct BufferedBodyBytes(CountedBytes);

impl Default for BufferedBodyBytes {
    fn default() -> Self {
        Self(CountedBytes::new(&BODIES, 0))
    }
}

impl BufferedBodyBytes {
    /// Returns the number of bytes buffered for the reader.
    pub fn get(&self) -> u64 {
        self.0.part() as u64
    }

    /// Adds `more` bytes that were buffered for the reader.
    pub fn add(&mut self, more: usize) {
        self.0.set(self.0.part() + more);
    }

    /// Subtracts `count` bytes that have been read or dropped.
    pub fn take(&mut self, count: usize) {
        self.0.set(self.0.part().saturating_sub(count));
    }
}

/// Sets the pressure stage for this thread's worker. Above [`PressureStage::Normal`], pooled buffers are freed.
pub fn set_stage(stage: PressureStage) {
    memory_counters::STAGE.set(stage);
    if stage > PressureStage::Normal {
        request_buffers::free_pooled();
    }
}
