//! What a worker does for want of memory.

use myriad_exchange::worker::WorkerState;
use myriad_memory::Stage;
use myriad_net::memory;

/// Connections that one order closes at least; a sixteenth of all where that is more.
const CLOSED_AT_ONCE: usize = 32;

/// Gives back what is idle, and closes connections where the stage says so. To be called on the thread of the worker.
pub(in crate::site) fn relieve(
    worker: &WorkerState,
    pressure: &myriad_exchange::pressure::Pressure,
    stage: Stage,
) {
    memory::set_stage(stage);
    myriad_memory::take_in();
    if stage >= Stage::Closing {
        let closed = worker.seats.relieve(CLOSED_AT_ONCE.max(worker.seats.clients() / 16));
        pressure.closed(closed.idle, closed.stalled);
    }
    measure(worker);
}

/// Notes what the connections and answers of the worker hold. To be called on its thread.
pub(in crate::site) fn measure(worker: &WorkerState) {
    let held = memory::held(worker.seats.clients());
    let counts = &worker.counters.held;
    counts.connections.set(held.connections);
    counts.buffers.set(held.buffers);
    counts.bodies.set(held.bodies);
}
