//! The steps of the history that are under way.

use myriad_admin::sight::Counts;
use myriad_sight::history::{Figures, History, LENGTHS, Written};

use super::look::Look;

/// What is looked at, not counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauges {
    pub connections: u64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    /// Requests that origins work on, connections that pools of PHP have not accepted, requests that wait in queues.
    pub load: [u64; 3],
}

/// The step under way of each ring.
#[derive(Debug)]
pub(super) struct Recorder {
    steps: [Under; LENGTHS.len()],
}

/// A step under way.
#[derive(Debug)]
struct Under {
    at_ms: u64,
    /// The counts as it began.
    base: Look,
    most: Gauges,
}

impl Recorder {
    /// Counts from this look on.
    pub(super) fn new(look: &Look) -> Self {
        let steps = std::array::from_fn(|ring| Under::new(ring, look));
        Self { steps }
    }

    /// Looks at what is not counted.
    pub(super) fn gauge(&mut self, now: &Gauges) {
        for step in &mut self.steps {
            step.most.connections = step.most.connections.max(now.connections);
            for (most, load) in step.most.load.iter_mut().zip(now.load) {
                *most = (*most).max(load);
            }
            (step.most.memory_bytes, step.most.disk_bytes) = (now.memory_bytes, now.disk_bytes);
        }
    }

    /// Sets what the steps came to so far, and begins those that are next; the bytes for the file.
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
