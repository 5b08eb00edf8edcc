//! Timeout of a transfer with an origin that restarts with each progress.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::alarm::Alarm;

/// Maximum length of a timeout: one year, so that no configured value overflows the clock.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Converts a configured timeout, limited to a year.
pub(crate) fn bounded(limit_ms: u64) -> Duration {
    Duration::from_millis(limit_ms).min(LONGEST)
}

/// Minimum timeout in milliseconds that uses an [`Alarm`], whose runtime timer is shared by the thread; that timer must
/// be moved for each timeout that is shorter than the pending ones. Shorter timeouts use a separate timer.
const SHARED: u64 = 1000;

/// Timeout that expires after `limit_ms` milliseconds without progress. Its timer is created at the first wait and
/// reused afterwards.
#[derive(Debug)]
pub(crate) struct ProgressTimeout {
    limit_ms: u64,
    timer: Timer,
    running: bool,
}

#[derive(Debug)]
enum Timer {
    /// The timer is not created, because no wait has occurred yet.
    Unmade,
    Shared(Alarm),
    Own(Pin<Box<Sleep>>),
}

impl ProgressTimeout {
    pub(crate) fn new(limit_ms: u64) -> Self {
        Self { limit_ms, timer: Timer::Unmade, running: false }
    }

    /// Records progress, such as a received byte: the next [`Self::poll_expired`] restarts the timeout.
    pub(crate) fn record_progress(&mut self) {
        self.running = false;
    }

    /// Starts or continues the timeout; ready once the limit has passed without progress.
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
