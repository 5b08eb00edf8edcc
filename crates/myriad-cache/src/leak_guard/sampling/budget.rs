//! Budget of the time that origins spend on sampled verifications.

use std::sync::LazyLock;

use parking_lot::Mutex;

/// Maximum time in milliseconds that is saved up while there are no verifications, and that may be owed after long responses.
const MAX_SAVED_MS: f64 = 10_000.0;

/// Time of origins, in milliseconds, that verifications of this process may use; negative after longer responses.
struct Budget {
    saved_ms: f64,
    at_ms: u64,
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget { saved_ms: MAX_SAVED_MS, at_ms: 0 });
static CORES: LazyLock<f64> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64));

/// Returns true if the budget is not used up. `ppm` is the part of the time of each core, in millionths.
pub(super) fn has_time(ppm: u32, now_ms: u64) -> bool {
    let mut budget = BUDGET.lock();
    budget.refill(f64::from(ppm) / 1e6 * *CORES, now_ms);
    budget.saved_ms > 0.0
}

/// Charges the time of a response, in milliseconds.
pub(super) fn charge(ms: u64) {
    let mut budget = BUDGET.lock();
    budget.saved_ms = (budget.saved_ms - ms as f64).max(-MAX_SAVED_MS);
}

impl Budget {
    fn refill(&mut self, part: f64, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.at_ms) as f64;
        self.at_ms = now_ms;
        self.saved_ms = (self.saved_ms + passed * part).min(MAX_SAVED_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_the_time_is_saved_up_to_ten_seconds() {
        let mut budget = Budget { saved_ms: -100.0, at_ms: 1000 };
        budget.refill(0.01, 6000);
        assert!((budget.saved_ms - -50.0).abs() < 0.001, "{}", budget.saved_ms);
        budget.refill(0.01, 100_000_000);
        assert!((budget.saved_ms - MAX_SAVED_MS).abs() < 0.001);
    }
}
