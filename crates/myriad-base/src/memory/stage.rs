//! Stages of the memory pressure of a process, and the transitions between them.

/// Stage of memory pressure. Each stage also has the measures of the stages before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PressureStage {
    /// No measures: memory is not short.
    #[default]
    Normal,
    /// Cache zones and the cache of small files shrink, and idle buffers are freed.
    Shrinking,
    /// Idle connections are closed, the oldest first, then connections whose clients stall. Background compression is
    /// paused.
    Closing,
    /// Requests that need an origin get status 503. Above a minimum number of connections, a new one requires the
    /// eviction of another.
    Refusing,
}

/// Percentages of the process's memory limit at which the stages after [`PressureStage::Normal`] are entered.
const BEGINS: [u64; 3] = [85, 95, 100];
/// Percentages of the process's memory limit below which the stages after [`PressureStage::Normal`] are left. They are
/// lower than those in `BEGINS`, so that small changes do not toggle a stage.
const ENDS: [u64; 3] = [80, 90, 97];

impl PressureStage {
    /// All stages, in order of increasing pressure.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Shrinking, Self::Closing, Self::Refusing];

    /// Returns the name of the stage in reports and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Shrinking => "shrinking",
            Self::Closing => "closing",
            Self::Refusing => "refusing",
        }
    }

    /// Returns the stage with this number; [`Self::Refusing`] for larger numbers.
    pub fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Refusing)
    }
}

/// Current memory pressure stage of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct PressureTracker(PressureStage);

impl PressureTracker {
    /// Updates and returns the stage of a process that uses `resident` bytes of `limit`; with a limit of 0 it is always
    /// [`PressureStage::Normal`]. [`PressureStage::Refusing`] is not entered while `can_shrink` is true, which means
    /// that zones can still free a considerable amount of memory.
    ///
    /// ```text
    ///            85 %             95 %             100 %, zones have freed all memory
    ///  Normal ---------> Shrinking -------> Closing --------> Refusing
    ///         <---------          <-------          <--------
    ///            80 %             90 %              97 %
    /// ```
    /// A call advances by at most one stage, so that its measures can take effect, and goes back by any number of
    /// stages.
    pub fn observe(&mut self, resident: u64, limit: u64, can_shrink: bool) -> PressureStage {
        let parts = u128::from(resident) * 100;
        let is_at_least = |percent: u64| limit > 0 && parts >= u128::from(limit) * u128::from(percent);
        let mut stage = self.0 as usize;
        if BEGINS.get(stage).is_some_and(|begins| is_at_least(*begins))
            && !(can_shrink && PressureStage::ALL[stage] == PressureStage::Closing)
        {
            stage += 1;
        }
        while stage > 0 && !is_at_least(ENDS[stage - 1]) {
            stage -= 1;
        }
        self.0 = PressureStage::ALL[stage];
        self.0
    }

    /// Returns the stage of the last call of [`Self::observe`].
    pub fn stage(self) -> PressureStage {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stage after each of successive observations, in which a process uses `parts` percent of its limit.
    fn through(parts: &[u64]) -> Vec<PressureStage> {
        let mut ladder = PressureTracker::default();
        parts.iter().map(|part| ladder.observe(part * 1000, 100_000, false)).collect()
    }

    use PressureStage::{Closing, Normal, Refusing, Shrinking};

    #[test]
    fn stages_begin_at_their_parts_and_end_below_them() {
        assert_eq!(through(&[84, 85, 84, 80, 79]), [Normal, Shrinking, Shrinking, Shrinking, Normal]);
        assert_eq!(through(&[95, 95, 90, 89, 94]), [Shrinking, Closing, Closing, Shrinking, Shrinking]);
        assert_eq!(
            through(&[100, 100, 100, 97, 96, 99]),
            [Shrinking, Closing, Refusing, Refusing, Closing, Closing]
        );
    }

    #[test]
    fn each_look_goes_up_by_one_step_and_down_by_any_number() {
        assert_eq!(through(&[150, 150, 150, 150, 10]), [Shrinking, Closing, Refusing, Refusing, Normal]);
    }

    #[test]
    fn nothing_is_refused_while_zones_could_give_up_more() {
        let mut ladder = PressureTracker::default();
        for _ in 0..9 {
            ladder.observe(110, 100, true);
        }
        assert_eq!(ladder.stage(), Closing);
        assert_eq!(ladder.observe(110, 100, false), Refusing);
        assert_eq!(ladder.observe(110, 100, true), Refusing, "what they have taken in again does not count");
    }

    #[test]
    fn without_a_limit_there_is_no_pressure() {
        let mut ladder = PressureTracker::default();
        assert_eq!(ladder.observe(u64::MAX, u64::MAX, false), Shrinking, "nothing overflows");
        assert_eq!(ladder.observe(u64::MAX, 0, false), Normal);
    }

    #[test]
    fn stages_come_back_from_their_numbers() {
        for stage in PressureStage::ALL {
            assert_eq!(PressureStage::from_number(stage as u8), stage);
        }
        assert_eq!(PressureStage::from_number(9), PressureStage::Refusing);
        assert!(PressureStage::ALL.is_sorted());
    }
}
