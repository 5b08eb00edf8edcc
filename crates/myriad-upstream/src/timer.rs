//! A time-out between two steps forward.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Longest time-out, so that no configured value overflows the clock.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// A time-out as it was configured, or the longest.
pub(crate) fn bounded(limit_ms: u64) -> Duration {
    Duration::from_millis(limit_ms).min(LONGEST)
}

/// Expires when nothing moved for a while. The timer is made when there is first something to wait for, and
/// moved, not made again, from then on.
#[derive(Debug)]
pub(crate) struct Stall {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    running: bool,
}

impl Stall {
    pub(crate) fn new(limit_ms: u64) -> Self {
        Self { limit: bounded(limit_ms), sleep: None, running: false }
    }

    /// Something moved.
    pub(crate) fn moved(&mut self) {
        self.running = false;
    }

    /// Nothing moves: starts counting, or goes on; ready when the limit has passed.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = Instant::now() + self.limit;
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                if !self.running {
                    sleep.as_mut().reset(deadline);
                }
                sleep
            }
            none => none.insert(Box::pin(tokio::time::sleep_until(deadline))),
        };
        self.running = true;
        sleep.as_mut().poll(cx)
    }
}
