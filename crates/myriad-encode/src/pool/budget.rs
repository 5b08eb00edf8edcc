//! CPU budget of a compression pool: a token bucket of CPU time.

use std::time::{Duration, Instant};

/// Minimum rate of a CPU budget in cores. A pool that never ran would never free the memory of its queued jobs.
const LEAST_RATE: f64 = 0.001;

/// CPU budget of a pool's threads (a token bucket). The caller passes the current time; no clock is read.
pub(super) struct CpuBudget {
    /// CPU time by which the budget grows, in cores (seconds per second).
    rate: f64,
    /// Maximum CPU time that the budget can accumulate, in seconds.
    burst: f64,
    /// Available seconds of CPU time; negative if a job took more than was available.
    level: f64,
    filled: Instant,
}

impl CpuBudget {
    /// Creates a budget from which `burst` of CPU time can be spent at once. `rate` is the CPU time added per second,
    /// in cores; [`LEAST_RATE`] is used if it is lower or not finite.
    pub(super) fn new(rate: f64, burst: Duration, now: Instant) -> CpuBudget {
        let rate = if rate.is_finite() { rate.max(LEAST_RATE) } else { LEAST_RATE };
        let burst = burst.as_secs_f64();
        CpuBudget { rate, burst, level: burst, filled: now }
    }

    /// Adds the CPU time for the period since the last call. Returns the time to wait before the next call, at most a
    /// minute; `None` if a job may start now.
    pub(super) fn pause(&mut self, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = self.filled.max(now);
        self.level = (self.level + elapsed * self.rate).min(self.burst);
        // The cost of a job is known only afterwards. A job may start while the level is not negative.
        (self.level < 0.0).then(|| Duration::from_secs_f64((-self.level / self.rate).clamp(1e-4, 60.0)))
    }

    /// Subtracts the CPU time used by a job.
    pub(super) fn spend(&mut self, cpu: Duration) {
        self.level -= cpu.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_used_over_time_stays_within_rate_and_burst() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let rate = 0.01 + random.f64() * 1.5;
            let burst = Duration::from_millis(random.u64(0..500));
            let start = Instant::now();
            let mut budget = CpuBudget::new(rate, burst, start);
            let (mut now, mut used, mut dearest) = (start, 0.0, 0.0f64);
            for _ in 0..500 {
                if let Some(pause) = budget.pause(now) {
                    now += pause;
                    continue;
                }
                let cost = Duration::from_micros(random.u64(0..50_000));
                budget.spend(cost);
                used += cost.as_secs_f64();
                dearest = dearest.max(cost.as_secs_f64());
                now += cost;
                let allowed = rate * (now - start).as_secs_f64() + burst.as_secs_f64() + dearest;
                assert!(used <= allowed + 1e-6, "seed {seed}: {used} of {allowed}");
            }
            assert!(used > 0.0, "seed {seed}");
        }
    }

    #[test]
    fn a_pause_is_exactly_what_pays_the_debt() {
        let start = Instant::now();
        let mut budget = CpuBudget::new(0.2, Duration::ZERO, start);
        assert_eq!(budget.pause(start), None);
        budget.spend(Duration::from_millis(100));
        let pause = budget.pause(start).expect("in debt");
        assert!((pause.as_secs_f64() - 0.5).abs() < 1e-6, "{pause:?}");
        assert!(budget.pause(start + pause / 2).is_some());
        assert_eq!(budget.pause(start + pause + Duration::from_micros(1)), None);
    }

    #[test]
    fn a_senseless_rate_still_lets_jobs_run_in_the_end() {
        for rate in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let mut now = Instant::now();
            let mut budget = CpuBudget::new(rate, Duration::ZERO, now);
            budget.spend(Duration::from_millis(1));
            for _ in 0..3 {
                if let Some(pause) = budget.pause(now) {
                    now += pause;
                }
            }
            assert_eq!(budget.pause(now + Duration::from_millis(1)), None, "{rate}");
        }
    }
}
