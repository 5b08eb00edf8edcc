//! Timeouts that rarely expire: each has a slot in a thread-local table, and a single runtime timer serves all slots.
//!
//! A separate runtime timer for each waiting request is expensive: it is created, inserted into a timer wheel, removed
//! from it, and reads the clock. Timeouts of origins are seconds long and mostly equal, so arming a slot is usually a
//! single store. The runtime timer remains at the time that was once the earliest; it is moved when it fires or when an
//! earlier timeout is set.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock;

/// Expiry time of a free slot in the alarm table; a free slot never expires.
const FREE: u64 = u64::MAX;
/// Maximum sleep of the alarm task in milliseconds, so that any time fits into the timer.
const MAX_SLEEP_MS: u64 = 3_600_000;

#[derive(Default)]
struct AlarmTable {
    slots: Vec<AlarmSlot>,
    free: Vec<usize>,
    /// Next wake-up time of the alarm task in units of [`clock::now`]; `None` if the task is not running.
    next_wake: Option<u64>,
    /// Waker of the alarm task, for an alarm that is set to expire before `next_wake`; `None` if the task is not
    /// running or was just woken.
    task: Option<Waker>,
}

struct AlarmSlot {
    /// Expiry time of the alarm, in units of [`clock::now`].
    at: u64,
    waker: Option<Waker>,
}

thread_local! {
    static TABLE: RefCell<AlarmTable> = RefCell::default();
}

/// Alarm of this thread: an armed slot of the table [`TABLE`], freed on drop.
#[derive(Debug)]
pub(crate) struct Alarm(usize);

impl Alarm {
    /// Allocates a slot that expires `ms` milliseconds from now. Must be called within a Tokio runtime that stays on
    /// this thread.
    pub(crate) fn new(ms: u64) -> Self {
        let slot = TABLE.with_borrow_mut(|table| {
            table.free.pop().unwrap_or_else(|| {
                table.slots.push(AlarmSlot { at: FREE, waker: None });
                table.slots.len() - 1
            })
        });
        let alarm = Self(slot);
        alarm.set(ms);
        alarm
    }

    /// Sets the expiry to `ms` milliseconds from now and replaces the previous time.
    pub(crate) fn set(&self, ms: u64) {
        // The current millisecond of the clock may have started earlier, so one is added.
        let at = clock::now().saturating_add(ms).saturating_add(1).min(FREE - 1);
        let (starts, task) = TABLE.with_borrow_mut(|table| {
            table.slots[self.0].at = at;
            match table.next_wake {
                Some(wakes) if wakes <= at => (false, None),
                wakes => {
                    table.next_wake = Some(at);
                    (wakes.is_none(), table.task.take())
                }
            }
        });
        if let Some(task) = task {
            task.wake();
        }
        if starts {
            tokio::spawn(run_alarms(AlarmTaskGuard));
        }
    }

    /// Returns `Ready` if the alarm has expired, otherwise registers the task of `cx` to be woken.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let now = clock::now();
        let (polled, replaced) = TABLE.with_borrow_mut(|table| {
            let slot = &mut table.slots[self.0];
            match &slot.waker {
                _ if slot.at <= now => (Poll::Ready(()), None),
                Some(waker) if waker.will_wake(cx.waker()) => (Poll::Pending, None),
                _ => (Poll::Pending, slot.waker.replace(cx.waker().clone())),
            }
        });
        // Dropping a waker can drop a task that owns an alarm, so the table must not be borrowed here.
        drop(replaced);
        polled
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let freed = TABLE.try_with(|table| {
            let mut table = table.borrow_mut();
            table.free.push(self.0);
            std::mem::replace(&mut table.slots[self.0], AlarmSlot { at: FREE, waker: None })
        });
        drop(freed);
    }
}

impl AlarmTable {
    /// Returns the wakers of the alarms that have expired at `now`, and sets `next_wake` to the earliest remaining
    /// expiry; to `None` if no alarm is set.
    fn take_expired(&mut self, now: u64) -> Vec<Waker> {
        let mut due = Vec::new();
        let mut next = FREE;
        for slot in &mut self.slots {
            if slot.at <= now {
                due.extend(slot.waker.take());
            } else {
                next = next.min(slot.at);
            }
        }
        self.next_wake = (next != FREE).then_some(next);
        due
    }
}

/// Guard owned by the alarm task: marks the task as not running when the task ends or is dropped with its runtime.
struct AlarmTaskGuard;

impl Drop for AlarmTaskGuard {
    fn drop(&mut self) {
        let task = TABLE.try_with(|table| {
            let mut table = table.borrow_mut();
            table.next_wake = None;
            table.task.take()
        });
        drop(task);
    }
}

/// Wakes the owners of expired alarms until no alarm is set.
async fn run_alarms(_guard: AlarmTaskGuard) {
    loop {
        sleep_until_due().await;
        let now = clock::now();
        TABLE.with_borrow_mut(|table| table.take_expired(now)).into_iter().for_each(Waker::wake);
        if TABLE.with_borrow(|table| table.next_wake.is_none()) {
            return;
        }
    }
}

/// Sleeps until the next wake-up time, which may move to an earlier time meanwhile.
async fn sleep_until_due() {
    let mut sleep = pin!(tokio::time::sleep(Duration::ZERO));
    let mut set_for = None;
    poll_fn(|cx| {
        let wakes = TABLE.with_borrow_mut(|table| {
            table.task = Some(cx.waker().clone());
            table.next_wake.unwrap_or_default()
        });
        if set_for != Some(wakes) {
            set_for = Some(wakes);
            let ms = wakes.saturating_sub(clock::now()).min(MAX_SLEEP_MS);
            sleep.as_mut().reset(Instant::now() + Duration::from_millis(ms));
        }
        sleep.as_mut().poll(cx)
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_worker(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().expect("a runtime").block_on(test);
    }

    async fn rings(alarm: &Alarm) {
        poll_fn(|cx| alarm.poll(cx)).await;
    }

    #[test]
    fn alarm_never_rings_early() {
        on_worker(async {
            let later = Alarm::new(60_000);
            for ms in [0, 1, 49, 50, 120, 51] {
                let began = Instant::now();
                rings(&Alarm::new(ms)).await;
                assert!(began.elapsed() >= Duration::from_millis(ms), "before {ms} ms have passed");
            }
            assert!(poll_fn(|cx| Poll::Ready(later.poll(cx))).await.is_pending());
        });
    }

    #[test]
    fn alarm_that_is_set_again_counts_from_then_on() {
        on_worker(async {
            let alarm = Alarm::new(60_000);
            assert!(poll_fn(|cx| Poll::Ready(alarm.poll(cx))).await.is_pending());
            // By now, the task sleeps for a longer time than this alarm.
            tokio::task::yield_now().await;
            alarm.set(20);
            rings(&alarm).await;
            alarm.set(60_000);
            assert!(poll_fn(|cx| Poll::Ready(alarm.poll(cx))).await.is_pending());
        });
    }

    #[test]
    fn alarm_task_stops_without_alarms_and_restarts_with_next_alarm() {
        on_worker(async {
            let first = Alarm::new(20);
            let second = Alarm::new(10);
            assert_ne!(first.0, second.0);
            drop((first, second));
            while TABLE.with_borrow(|table| table.next_wake.is_some()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            rings(&Alarm::new(10)).await;
        });
    }

    #[test]
    fn runtime_may_end_before_its_alarms() {
        let mut left = None;
        on_worker(async { left = Some(Alarm::new(60_000)) });
        on_worker(async { rings(&Alarm::new(10)).await });
        drop(left);
    }
}
