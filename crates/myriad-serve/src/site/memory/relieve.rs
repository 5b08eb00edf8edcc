//! Measures of a worker against a memory shortage.

use myriad_base::memory::PressureStage;
use myriad_exchange::worker::WorkerState;
use myriad_net::memory;

/// Minimum number of connections that one order closes; a sixteenth of all connections if that is more.
const CLOSED_AT_ONCE: usize = 32;

/// Frees idle resources, and closes connections if the stage requires it. It must be called on the worker's thread.
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

/// Records the memory used by the connections and responses of the worker. It must be called on its thread.
pub(in crate::site) fn measure(worker: &WorkerState) {
    let held = memory::connection_memory(worker.connection_limiter.clients());
    let counts = &worker.counters.memory;
    counts.connections.set(held.connections);
    counts.buffers.set(held.buffers);
    counts.bodies.set(held.bodies);
}
