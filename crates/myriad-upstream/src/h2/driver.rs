//! Task that reads from and writes to an HTTP/2 connection with an origin until it is closed.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::liveness::LivenessAction;
use super::shared::{Drive, Shared, State};
use crate::clock;
use crate::config::KeepAlive;
use crate::connections::{Connections, PoolKey};
use crate::error::{OriginError, Phase};

/// Pool of HTTP/2 connections, as their drivers use it.
pub(super) trait ConnectionPool {
    /// Removes a closed connection to the peer `key` from the pool.
    fn remove(&self, key: PoolKey, shared: &Rc<Shared>);

    /// Closes the connections to a peer that have been idle longest until at most `most` are idle.
    fn trim(&self, key: PoolKey, most: usize);
}

/// Rules for the reuse of an HTTP/2 connection.
pub(super) struct ReuseSettings {
    /// Pool with its key for this connection; `None` for a connection that serves a single request.
    pub(super) pool: Option<(Weak<dyn ConnectionPool>, PoolKey)>,
    pub(super) keep: KeepAlive,
    pub(super) connections: Connections,
}

struct Driver {
    shared: Rc<Shared>,
    keeping: ReuseSettings,
    /// Timer that expires at the end of the connection's maximum idle time (`keepalive_timeout`); `None` while requests
    /// are active.
    expiry: Option<Pin<Box<Sleep>>>,
    liveness_timer: LivenessTimer,
}

/// Timer that wakes the driver to check the liveness of the peer. For efficiency, it is reset when it fires, not with
/// each request.
#[derive(Default)]
struct LivenessTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// Expiry time in the units of [`clock::now`]; `None` if never set.
    at: Option<u64>,
}

impl LivenessTimer {
    /// Wakes the driver at `at`, which must be in the future, or earlier.
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

/// Starts the task of a connection. Once the connection is closed, the task removes it from its pool and finishes.
pub(super) fn spawn(shared: Rc<Shared>, keeping: ReuseSettings) {
    let mut driver = Driver { shared, keeping, expiry: None, liveness_timer: LivenessTimer::default() };
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

    /// Sends a PING if one is due. Returns true if the connection is found to be dead: the origin has sent no frame in
    /// time after the last PING. False if [`State::give_up`] has marked it as dead before.
    fn is_dead(&mut self, cx: &mut Context<'_>) -> bool {
        let now = clock::now();
        let mut next = self.shared.read_state(|state| state.liveness.next(now));
        if next == LivenessAction::Ping {
            next = self.shared.with(|state| {
                state.send_ping(now);
                state.liveness.next(now)
            });
        }
        if let LivenessAction::Wait(at) = next {
            self.liveness_timer.wake_by(at, now, cx);
        }
        next == LivenessAction::Dead
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = clock::now();
        let keep = &self.keeping.keep;
        let may_serve = self.shared.read_state(|state| {
            state.client.is_open()
                && state.requests < keep.requests
                && now.saturating_sub(state.created_at) < keep.time_ms
        });
        let pool = self.keeping.pool.as_ref().and_then(|(pool, key)| Some((pool.upgrade()?, *key)));
        let Some((pool, key)) = pool.filter(|_| keep.http > 0 && may_serve) else {
            return self.close(cx);
        };
        if self.expiry.is_none() {
            let timeout = Duration::from_millis(keep.timeout_ms.clamp(1, 86_400_000));
            self.expiry = Some(Box::pin(tokio::time::sleep(timeout)));
            self.shared.with_quiet(|state| state.idle_since = Some(now));
            pool.trim(key, keep.http);
            self.keeping.connections.idle();
            self.shared.with_quiet(|state| state.probe_idle(now, keep.is_implicit));
        }
        if self.is_dead(cx) {
            return self.close(cx);
        }
        if self.shared.read_state(State::is_closed) {
            return Poll::Ready(());
        }
        let is_over = self.expiry.as_mut().is_some_and(|expiry| expiry.as_mut().poll(cx).is_ready());
        if is_over { self.close(cx) } else { Poll::Pending }
    }

    /// Sends `GOAWAY`, as far as the socket accepts it without waiting, and closes the connection.
    fn close(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.with(|state| state.client.shut_down());
        let _ = self.shared.drive(cx);
        self.shared.with(|state| state.close(&OriginError::closed(Phase::ReadingHead)));
        Poll::Ready(())
    }
}
