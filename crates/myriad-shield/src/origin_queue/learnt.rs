//! How many requests an origin bears at once, learnt from how long it takes to answer.
//!
//! An origin that has more to do than it can answers all of it later. So the time that answers take is compared with the time they took
//! while the origin was at ease: where they are alike, more is tried, where they are not, less is asked.
//!
//! Times are those of windows, the mean of many answers: pages of a site differ by a factor of a hundred, means of a window do not.

/// The first bound, before anything is learnt.
const FIRST: f64 = 8.0;
/// Answers of a window, at least; and as many as are asked at once, so that each slot has its say.
const WINDOW: u32 = 16;
/// How much longer answers may take than at ease before less is asked: means of windows differ by less than that.
const TOLERANCE: f64 = 2.0;
/// The part of the way to the new bound that one window goes.
const STEP: f64 = 0.3;
/// The part by which the time at ease follows the times of today: a site that has become slower for good is believed after
/// some thousand windows.
const DRIFT: f64 = 1.0 / 1024.0;

/// The bound to which answers that always take longer lower it: half of it, and its root, are four. Where they still do with no more
/// than that, they do not because of what is asked at once: other pages are asked for than when the origin was at ease, as by night or by
/// whoever asks for cheap ones. Then the time at ease follows sooner, within some ten windows.
const LEAST: f64 = 5.0;
const SOON: f64 = 1.0 / 16.0;

/// What is learnt of an origin.
#[derive(Debug)]
pub(super) struct Learnt {
    bound: f64,
    /// What answers take while the origin is at ease, milliseconds; none before the first window.
    at_ease_ms: Option<f64>,
    /// Of the window: the sum of times, how many answers, and the most that were asked at once.
    sum_ms: f64,
    answers: u32,
    busiest: u32,
}

impl Default for Learnt {
    fn default() -> Self {
        Self { bound: FIRST, at_ease_ms: None, sum_ms: 0.0, answers: 0, busiest: 0 }
    }
}

impl Learnt {
    /// How many requests it may be asked now, from 1 to `most`.
    pub(super) fn bound(&self, most: u32) -> u32 {
        // It is at least 1 and at most a number of 32 bits.
        (self.bound.floor() as u32).clamp(1, most.max(1))
    }

    /// An answer has come after so long, while `active` were asked.
    pub(super) fn answered(&mut self, ms: u64, active: u32, most: u32) {
        // A millisecond is the least: a ratio to nothing says nothing.
        self.sum_ms += (ms as f64).max(1.0);
        self.answers += 1;
        self.busiest = self.busiest.max(active);
        if self.answers >= WINDOW.max(self.bound(most)) {
            self.learn(most);
        }
    }

    fn learn(&mut self, most: u32) {
        let mean = self.sum_ms / f64::from(self.answers);
        let used = f64::from(self.busiest) * 2.0 > self.bound;
        (self.sum_ms, self.answers, self.busiest) = (0.0, 0, 0);
        let at_ease = match self.at_ease_ms {
            Some(at_ease) if mean > at_ease => {
                let is_other = self.bound < LEAST && mean > TOLERANCE * at_ease;
                at_ease + (mean - at_ease) * if is_other { SOON } else { DRIFT }
            }
            _ => mean,
        };
        self.at_ease_ms = Some(at_ease);
        let gradient = (TOLERANCE * at_ease / mean).clamp(0.5, 1.0);
        // The root is the queue that the origin may have: without it nothing would show that it bears more.
        let room = if used { self.bound.sqrt() } else { 0.0 };
        let next = self.bound * gradient + room;
        self.bound = (self.bound + (next - self.bound) * STEP).clamp(1.0, f64::from(most.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 64;

    /// An origin with so many children, each of which takes so long: who finds none waits for one.
    fn asked(learnt: &mut Learnt, children: u32, ms: u64, answers: u32) {
        for _ in 0..answers {
            let active = learnt.bound(MOST);
            learnt.answered(ms * u64::from(active.div_ceil(children)), active, MOST);
        }
    }

    #[test]
    fn more_is_asked_of_an_origin_that_bears_it_and_never_more_than_the_bound() {
        let mut learnt = Learnt::default();
        assert_eq!(learnt.bound(MOST), 8);
        assert_eq!(learnt.bound(4), 4);
        asked(&mut learnt, 1000, 20, 10_000);
        assert_eq!(learnt.bound(MOST), MOST);
    }

    #[test]
    fn less_is_asked_of_an_origin_that_answers_later_and_more_again_when_it_has_recovered() {
        let mut learnt = Learnt::default();
        asked(&mut learnt, 1000, 20, 5_000);
        let before = learnt.bound(MOST);
        for _ in 0..1_000 {
            let active = learnt.bound(MOST);
            learnt.answered(400, active, MOST);
        }
        let slow = learnt.bound(MOST);
        assert!(slow * 3 < before, "{slow} of {before}");
        asked(&mut learnt, 1000, 20, 5_000);
        assert!(learnt.bound(MOST) > slow * 3);
    }

    #[test]
    fn cheap_answers_do_not_hold_the_others_up_for_long() {
        let mut learnt = Learnt::default();
        asked(&mut learnt, 20, 50, 5_000);
        for _ in 0..1_000 {
            learnt.answered(1, 4, MOST);
        }
        asked(&mut learnt, 20, 50, 2_000);
        assert!((16..=40).contains(&learnt.bound(MOST)), "{} for 20 children", learnt.bound(MOST));
    }

    #[test]
    fn bound_stays_near_what_an_origin_has_children_for() {
        let mut learnt = Learnt::default();
        asked(&mut learnt, 10, 50, 4_000);
        assert!((10..=40).contains(&learnt.bound(MOST)), "{}", learnt.bound(MOST));
    }

    #[test]
    fn quiet_times_teach_no_higher_bound() {
        let mut learnt = Learnt::default();
        for _ in 0..10_000 {
            learnt.answered(20, 1, MOST);
        }
        assert_eq!(learnt.bound(MOST), 8);
    }

    #[test]
    fn bound_never_falls_below_one() {
        let mut learnt = Learnt::default();
        learnt.answered(1, 1, 1);
        for ms in 1..100_000 {
            learnt.answered(ms, 1, 1);
        }
        assert_eq!(learnt.bound(1), 1);
    }
}
