//! Budgets of background work: a part of the time of a core, or of all cores.

use std::sync::LazyLock;

use parking_lot::Mutex;

static CORES: LazyLock<f64> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64));

/// Budgets of one kind of work in the process: one for each part of the time that the configuration permits.
pub(crate) struct WorkBudgets {
    budgets: Mutex<Vec<Budget>>,
    /// True if a part refers to the time of all cores together, false if it refers to the time of one core.
    is_of_all_cores: bool,
    /// Maximum time in milliseconds that is saved up while there is no work, and that may be owed after long work.
    max_saved_ms: f64,
    /// Time in milliseconds that is reserved for each work in progress, so that not too much work starts at the same
    /// time.
    reserved_ms: f64,
}

/// Budget for one part of the time. `saved_ms` is the time in milliseconds that work may use; negative after work that
/// used more than was saved.
#[derive(Debug)]
struct Budget {
    /// Part of the time of one core or of all cores that work may use, in millionths.
    ppm: u32,
    saved_ms: f64,
    at_ms: u64,
}

/// Part of a budget that is reserved for work in progress. Dropping it returns the part; the time of the work is
/// charged separately.
pub(crate) struct Reservation {
    budgets: &'static WorkBudgets,
    ppm: u32,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budgets.change(self.ppm, self.budgets.reserved_ms);
    }
}

impl WorkBudgets {
    /// Creates an empty list of budgets. Each parameter is the value of the field of the same name.
    pub(crate) const fn new(is_of_all_cores: bool, max_saved_ms: f64, reserved_ms: f64) -> Self {
        Self { budgets: Mutex::new(Vec::new()), is_of_all_cores, max_saved_ms, reserved_ms }
    }

    /// Reserves time for work; `None` if the budget is used up. `ppm` is the part of the time that all such work may
    /// use, in millionths; each part has its own budget.
    pub(crate) fn reserve(&'static self, ppm: u32, now_ms: u64) -> Option<Reservation> {
        let mut budgets = self.budgets.lock();
        let budget = self.budget_of(&mut budgets, ppm, now_ms);
        budget.refill(if self.is_of_all_cores { *CORES } else { 1.0 }, self.max_saved_ms, now_ms);
        if budget.saved_ms <= 0.0 {
            return None;
        }
        budget.saved_ms -= self.reserved_ms;
        Some(Reservation { budgets: self, ppm })
    }

    /// Subtracts the time of finished work, in milliseconds, from the budget with the part `ppm`. Does nothing if
    /// nothing was ever reserved from it.
    pub(crate) fn charge(&self, ppm: u32, ms: u64) {
        self.change(ppm, -(ms as f64));
    }

    fn change(&self, ppm: u32, ms: f64) {
        if let Some(budget) = self.budgets.lock().iter_mut().find(|budget| budget.ppm == ppm) {
            budget.saved_ms = (budget.saved_ms + ms).clamp(-self.max_saved_ms, self.max_saved_ms);
        }
    }

    /// Returns the budget with the part `ppm`. A new budget begins with the maximum saved time.
    fn budget_of<'a>(&self, budgets: &'a mut Vec<Budget>, ppm: u32, now_ms: u64) -> &'a mut Budget {
        let index = budgets.iter().position(|budget| budget.ppm == ppm).unwrap_or_else(|| {
            budgets.push(Budget { ppm, saved_ms: self.max_saved_ms, at_ms: now_ms });
            budgets.len() - 1
        });
        &mut budgets[index]
    }
}

impl Budget {
    fn refill(&mut self, cores: f64, max_saved_ms: f64, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.at_ms) as f64;
        self.at_ms = now_ms;
        self.saved_ms = (self.saved_ms + passed * f64::from(self.ppm) / 1e6 * cores).min(max_saved_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 0.001
    }

    #[test]
    fn part_of_the_time_is_saved_up_to_the_maximum() {
        let mut budget = Budget { ppm: 10_000, saved_ms: -100.0, at_ms: 1000 };
        budget.refill(2.0, 10_000.0, 6000);
        assert!(is_near(budget.saved_ms, 0.0), "{}", budget.saved_ms);
        budget.refill(1.0, 10_000.0, 100_000_000);
        assert!(is_near(budget.saved_ms, 10_000.0));
    }

    #[test]
    fn work_in_progress_and_long_work_use_up_a_budget() {
        static BUDGETS: WorkBudgets = WorkBudgets::new(true, 10_000.0, 1_000.0);
        let (ppm, now) = (777, 1000);
        let running: Vec<_> = std::iter::from_fn(|| BUDGETS.reserve(ppm, now)).collect();
        assert_eq!(running.len(), 10);
        drop(running);
        BUDGETS.charge(ppm, 60_000);
        assert!(BUDGETS.reserve(ppm, now).is_none());
        BUDGETS.charge(ppm, 60_000);
        // At most ten seconds are owed.
        let later = now + (10_000.0 / (f64::from(ppm) / 1e6 * *CORES)) as u64;
        assert!(
            BUDGETS.reserve(ppm, later - 10_000).is_none() && BUDGETS.reserve(ppm, later + 10_000).is_some()
        );
        assert!(BUDGETS.reserve(778, now).is_some(), "another budget");
    }
}
