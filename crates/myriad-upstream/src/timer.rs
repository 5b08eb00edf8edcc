//! A time-out between two steps forward.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::alarm::Alarm;

/// Longest time-out, so that no configured value overflows the clock.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// A time-out as it was configured, or the longest.
pub(crate) fn bounded(limit_ms: u64) -> Duration {
    Duration::from_millis(limit_ms).min(LONGEST)
}

/// The shortest time-out that shares a timer with others, in milliseconds: each that is shorter than those before it moves that timer.
const SHARED: u64 = 1000;

/// Expires when nothing moved for a while. The timer is made when there is first something to wait for, and moved, not made again, from
/// then on.
#[derive(Debug)]
pub(crate) struct Stall {
    limit_ms: u64,
    timer: Timer,
    running: bool,
}

#[derive(Debug)]
enum Timer {
    /// There was nothing to wait for.
    Unmade,
    Shared(Alarm),
    Own(Pin<Box<Sleep>>),
}

impl Stall {
    pub(crate) fn new(limit_ms: u64) -> Self {
        Self { limit_ms, timer: Timer::Unmade, running: false }
    }

    /// Something moved.
    pub(crate) fn moved(&mut self) {
        self.running = false;
    }

    /// Nothing moves: starts counting, or goes on; ready when the limit has passed.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = bounded(self.limit_ms);
        let goes_on = std::mem::replace(&mut self.running, true);
        match &mut self.timer {
            Timer::Shared(alarm) => {
                if !goes_on {
                    alarm.set(limit.as_millis() as u64);
                }
                alarm.poll(cx)
            }
            Timer::Own(sleep) => {
                if !goes_on {
                    sleep.as_mut().reset(Instant::now() + limit);
                }
                sleep.as_mut().poll(cx)
            }
            Timer::Unmade if self.limit_ms >= SHARED => {
                let alarm = Alarm::new(limit.as_millis() as u64);
                let polled = alarm.poll(cx);
                self.timer = Timer::Shared(alarm);
                polled
            }
            Timer::Unmade => {
                let mut sleep = Box::pin(tokio::time::sleep(limit));
                let polled = sleep.as_mut().poll(cx);
                self.timer = Timer::Own(sleep);
                polled
            }
        }
    }
}
