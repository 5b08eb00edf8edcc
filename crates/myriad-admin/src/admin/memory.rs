//! Memory figures of the process.

use std::sync::Arc;

use crate::protocol::{BegunStages, MemoryPart, MemoryTick, ProcessMemoryReport};
use myriad_exchange::counters::Counters;
use myriad_exchange::pressure::Pressure;
use myriad_exchange::runtime::Runtime;
use myriad_store::page::{Counter, PageZone};

/// Sources of the memory figures of the process other than cache zones: memory pressure, and counters of the workers.
pub(crate) struct MemorySources {
    pressure: Arc<Pressure>,
    workers: Arc<[Arc<Counters>]>,
}

impl MemorySources {
    /// Returns the sources for the process that runs a configuration.
    pub(crate) fn of(runtime: &Runtime) -> Self {
        Self { pressure: Arc::clone(&runtime.pressure), workers: Arc::clone(&runtime.traffic.workers) }
    }

    /// Returns the current memory figures of the process; `zones` are listed as parts.
    pub(crate) fn report<'a>(&self, zones: impl Iterator<Item = &'a Arc<PageZone>>) -> ProcessMemoryReport {
        let sums = self.pressure.sums(self.pressure.resident());
        let part =
            |part: &str, bytes: u64| MemoryPart { part: part.to_owned(), bytes, ..MemoryPart::default() };
        let of_workers =
            |of: fn(&Counters) -> &Counter| self.workers.iter().map(|worker| of(worker).get()).sum::<u64>();
        let mut parts: Vec<_> = zones.map(|zone| zone_part(zone)).collect();
        parts.push(part("connections", of_workers(|worker| &worker.memory.connections)));
        parts.push(part("buffers", of_workers(|worker| &worker.memory.buffers)));
        parts.push(part("bodies", of_workers(|worker| &worker.memory.bodies)));
        parts.extend(self.pressure.parts().iter().map(|(name, bytes)| part(name, *bytes)));
        let known = parts.iter().map(|part| part.bytes).sum();
        parts.push(part("other", sums.resident.saturating_sub(known)));
        let [shrinking, closing, refusing] = sums.begun;
        ProcessMemoryReport {
            resident_bytes: sums.resident,
            limit_bytes: sums.limit,
            stage: sums.stage.as_str().to_owned(),
            begun: BegunStages { shrinking, closing, refusing },
            evicted_pages: sums.pages,
            closed_idle: sums.idle,
            closed_stalled: sums.stalled,
            refused_requests: sums.refused,
            parts,
        }
    }

    /// Returns the current memory figures for a live event.
    pub(crate) fn tick(&self) -> MemoryTick {
        let sums = self.pressure.sums(self.pressure.resident());
        let stage = sums.stage.as_str().to_owned();
        MemoryTick { resident_bytes: sums.resident, limit_bytes: sums.limit, stage }
    }
}

fn zone_part(zone: &PageZone) -> MemoryPart {
    let stats = zone.zone.stats();
    MemoryPart {
        part: "zone".to_owned(),
        zone: Some(zone.zone.name().to_owned()),
        bytes: stats.bytes.saturating_sub(stats.unused_notes) as u64,
        limit_bytes: Some(stats.limit_bytes as u64),
        configured_bytes: Some(zone.zone.limits().memory_bytes as u64),
    }
}
