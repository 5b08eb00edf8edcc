//! Number of concurrent requests that an origin can process, learned from its response times.
//!
//! An overloaded origin responds later to every request. The response times are therefore compared with those of the
//! unloaded origin: the bound grows while they are similar, and shrinks if they are longer.
//!
//! Times are means of a window of many responses: the times of single responses differ by a factor of a hundred, the
//! means of windows do not.

/// Initial bound of concurrent requests to an origin (`concurrency=auto`).
const FIRST: f64 = 8.0;
/// Minimum number of responses in a measurement window, after which the bound is computed. A window has at least as
/// many responses as the bound, so that each slot contributes.
const WINDOW: u32 = 16;
/// Factor by which responses may be slower than those of the unloaded origin before the bound shrinks. Normal variation
/// between windows is smaller.
const TOLERANCE: f64 = 2.0;
/// Fraction of the distance to the computed bound that one window applies.
const STEP: f64 = 0.3;
/// Fraction by which the time of the unloaded origin follows slower times per window. A site that has become
/// permanently slower has a new reference after some thousand windows.
const DRIFT: f64 = 1.0 / 1024.0;

/// Bound below which slow responses are not caused by concurrency. With slow responses the bound converges to 4 (half
/// of it plus its square root). If responses are still slow at this bound, the workload has changed: expensive pages
/// are requested now, and cheap pages were requested when the reference was measured, for example at night. Then the
/// reference follows faster (`SOON`), within some ten windows.
const LEAST: f64 = 5.0;
const SOON: f64 = 1.0 / 16.0;

/// Bound of concurrent requests to one origin, and the measurements from which it is computed.
#[derive(Debug)]
pub(super) struct LearnedLimit {
    bound: f64,
    /// Reference: mean response time of the unloaded origin, in milliseconds; `None` before the end of the first
    /// window.
    unloaded_ms: Option<f64>,
    /// Sum of the response times of the current window, in milliseconds.
    sum_ms: f64,
    /// Number of responses in the current window.
    answers: u32,
    /// Maximum number of concurrent requests in the current window.
    busiest: u32,
}

impl Default for LearnedLimit {
    fn default() -> Self {
        Self { bound: FIRST, unloaded_ms: None, sum_ms: 0.0, answers: 0, busiest: 0 }
    }
}

impl LearnedLimit {
    /// Returns the current bound of concurrent requests, from 1 to `most`.
    pub(super) fn bound(&self, most: u32) -> u32 {
        // The bound is at least 1 and fits into 32 bits.
        (self.bound.floor() as u32).clamp(1, most.max(1))
    }

    /// Records a response that took `ms` milliseconds while `active` requests were in flight, and adjusts the bound
    /// after the last response of a window. `most` is the maximum of the bound.
    pub(super) fn record_response(&mut self, ms: u64, active: u32, most: u32) {
        // A time of 0 would make the ratio of two times undefined.
        self.sum_ms += (ms as f64).max(1.0);
        self.answers += 1;
        self.busiest = self.busiest.max(active);
        if self.answers >= WINDOW.max(self.bound(most)) {
            self.adjust(most);
        }
    }

    fn adjust(&mut self, most: u32) {
        let mean = self.sum_ms / f64::from(self.answers);
        let used = f64::from(self.busiest) * 2.0 > self.bound;
        (self.sum_ms, self.answers, self.busiest) = (0.0, 0, 0);
        let at_ease = match self.unloaded_ms {
            Some(at_ease) if mean > at_ease => {
                let is_other = self.bound < LEAST && mean > TOLERANCE * at_ease;
                at_ease + (mean - at_ease) * if is_other { SOON } else { DRIFT }
            }
            _ => mean,
        };
        self.unloaded_ms = Some(at_ease);
        let gradient = (TOLERANCE * at_ease / mean).clamp(0.5, 1.0);
        // The square root is the queue that the origin may build up: without it, a bound that is too low would never
        // grow.
        let room = if used { self.bound.sqrt() } else { 0.0 };
        let next = self.bound * gradient + room;
        self.bound = (self.bound + (next - self.bound) * STEP).clamp(1.0, f64::from(most.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 64;

    /// Simulates `answers` responses of an origin with `children` children, each of which takes `ms`; a request without
    /// a free child waits for one.
    fn simulate_responses(learnt: &mut LearnedLimit, children: u32, ms: u64, answers: u32) {
        for _ in 0..answers {
            let active = learnt.bound(MOST);
            learnt.record_response(ms * u64::from(active.div_ceil(children)), active, MOST);
        }
    }

    #[test]
    fn more_is_asked_of_an_origin_that_bears_it_and_never_more_than_the_bound() {
        let mut learnt = LearnedLimit::default();
        assert_eq!(learnt.bound(MOST), 8);
        assert_eq!(learnt.bound(4), 4);
        simulate_responses(&mut learnt, 1000, 20, 10_000);
        assert_eq!(learnt.bound(MOST), MOST);
    }

    #[test]
    fn less_is_asked_of_an_origin_that_answers_later_and_more_again_when_it_has_recovered() {
        let mut learnt = LearnedLimit::default();
        simulate_responses(&mut learnt, 1000, 20, 5_000);
        let before = learnt.bound(MOST);
        for _ in 0..1_000 {
            let active = learnt.bound(MOST);
            learnt.record_response(400, active, MOST);
        }
        let slow = learnt.bound(MOST);
        assert!(slow * 3 < before, "{slow} of {before}");
        simulate_responses(&mut learnt, 1000, 20, 5_000);
        assert!(learnt.bound(MOST) > slow * 3);
    }

    #[test]
    fn cheap_answers_do_not_hold_the_others_up_for_long() {
        let mut learnt = LearnedLimit::default();
        simulate_responses(&mut learnt, 20, 50, 5_000);
        for _ in 0..1_000 {
            learnt.record_response(1, 4, MOST);
        }
        simulate_responses(&mut learnt, 20, 50, 2_000);
        assert!((16..=40).contains(&learnt.bound(MOST)), "{} for 20 children", learnt.bound(MOST));
    }

    #[test]
    fn bound_stays_near_what_an_origin_has_children_for() {
        let mut learnt = LearnedLimit::default();
        simulate_responses(&mut learnt, 10, 50, 4_000);
        assert!((10..=40).contains(&learnt.bound(MOST)), "{}", learnt.bound(MOST));
    }

    #[test]
    fn quiet_times_teach_no_higher_bound() {
        let mut learnt = LearnedLimit::default();
        for _ in 0..10_000 {
            learnt.record_response(20, 1, MOST);
        }
        assert_eq!(learnt.bound(MOST), 8);
    }

    #[test]
    fn bound_never_falls_below_one() {
        let mut learnt = LearnedLimit::default();
        learnt.record_response(1, 1, 1);
        for ms in 1..100_000 {
            learnt.record_response(ms, 1, 1);
        }
        assert_eq!(learnt.bound(1), 1);
    }
}
