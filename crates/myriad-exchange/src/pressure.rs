//! How much memory the process lacks (`memory_limit`), and what was done for want of it: said by the thread that watches it, read by
//! whoever serves or shows.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use myriad_memory::Stage;
use parking_lot::Mutex;

/// Asks a part of the process how many bytes it holds.
type Ask = Box<dyn Fn() -> u64 + Send + Sync>;

/// The memory of the process. It outlives reloads.
#[derive(Default)]
pub struct Pressure {
    limit: AtomicU64,
    stage: AtomicU8,
    /// How often each stage after the first was begun.
    begun: [AtomicU64; 3],
    pages: AtomicU64,
    idle: AtomicU64,
    stalled: AtomicU64,
    refused: AtomicU64,
    /// Parts that are asked, each with its word.
    parts: Mutex<Vec<(&'static str, Ask)>>,
    /// Asks the kernel for the memory in use.
    measure: OnceLock<Ask>,
}

/// Figures of the memory of the process at one moment; counts since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PressureSums {
    /// The limit, bytes; none where there is none.
    pub limit: Option<u64>,
    /// The memory in use, bytes; 0 where the kernel does not tell.
    pub resident: u64,
    /// The stage.
    pub stage: Stage,
    /// How often each stage after [`Stage::Normal`] was begun.
    pub begun: [u64; 3],
    /// Pages that zones have given up; those on disk are there still.
    pub pages: u64,
    /// Connections that were closed on which nothing was under way.
    pub idle: u64,
    /// Connections that were closed whose clients stalled.
    pub stalled: u64,
    /// Requests for origins that were refused.
    pub refused: u64,
}

impl Pressure {
    /// The stage. Costs a load: it is asked before an origin is, never for a stored page.
    pub fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Relaxed))
    }

    /// Whether an origin is to be asked no more; counts the request that is refused then.
    pub fn refuses(&self) -> bool {
        let refuses = self.stage() == Stage::Refusing;
        if refuses {
            self.refused.fetch_add(1, Relaxed);
        }
        refuses
    }

    /// Notes the limit, and the stage that follows from what is in use. Returns the stage before.
    pub fn note(&self, limit: Option<u64>, stage: Stage) -> Stage {
        self.limit.store(limit.unwrap_or(0), Relaxed);
        let before = Stage::of(self.stage.swap(stage as u8, Relaxed));
        for begun in self.begun.get(before as usize..stage as usize).unwrap_or_default() {
            begun.fetch_add(1, Relaxed);
        }
        before
    }

    /// Counts pages that zones have given up.
    pub fn gave_up(&self, pages: usize) {
        self.pages.fetch_add(pages as u64, Relaxed);
    }

    /// Counts connections that were closed.
    pub fn closed(&self, idle: u32, stalled: u32) {
        self.idle.fetch_add(idle.into(), Relaxed);
        self.stalled.fetch_add(stalled.into(), Relaxed);
    }

    /// Says how the kernel is asked for the memory in use.
    pub fn measured_by(&self, measure: impl Fn() -> u64 + Send + Sync + 'static) {
        // A process has one kernel.
        let _ = self.measure.set(Box::new(measure));
    }

    /// Names a part of the process that holds memory beside zones, workers and connections, and how it is asked.
    pub fn count(&self, part: &'static str, ask: impl Fn() -> u64 + Send + Sync + 'static) {
        self.parts.lock().push((part, Box::new(ask)));
    }

    /// The memory in use, bytes, as the kernel tells it now; 0 where it does not.
    pub fn resident(&self) -> u64 {
        self.measure.get().map_or(0, |measure| measure())
    }

    /// Bytes of the parts that were named, each with its word. All are asked.
    pub fn parts(&self) -> Vec<(&'static str, u64)> {
        self.parts.lock().iter().map(|(part, ask)| (*part, ask())).collect()
    }

    /// The figures of this moment, at which so much is in use.
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
        for stage in [Stage::Refusing, Stage::Shrinking, Stage::Closing, Stage::Normal] {
            pressure.note(Some(9), stage);
        }
        let sums = pressure.sums(7);
        assert_eq!((sums.begun, sums.stage), ([1, 2, 1], Stage::Normal));
        assert_eq!((sums.resident, sums.limit), (7, Some(9)));
    }

    #[test]
    fn refused_requests_count_at_the_last_stage_alone() {
        let pressure = Pressure::default();
        pressure.note(Some(1), Stage::Closing);
        assert!(!pressure.refuses());
        pressure.note(Some(1), Stage::Refusing);
        assert!(pressure.refuses() && pressure.refuses());
        assert_eq!(pressure.sums(1).refused, 2);
    }

    #[test]
    fn parts_are_asked_when_somebody_looks() {
        let pressure = Pressure::default();
        pressure.count("files", || 5);
        pressure.gave_up(3);
        pressure.closed(2, 1);
        let sums = pressure.sums(pressure.resident());
        assert_eq!(pressure.parts(), [("files", 5)]);
        assert_eq!((sums.pages, sums.idle, sums.stalled, sums.limit), (3, 2, 1, None));
    }
}
