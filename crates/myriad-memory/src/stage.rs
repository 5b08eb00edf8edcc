//! The stages of pressure.

/// What is done for want of memory. Each stage does what those before it do, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// Nothing.
    #[default]
    Normal,
    /// Zones and the memory for small files shrink, idle buffers are given back.
    Shrinking,
    /// Connections on which nothing is under way are closed, the oldest first, and background compression rests.
    Closing,
    /// A request for an origin gets 503, a newcomer beyond the first some is let in where somebody gives way.
    Refusing,
}

/// Parts of the limit at which each stage after [`Stage::Normal`] begins, percent.
const BEGINS: [u64; 3] = [85, 95, 100];
/// Parts of the limit below which it ends, percent. Lower, so that a stage is not begun and ended by the same few pages.
const ENDS: [u64; 3] = [80, 90, 97];

impl Stage {
    /// All of them, from the least pressure to the most.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Shrinking, Self::Closing, Self::Refusing];

    /// Its word, for reports and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Shrinking => "shrinking",
            Self::Closing => "closing",
            Self::Refusing => "refusing",
        }
    }

    /// The stage of that number, the last one for a number beyond.
    pub fn of(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Refusing)
    }
}

/// The stage at which a process stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ladder(Stage);

impl Ladder {
    /// The stage where the process has so many bytes of so many that it may have. A limit of 0 is none. `can_shrink` says that zones
    /// could give up more: nothing fails before they have.
    ///
    /// ```text
    ///            85 %             95 %             100 %, zones have given up all
    ///  Normal ---------> Shrinking -------> Closing --------> Refusing
    ///         <---------          <-------          <--------
    ///            80 %             90 %              97 %
    /// ```
    /// Each look goes up by one step at most, so that what is done in a stage has its time; down by any number.
    pub fn observe(&mut self, resident: u64, limit: u64, can_shrink: bool) -> Stage {
        let parts = u128::from(resident) * 100;
        let is_at_least = |percent: u64| limit > 0 && parts >= u128::from(limit) * u128::from(percent);
        let mut stage = self.0 as usize;
        if BEGINS.get(stage).is_some_and(|begins| is_at_least(*begins))
            && !(can_shrink && Stage::ALL[stage] == Stage::Closing)
        {
            stage += 1;
        }
        while stage > 0 && !is_at_least(ENDS[stage - 1]) {
            stage -= 1;
        }
        self.0 = Stage::ALL[stage];
        self.0
    }

    /// The stage that was found last.
    pub fn stage(self) -> Stage {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stages that a process goes through whose memory takes these parts of the limit, percent.
    fn through(parts: &[u64]) -> Vec<Stage> {
        let mut ladder = Ladder::default();
        parts.iter().map(|part| ladder.observe(part * 1000, 100_000, false)).collect()
    }

    use Stage::{Closing, Normal, Refusing, Shrinking};

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
        let mut ladder = Ladder::default();
        for _ in 0..9 {
            ladder.observe(110, 100, true);
        }
        assert_eq!(ladder.stage(), Closing);
        assert_eq!(ladder.observe(110, 100, false), Refusing);
        assert_eq!(ladder.observe(110, 100, true), Refusing, "what they have taken in again does not count");
    }

    #[test]
    fn without_a_limit_there_is_no_pressure() {
        let mut ladder = Ladder::default();
        assert_eq!(ladder.observe(u64::MAX, u64::MAX, false), Shrinking, "nothing overflows");
        assert_eq!(ladder.observe(u64::MAX, 0, false), Normal);
    }

    #[test]
    fn stages_come_back_from_their_numbers() {
        for stage in Stage::ALL {
            assert_eq!(Stage::of(stage as u8), stage);
        }
        assert_eq!(Stage::of(9), Stage::Refusing);
        assert!(Stage::ALL.is_sorted());
    }
}
