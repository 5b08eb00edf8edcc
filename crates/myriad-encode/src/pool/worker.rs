//! Thread of a compression pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

use super::queue::{CompressionJob, PoolShared, PoolState};

/// Runs jobs in this thread, with the niceness `niceness`, until the pool stops.
pub(super) fn run(shared: &PoolShared, niceness: i32) {
    lower_priority(niceness);
    let mut collections = 0;
    while let Some((key, job)) = next(shared, &mut collections) {
        let before = thread_cpu();
        let succeeded = catch_unwind(AssertUnwindSafe(job)).is_ok();
        let spent = thread_cpu().saturating_sub(before);
        let mut state = shared.state.lock();
        state.running.retain(|running| *running != key);
        state.budget.spend(spent);
        state.counters.cpu += spent;
        if succeeded {
            state.counters.done += 1;
        } else {
            state.counters.panicked += 1;
        }
    }
}

/// Waits for a job that the budget allows; `None` once the pool is stopped.
fn next(shared: &PoolShared, collections: &mut u64) -> Option<(u64, CompressionJob)> {
    let mut state: MutexGuard<'_, PoolState> = shared.state.lock();
    loop {
        if state.stopping {
            return None;
        }
        if state.collections != *collections {
            *collections = state.collections;
            MutexGuard::unlocked(&mut state, myriad_base::memory::collect_freed_blocks);
            continue;
        }
        if state.waiting.is_empty() {
            shared.wake.wait(&mut state);
            continue;
        }
        if let Some(pause) = state.budget.pause(Instant::now()) {
            shared.wake.wait_for(&mut state, pause);
            continue;
        }
        let (key, job) = state.waiting.pop_front()?;
        state.running.push(key);
        return Some((key, job));
    }
}

/// Lowers the priority of this thread. On Linux niceness is per thread, so the workers are not affected.
#[cfg(target_os = "linux")]
fn lower_priority(niceness: i32) {
    // Errors are ignored; the budget limits the pool anyway.
    let _ = setpriority_process(None, niceness.clamp(0, 19));
}

/// Does nothing on other systems, where niceness applies to the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority(_niceness: i32) {}

/// Returns the CPU time used by this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
