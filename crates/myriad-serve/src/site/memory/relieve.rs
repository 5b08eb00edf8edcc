//! Measures of a worker against a memory shortage.

use myriad_base::memory::Stage;
use myriad_exchange::worker::WorkerState;
use myriad_net::memory;

/// Minimum number of connections that one order closes; a sixteenth of all connections if that is more.
const CLOSED_AT_ONCE: usize = 32;

/// Frees idle resources, and closes connections if the stage requires it. It must be called on the worker's thread.
pub(in crate::site) fn relieve(
    worker: &WorkerState,
    pressure: &myriad_exchange::pressure::Pressure,
    stage: Stage,
) {
    memory::set_stage(stage);
    myriad_base::memory::take_in();
    if stage >= Stage::Closing {
        let closed = worker.seats.relieve(CLOSED_AT_ONCE.max(worker.seats.clients() / 16));
        pressure.closed(closed.idle, closed.stalled);
    }
    measure(worker);
}

/// Records the memory used by the connections and responses of the worker. It must be called on its thread.
pub(in crate::site) fn measure(worker: &WorkerState) {
    let held = memory::held(worker.seats.clients());
    let counts = &worker.counters.held;
    counts.connections.set(held.connections);
    counts.buffers.set(held.buffers);
    counts.bodies.set(held.bodies);
}
