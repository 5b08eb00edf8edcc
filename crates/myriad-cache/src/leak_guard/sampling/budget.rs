//! Budgets of the time that origins spend on sampled verifications: one for each value of `budget=` in the process.

use std::sync::LazyLock;

use parking_lot::Mutex;

/// Maximum time in milliseconds that is saved up while there are no verifications, and that may be owed after long
/// responses.
const MAX_SAVED_MS: f64 = 10_000.0;
/// Time in milliseconds that is reserved for a verification in progress, so that many do not begin at once.
const RESERVED_MS: f64 = 1_000.0;

static BUDGETS: Mutex<Vec<Budget>> = Mutex::new(Vec::new());
static CORES: LazyLock<f64> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64));

/// Time of origins, in milliseconds, that verifications may use; negative after longer responses.
#[derive(Debug)]
struct Budget {
    /// Part of the time of each core, in millionths.
    ppm: u32,
    saved_ms: f64,
    at_ms: u64,
}

/// Part of a budget that is reserved for a verification in progress. Dropping it returns the part; the time of responses is
/// charged separately.
pub(super) struct Reservation(u32);

impl Drop for Reservation {
    fn drop(&mut self) {
        change(self.0, RESERVED_MS);
    }
}

/// Reserves time for a verification; `None` if the budget is used up. `ppm` is the part of the time of each core, in
/// millionths.
pub(super) fn reserve(ppm: u32, now_ms: u64) -> Option<Reservation> {
    let mut budgets = BUDGETS.lock();
    let budget = budget_of(&mut budgets, ppm, now_ms);
    budget.refill(*CORES, now_ms);
    if budget.saved_ms <= 0.0 {
        return None;
    }
    budget.saved_ms -= RESERVED_MS;
    Some(Reservation(ppm))
}

/// Charges the time of a response, in milliseconds.
pub(super) fn charge(ppm: u32, ms: u64) {
    change(ppm, -(ms as f64));
}

fn change(ppm: u32, ms: f64) {
    if let Some(budget) = BUDGETS.lock().iter_mut().find(|budget| budget.ppm == ppm) {
        budget.saved_ms = (budget.saved_ms + ms).clamp(-MAX_SAVED_MS, MAX_SAVED_MS);
    }
}

/// Returns the budget with this part. A new budget begins with [`MAX_SAVED_MS`].
fn budget_of(budgets: &mut Vec<Budget>, ppm: u32, now_ms: u64) -> &mut Budget {
    let index = budgets.iter().position(|budget| budget.ppm == ppm).unwrap_or_else(|| {
        budgets.push(Budget { ppm, saved_ms: MAX_SAVED_MS, at_ms: now_ms });
        budgets.len() - 1
    });
    &mut budgets[index]
}

impl Budget {
    fn refill(&mut self, cores: f64, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.at_ms) as f64;
        self.at_ms = now_ms;
        self.saved_ms = (self.saved_ms + passed * f64::from(self.ppm) / 1e6 * cores).min(MAX_SAVED_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 0.001
    }

    #[test]
    fn part_of_the_time_is_saved_up_to_ten_seconds() {
        let mut budget = Budget { ppm: 10_000, saved_ms: -100.0, at_ms: 1000 };
        budget.refill(2.0, 6000);
        assert!(is_near(budget.saved_ms, 0.0), "{}", budget.saved_ms);
        budget.refill(1.0, 100_000_000);
        assert!(is_near(budget.saved_ms, MAX_SAVED_MS));
    }

    #[test]
    fn verifications_in_progress_and_long_responses_use_up_a_budget() {
        // No other test has this part.
        let (ppm, now) = (777, 1000);
        let running: Vec<_> = std::iter::from_fn(|| reserve(ppm, now)).collect();
        assert_eq!(running.len(), 10);
        drop(running);
        charge(ppm, 60_000);
        assert!(reserve(ppm, now).is_none());
        charge(ppm, 60_000);
        // At most ten seconds are owed.
        let cores = *CORES;
        let later = now + (MAX_SAVED_MS / (f64::from(ppm) / 1e6 * cores)) as u64;
        assert!(reserve(ppm, later - 10_000).is_none() && reserve(ppm, later + 10_000).is_some());
        assert!(reserve(778, now).is_some(), "another budget");
    }
}
