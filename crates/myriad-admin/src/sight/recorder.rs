//! Current steps of the history.

use crate::protocol::sight::Counts;
use myriad_exchange::ranking::history::{Figures, History, LENGTHS, Written};

use super::look::Look;

/// Figures that are gauges, not counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauges {
    pub connections: u64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    /// Requests in progress at origins, connections not yet accepted by PHP pools, requests waiting in queues.
    pub load: [u64; 3],
}

/// Current step of each ring.
#[derive(Debug)]
pub(super) struct Recorder {
    steps: [Under; LENGTHS.len()],
}

/// Step in progress.
#[derive(Debug)]
struct Under {
    at_ms: u64,
    /// Counts at the start of the step.
    base: Look,
    most: Gauges,
}

impl Recorder {
    /// Creates a recorder that counts from this snapshot on.
    pub(super) fn new(look: &Look) -> Self {
        let steps = std::array::from_fn(|ring| Under::new(ring, look));
        Self { steps }
    }

    /// Records gauges.
    pub(super) fn gauge(&mut self, now: &Gauges) {
        for step in &mut self.steps {
            step.most.connections = step.most.connections.max(now.connections);
            for (most, load) in step.most.load.iter_mut().zip(now.load) {
                *most = (*most).max(load);
            }
            (step.most.memory_bytes, step.most.disk_bytes) = (now.memory_bytes, now.disk_bytes);
        }
    }

    /// Updates the current steps in the history, and starts new steps when they are complete. Returns the bytes to
    /// write to the file.
    pub(super) fn record(&mut self, history: &mut History, look: &Look) -> Vec<Written> {
        let mut written = Vec::with_capacity(self.steps.len());
        for (ring, step) in self.steps.iter_mut().enumerate() {
            written.push(history.set(ring, step.at_ms, &step.figures(look)));
            if History::step_of(ring, look.at_ms) != step.at_ms {
                *step = Under::new(ring, look);
            }
        }
        written
    }
}

impl Under {
    fn new(ring: usize, look: &Look) -> Self {
        let at_ms = History::step_of(ring, look.at_ms);
        Self { at_ms, base: look.clone(), most: Gauges::default() }
    }

    fn figures(&self, look: &Look) -> Figures {
        let done = look.since(&self.base);
        let Counts { requests, bytes, fetches, accepted, status_4xx, status_5xx, .. } = done.counts();
        let (all, miss) = (done.all(), &done.first_byte[1]);
        let Gauges { connections, memory_bytes, disk_bytes, load } = self.most;
        Figures {
            requests,
            bytes,
            fetches,
            accepted,
            status_4xx,
            status_5xx,
            cache: done.kinds,
            connections,
            memory_bytes,
            disk_bytes,
            load,
            first_byte_us: [0.5, 0.9, 0.99].map(|part| all.quantile(part).unwrap_or_default()),
            miss_us: [0.5, 0.99].map(|part| miss.quantile(part).unwrap_or_default()),
        }
    }
}
