//! Freeing of a worker's memory during a memory shortage.

use myriad_base::memory::PressureStage;
use myriad_exchange::worker::WorkerState;
use myriad_net::memory;

/// Maximum number of connections that one call of [`relieve`] closes, unless one sixteenth of the client connections is
/// more. Only idle and stalled connections are closed.
const CLOSED_AT_ONCE: usize = 32;

/// Applies a stage of memory pressure to a worker: frees unused memory blocks, from the stage `Closing` on also closes
/// idle and stalled connections, and records the memory in use ([`measure`]). It must be called on the worker's thread.
pub(in crate::site) fn relieve(
    worker: &WorkerState,
    pressure: &myriad_exchange::pressure::Pressure,
    stage: PressureStage,
) {
    memory::set_stage(stage);
    myriad_base::memory::collect_freed_blocks();
    if stage >= PressureStage::Closing {
        let closed = worker
            .connection_limiter
            .evict_for_memory(CLOSED_AT_ONCE.max(worker.connection_limiter.clients() / 16));
        pressure.count_closed(closed.idle, closed.stalled);
    }
    measure(worker);
}

/// Records the memory used by the worker's connections and responses in its counters. It must be called on the worker's
/// thread.
pub(in crate::site) fn measure(worker: &WorkerState) {
    let held = memory::connection_memory(worker.connection_limiter.clients());
    let counts = &worker.counters.memory;
    counts.connections.set(held.connections);
    counts.buffers.set(held.buffers);
    counts.bodies.set(held.bodies);
}
