//! Current steps of the history, one per ring (10 seconds, 1 minute, 10 minutes).

use crate::protocol::monitoring::TickCounts;
use myriad_exchange::ranking::history::{Figures, History, HistoryWrite, LENGTHS};

use super::counts_snapshot::CountsSnapshot;

/// Current values for the history, which unlike counters may decrease.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauges {
    pub connections: u64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    /// Requests in progress at origins, connections not yet accepted by PHP pools, requests waiting in queues.
    pub load: [u64; 3],
}

/// Recorder of the history: holds the step in progress of each series (of 10, 60 and 600 s).
#[derive(Debug)]
pub(super) struct Recorder {
    steps: [OpenStep; LENGTHS.len()],
}

/// Step of the history in progress.
#[derive(Debug)]
struct OpenStep {
    at_ms: u64,
    /// Counts at the start of the step.
    base: CountsSnapshot,
    maximum: Gauges,
}

impl Recorder {
    /// Creates a recorder whose first steps count from this snapshot on.
    pub(super) fn new(look: &CountsSnapshot) -> Self {
        let steps = std::array::from_fn(|ring| OpenStep::new(ring, look));
        Self { steps }
    }

    /// Records current values in each open step of the history: their maximum in the step for connections and load, the
    /// last value for memory and disk.
    pub(super) fn gauge(&mut self, now: &Gauges) {
        for step in &mut self.steps {
            step.maximum.connections = step.maximum.connections.max(now.connections);
            for (most, load) in step.maximum.load.iter_mut().zip(now.load) {
                *most = (*most).max(load);
            }
            (step.maximum.memory_bytes, step.maximum.disk_bytes) = (now.memory_bytes, now.disk_bytes);
        }
    }

    /// Updates the current steps in the history from the snapshot `look`, and starts new steps for those that are
    /// complete. Returns the bytes to write to the history file.
    pub(super) fn record(&mut self, history: &mut History, look: &CountsSnapshot) -> Vec<HistoryWrite> {
        let mut written = Vec::with_capacity(self.steps.len());
        for (ring, step) in self.steps.iter_mut().enumerate() {
            written.push(history.set(ring, step.at_ms, &step.figures(look)));
            if History::step_of(ring, look.at_ms) != step.at_ms {
                *step = OpenStep::new(ring, look);
            }
        }
        written
    }
}

impl OpenStep {
    fn new(ring: usize, look: &CountsSnapshot) -> Self {
        let at_ms = History::step_of(ring, look.at_ms);
        Self { at_ms, base: look.clone(), maximum: Gauges::default() }
    }

    fn figures(&self, look: &CountsSnapshot) -> Figures {
        let done = look.since(&self.base);
        let TickCounts { requests, bytes, fetches, accepted, status_4xx, status_5xx, .. } = done.counts();
        let (all, miss) = (done.all(), &done.first_byte[1]);
        let Gauges { connections, memory_bytes, disk_bytes, load } = self.maximum;
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
