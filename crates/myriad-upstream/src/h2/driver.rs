//! The task that reads from and writes to a connection, until it is closed.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::pulse::Next;
use super::shared::{Drive, Shared, State};
use crate::clock;
use crate::config::KeepAlive;
use crate::connections::{Connections, PoolKey};
use crate::error::{OriginError, Phase};

/// Who hands out connections.
pub(super) trait Keeper {
    /// A connection is closed.
    fn remove(&self, key: PoolKey, shared: &Rc<Shared>);

    /// Closes the connections to a peer that have been idle for longest, so that at most `most` are.
    fn trim(&self, key: PoolKey, most: usize);
}

/// How long a connection is kept while nothing is under way on it.
pub(super) struct Keeping {
    /// The pool that hands it out; none for one that serves once.
    pub(super) pool: Option<(Weak<dyn Keeper>, PoolKey)>,
    pub(super) keep: KeepAlive,
    pub(super) connections: Connections,
}

struct Driver {
    shared: Rc<Shared>,
    keeping: Keeping,
    /// When it has been idle for long enough.
    expiry: Option<Pin<Box<Sleep>>>,
    watch: Watch,
}

/// Wakes the driver to look after the other end. Its timer is moved when it goes off, not with each request.
#[derive(Default)]
struct Watch {
    sleep: Option<Pin<Box<Sleep>>>,
    /// When it goes off, on this process's clock; none where it has.
    at: Option<u64>,
}

impl Watch {
    /// Has the driver woken by `at`, which is ahead.
    fn wake_by(&mut self, at: u64, now: u64, cx: &mut Context<'_>) {
        if self.at.is_some_and(|before| before > now && before <= at) {
            return;
        }
        let deadline = Instant::now() + Duration::from_millis(at - now);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        sleep.as_mut().reset(deadline);
        self.at = Some(at);
        if sleep.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }
}

/// Drives a connection in a task of its own, which ends with it.
pub(super) fn spawn(shared: Rc<Shared>, keeping: Keeping) {
    let mut driver = Driver { shared, keeping, expiry: None, watch: Watch::default() };
    tokio::task::spawn_local(async move {
        poll_fn(|cx| driver.poll(cx)).await;
        if let Some((pool, key)) = &driver.keeping.pool
            && let Some(pool) = pool.upgrade()
        {
            pool.remove(*key, &driver.shared);
        }
    });
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.shared.drive(cx) {
            Drive::Closed => Poll::Ready(()),
            Drive::Busy => {
                self.expiry = None;
                if self.is_dead(cx) {
                    self.shared.with(State::give_up);
                }
                Poll::Pending
            }
            Drive::Idle => self.poll_idle(cx),
        }
    }

    /// Asks the origin whether it lives where that is due; whether it has been silent since it was asked.
    fn is_dead(&mut self, cx: &mut Context<'_>) -> bool {
        let now = clock::now();
        let mut next = self.shared.look(|state| state.pulse.next(now));
        if next == Next::Ask {
            next = self.shared.with(|state| {
                state.ask(now);
                state.pulse.next(now)
            });
        }
        if let Next::Wait(at) = next {
            self.watch.wake_by(at, now, cx);
        }
        next == Next::Dead
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = clock::now();
        let keep = &self.keeping.keep;
        let may_serve = self.shared.look(|state| {
            state.client.is_open()
                && state.requests < keep.requests
                && now.saturating_sub(state.made) < keep.time_ms
        });
        let pool = self.keeping.pool.as_ref().and_then(|(pool, key)| Some((pool.upgrade()?, *key)));
        let Some((pool, key)) = pool.filter(|_| keep.http > 0 && may_serve) else {
            return self.close(cx);
        };
        if self.expiry.is_none() {
            let timeout = Duration::from_millis(keep.timeout_ms.clamp(1, 86_400_000));
            self.expiry = Some(Box::pin(tokio::time::sleep(timeout)));
            self.shared.touch(|state| state.idle_since = Some(now));
            pool.trim(key, keep.http);
            self.keeping.connections.idle();
            self.shared.touch(|state| state.try_out(now, keep.is_tried));
        }
        if self.is_dead(cx) {
            return self.close(cx);
        }
        if self.shared.look(State::is_closed) {
            return Poll::Ready(());
        }
        let is_over = self.expiry.as_mut().is_some_and(|expiry| expiry.as_mut().poll(cx).is_ready());
        if is_over { self.close(cx) } else { Poll::Pending }
    }

    /// Says goodbye, as far as the socket takes it at once, and closes.
    fn close(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.with(|state| state.client.shut_down());
        let _ = self.shared.drive(cx);
        self.shared.with(|state| state.close(&OriginError::closed(Phase::ReadingHead)));
        Poll::Ready(())
    }
}
