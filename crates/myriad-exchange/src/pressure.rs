//! Memory pressure of the process (`memory_limit`), and the measures taken against it. The thread that watches the
//! memory updates it; serving and status code reads it.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use myriad_base::memory::PressureStage;
use parking_lot::Mutex;

/// Function that returns the number of bytes used by a part of the process.
type MeasureFn = Box<dyn Fn() -> u64 + Send + Sync>;

/// Memory pressure of the process: limit, current stage, and counts of measures taken. Survives reloads.
#[derive(Default)]
pub struct Pressure {
    limit: AtomicU64,
    stage: AtomicU8,
    /// Number of times that each pressure stage above `Normal` was entered from a lower one.
    begun: [AtomicU64; 3],
    pages: AtomicU64,
    idle: AtomicU64,
    stalled: AtomicU64,
    refused: AtomicU64,
    /// Parts of the process that measure their own memory, by name.
    parts: Mutex<Vec<(&'static str, MeasureFn)>>,
    /// Function that returns the memory in use, as the kernel reports it.
    measure: OnceLock<MeasureFn>,
}

/// Memory pressure of the process at one moment. Counts start with the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PressureSums {
    /// Memory limit, in bytes; `None` without a limit.
    pub limit: Option<u64>,
    /// Memory in use, in bytes; 0 if the kernel does not report it.
    pub resident: u64,
    /// Current stage of memory pressure.
    pub stage: PressureStage,
    /// Number of times that each stage above [`PressureStage::Normal`] was entered from a lower one.
    pub begun: [u64; 3],
    /// Number of cache keys whose pages were evicted from memory under pressure. Pages that are also on disk remain
    /// there.
    pub pages: u64,
    /// Number of idle client connections that were closed under pressure.
    pub idle: u64,
    /// Number of client connections that were closed under pressure because their clients made no progress.
    pub stalled: u64,
    /// Number of requests rejected under pressure because they needed an origin.
    pub refused: u64,
}

impl Pressure {
    /// Returns the current stage of memory pressure. Costs one load. Checked before a request to an origin, never for a
    /// stored page.
    pub fn stage(&self) -> PressureStage {
        PressureStage::from_number(self.stage.load(Relaxed))
    }

    /// Returns true if a request to an origin must be rejected now because of memory pressure; if so, counts it as
    /// rejected.
    pub fn rejects_origin_request(&self) -> bool {
        let refuses = self.stage() == PressureStage::Refusing;
        if refuses {
            self.refused.fetch_add(1, Relaxed);
        }
        refuses
    }

    /// Records the memory limit in bytes (`None` without a limit) and the current stage of pressure, and returns the
    /// previous stage. If the stage is higher than the previous one, counts one entry into it and into each stage in
    /// between.
    pub fn note(&self, limit: Option<u64>, stage: PressureStage) -> PressureStage {
        self.limit.store(limit.unwrap_or(0), Relaxed);
        let before = PressureStage::from_number(self.stage.swap(stage as u8, Relaxed));
        for begun in self.begun.get(before as usize..stage as usize).unwrap_or_default() {
            begun.fetch_add(1, Relaxed);
        }
        before
    }

    /// Adds to the number of cache keys whose pages were evicted from memory under pressure.
    pub fn count_evicted(&self, pages: usize) {
        self.pages.fetch_add(pages as u64, Relaxed);
    }

    /// Adds to the numbers of client connections closed under pressure: `idle` idle ones, and `stalled` ones whose
    /// clients made no progress.
    pub fn count_closed(&self, idle: u32, stalled: u32) {
        self.idle.fetch_add(idle.into(), Relaxed);
        self.stalled.fetch_add(stalled.into(), Relaxed);
    }

    /// Sets the function that returns the memory in use, in bytes. Later calls have no effect.
    pub fn set_measure(&self, measure: impl Fn() -> u64 + Send + Sync + 'static) {
        // Later calls are ignored, because the function is the same for the whole process.
        let _ = self.measure.set(Box::new(measure));
    }

    /// Registers a part of the process whose memory belongs neither to zones nor to workers or connections. `ask`
    /// returns the size of the part in bytes.
    pub fn register_part(&self, part: &'static str, ask: impl Fn() -> u64 + Send + Sync + 'static) {
        self.parts.lock().push((part, Box::new(ask)));
    }

    /// Returns the memory in use, in bytes, as the kernel reports it now; 0 if it does not report it.
    pub fn resident(&self) -> u64 {
        self.measure.get().map_or(0, |measure| measure())
    }

    /// Measures all registered parts. Returns their names and sizes in bytes.
    pub fn parts(&self) -> Vec<(&'static str, u64)> {
        self.parts.lock().iter().map(|(part, ask)| (*part, ask())).collect()
    }

    /// Returns the current memory pressure and its counts. `resident` is the memory in use, from [`Self::resident`].
    pub fn sums(&self, resident: u64) -> PressureSums {
        let begun = std::array::from_fn(|stage| self.begun[stage].load(Relaxed));
        PressureSums {
            limit: Some(self.limit.load(Relaxed)).filter(|limit| *limit > 0),
            resident,
            stage: self.stage(),
            begun,
            pages: self.pages.load(Relaxed),
            idle: self.idle.load(Relaxed),
            stalled: self.stalled.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }
}

impl fmt::Debug for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pressure").field("stage", &self.stage()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_on_the_way_up_counts_and_none_on_the_way_down() {
        let pressure = Pressure::default();
        for stage in
            [PressureStage::Refusing, PressureStage::Shrinking, PressureStage::Closing, PressureStage::Normal]
        {
            pressure.note(Some(9), stage);
        }
        let sums = pressure.sums(7);
        assert_eq!((sums.begun, sums.stage), ([1, 2, 1], PressureStage::Normal));
        assert_eq!((sums.resident, sums.limit), (7, Some(9)));
    }

    #[test]
    fn refused_requests_count_at_the_last_stage_alone() {
        let pressure = Pressure::default();
        pressure.note(Some(1), PressureStage::Closing);
        assert!(!pressure.rejects_origin_request());
        pressure.note(Some(1), PressureStage::Refusing);
        assert!(pressure.rejects_origin_request() && pressure.rejects_origin_request());
        assert_eq!(pressure.sums(1).refused, 2);
    }

    #[test]
    fn parts_are_asked_when_somebody_looks() {
        let pressure = Pressure::default();
        pressure.register_part("files", || 5);
        pressure.count_evicted(3);
        pressure.count_closed(2, 1);
        let sums = pressure.sums(pressure.resident());
        assert_eq!(pressure.parts(), [("files", 5)]);
        assert_eq!((sums.pages, sums.idle, sums.stalled, sums.limit), (3, 2, 1, None));
    }
}
