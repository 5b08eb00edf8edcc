//! Coarse deadlines of connections, stored in one table per worker and checked by one task.
//!
//! A timer of the runtime would cost several registrations per request. Timeouts of an HTTP server last seconds and
//! rarely expire, so setting a deadline here is a single store. A task scans the slots every [`TICK_MS`]: ten thousand
//! slots are 40 KB of contiguous memory, which takes some microseconds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Interval in milliseconds at which a thread scans its table of deadlines. A deadline expires at most two intervals
/// late.
pub const TICK_MS: u64 = 50;
const OFF: u32 = u32::MAX;

struct TimerTable {
    /// Start time of tick 0.
    started: Instant,
    /// Tick at which the deadline of each slot expires; `OFF` if none is set.
    at: RefCell<Vec<u32>>,
    state: RefCell<Vec<SlotState>>,
    /// Slots that no deadline uses.
    free: RefCell<Vec<u32>>,
    armed: Cell<usize>,
    /// Set once the worker drains its connections.
    draining: Cell<bool>,
    epoch: Cell<u32>,
    ticking: Notify,
    tick: Cell<u32>,
}

#[derive(Default)]
struct SlotState {
    waker: Option<Waker>,
    expired: bool,
}

thread_local! {
    static TABLE: Rc<TimerTable> = Rc::new(TimerTable::new());
}

impl TimerTable {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            at: RefCell::default(),
            state: RefCell::default(),
            free: RefCell::default(),
            armed: Cell::new(0),
            draining: Cell::new(false),
            epoch: Cell::new(0),
            ticking: Notify::new(),
            tick: Cell::new(0),
        }
    }

    fn now_tick(&self) -> u32 {
        (self.started.elapsed().as_millis() as u64 / TICK_MS) as u32
    }
}

/// Deadline that can be set repeatedly: a slot in the table of this thread. Dropping it frees the slot.
pub struct Deadline {
    slot: u32,
}

impl Deadline {
    /// Allocates a slot in the table of deadlines of this thread without setting a deadline.
    pub fn new() -> Self {
        TABLE.with(|table| {
            let slot = table.free.borrow_mut().pop().unwrap_or_else(|| {
                table.at.borrow_mut().push(OFF);
                table.state.borrow_mut().push(SlotState::default());
                table.at.borrow().len() as u32 - 1
            });
            Self { slot }
        })
    }

    /// Sets the deadline to `ms` milliseconds from now; 0 clears the deadline. Returns the current tick.
    pub fn set(&self, ms: u64) -> u32 {
        TABLE.with(|table| {
            if ms != 0 && table.armed.get() == 0 {
                // The tick is not updated while no deadline is set.
                table.tick.set(table.now_tick());
            }
            let ticks = (ms.div_ceil(TICK_MS) + 1).min(u64::from(u32::MAX / 2)) as u32;
            let at = if ms == 0 { OFF } else { table.tick.get().wrapping_add(ticks) };
            let previous = std::mem::replace(&mut table.at.borrow_mut()[self.slot as usize], at);
            match (previous == OFF, at == OFF) {
                (true, false) => {
                    table.armed.set(table.armed.get() + 1);
                    if table.armed.get() == 1 {
                        table.ticking.notify_one();
                    }
                }
                (false, true) => table.armed.set(table.armed.get() - 1),
                _ => {}
            }
            table.state.borrow_mut()[self.slot as usize].expired = false;
            table.tick.get()
        })
    }

    /// Clears the deadline, even if it has expired: [`Self::poll_expired`] then returns pending.
    pub fn clear(&self) {
        self.set(0);
    }

    /// Returns ready once the deadline has expired. The task of `cx` is woken on expiry, and by [`drain`] and
    /// [`start_epoch`].
    pub fn poll_expired(&self, cx: &Context<'_>) -> Poll<()> {
        TABLE.with(|table| {
            let state = &mut table.state.borrow_mut()[self.slot as usize];
            if state.expired {
                return Poll::Ready(());
            }
            match &state.waker {
                Some(waker) if waker.will_wake(cx.waker()) => {}
                _ => state.waker = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
    }
}

impl Default for Deadline {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clear();
        // Dropping a waker here may drop a task, which frees its own slot: no borrow may be active then.
        let freed = TABLE.try_with(|table| {
            table.free.borrow_mut().push(self.slot);
            std::mem::take(&mut table.state.borrow_mut()[self.slot as usize])
        });
        drop(freed);
    }
}

/// Returns the number of ticks of [`TICK_MS`] since the table of this thread was created: as of the last scan while any
/// deadline is set, otherwise as of now.
pub(crate) fn tick() -> u32 {
    TABLE.with(|table| {
        if table.armed.get() == 0 {
            // The tick is not updated while no deadline is set.
            table.tick.set(table.now_tick());
        }
        table.tick.get()
    })
}

/// Returns true if this worker drains (it is shutting down): idle connections close, busy connections close after their
/// response. An HTTP/1 connection that has not sent a request yet may still send one.
pub fn draining() -> bool {
    TABLE.with(|table| table.draining.get())
}

/// Starts to drain this worker: wakes all connections, so that idle connections close, and busy connections close after
/// their response.
pub fn drain() {
    TABLE.with(|table| {
        table.draining.set(true);
        wake_slots(table, |_| true, false);
    });
}

/// Returns the number of configuration reloads that this worker has applied.
pub fn epoch() -> u32 {
    TABLE.with(|table| table.epoch.get())
}

/// Records a configuration reload and wakes all connections. HTTP/2 and HTTP/3 connections then send a GOAWAY, so that
/// their clients reconnect.
pub fn start_epoch() {
    TABLE.with(|table| {
        table.epoch.set(table.epoch.get().wrapping_add(1));
        wake_slots(table, |_| true, false);
    });
}

/// Scans the table of deadlines of this thread and wakes the tasks of expired ones; never returns. Spawned once when a
/// worker starts.
pub async fn run() {
    let table = TABLE.with(Rc::clone);
    loop {
        if table.armed.get() == 0 {
            table.ticking.notified().await;
        }
        tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
        crate::test_panic::test_panic("deadlines");
        let now = table.now_tick();
        table.tick.set(now);
        wake_slots(&table, |at| at != OFF && at <= now, true);
    }
}

fn wake_slots(table: &TimerTable, due: impl Fn(u32) -> bool, expire: bool) {
    let mut woken = Vec::new();
    {
        let mut at = table.at.borrow_mut();
        let mut states = table.state.borrow_mut();
        for (at, state) in at.iter_mut().zip(states.iter_mut()) {
            if due(*at) {
                if expire {
                    state.expired = true;
                    *at = OFF;
                    table.armed.set(table.armed.get() - 1);
                }
                woken.extend(state.waker.clone());
            }
        }
    }
    for waker in woken {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    fn on_worker(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .expect("a runtime");
        runtime.block_on(async {
            tokio::task::spawn_local(run());
            test.await;
        });
    }

    #[test]
    fn armed_slot_fires_and_cleared_slot_does_not() {
        on_worker(async {
            let fires = Deadline::new();
            let cleared = Deadline::new();
            fires.set(60);
            cleared.set(60);
            cleared.clear();
            poll_fn(|cx| fires.poll_expired(cx)).await;
            assert!(poll_fn(|cx| Poll::Ready(cleared.poll_expired(cx).is_pending())).await);
        });
    }

    #[test]
    fn rearming_takes_back_an_expiry() {
        on_worker(async {
            let slot = Deadline::new();
            slot.set(1);
            poll_fn(|cx| slot.poll_expired(cx)).await;
            slot.set(10_000);
            assert!(poll_fn(|cx| Poll::Ready(slot.poll_expired(cx).is_pending())).await);
        });
    }

    #[test]
    fn a_quiet_time_does_not_count_against_the_next_deadline() {
        on_worker(async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let slot = Deadline::new();
            let began = std::time::Instant::now();
            slot.set(350);
            poll_fn(|cx| slot.poll_expired(cx)).await;
            assert!(began.elapsed() >= Duration::from_millis(300), "it fired before its time");
        });
    }

    #[test]
    fn slots_are_reused() {
        on_worker(async {
            let first = Deadline::new().slot;
            assert_eq!(Deadline::new().slot, first);
        });
    }
}
