//! Limit on the connections of a worker to origins.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;

use crate::error::{ErrorKind, OriginError, Phase};
use crate::timer;
use crate::wait_queue::WaitQueue;

/// Key of idle connections: the peer and the TLS identity ([`crate::OriginTls::identity`], 0 without TLS).
pub(crate) type PoolKey = (u64, u64);

/// Connections and descriptors of a worker that connections to origins share with client connections.
pub trait WorkerConnections {
    /// Takes one of the worker's connections (`worker_connections`), released when the returned value is dropped.
    /// `None` if all are in use.
    fn take(&self) -> Option<Box<dyn Any>>;

    /// Makes client connections release file descriptors soon, because the process is out of descriptors.
    fn make_descriptors(&self);
}

/// Counter and limit of a worker's connections to origins, active and idle, except idle FastCGI connections, which all
/// workers share. Clones share the counter.
///
/// The limit is below the limit of all connections of the worker (`worker_connections`), so that slow fetches leave
/// connections for clients that get cached responses.
#[derive(Clone)]
pub struct Connections(Rc<Inner>);

struct Inner {
    /// Maximum number of connections to origins.
    max_open: usize,
    /// Number of connections to origins, active and idle.
    open: Cell<usize>,
    waiters: WaitQueue,
    worker_connections: Option<Box<dyn WorkerConnections>>,
}

/// Slot of one counted connection; dropping it releases the slot and wakes the first waiter.
pub(crate) struct OriginConnectionSlot {
    connections: Connections,
    worker_slot: Option<Box<dyn Any>>,
}

impl Connections {
    /// Creates a counter without a limit.
    pub fn unbounded() -> Self {
        Self::of(usize::MAX, None)
    }

    /// Creates a counter with a limit of `most` connections. Each connection also takes one of the connections of the
    /// worker from `worker_connections`.
    pub fn bounded(most: usize, worker_connections: Box<dyn WorkerConnections>) -> Self {
        Self::of(most, Some(worker_connections))
    }

    fn of(most: usize, worker_connections: Option<Box<dyn WorkerConnections>>) -> Self {
        Self(Rc::new(Inner {
            max_open: most,
            open: Cell::new(0),
            waiters: WaitQueue::new(),
            worker_connections,
        }))
    }

    /// Takes a slot without waiting; `None` if no slot is free or other requests wait for one.
    pub(crate) fn take_now(&self) -> Option<OriginConnectionSlot> {
        if self.0.waiters.is_empty() { self.take_slot().ok() } else { None }
    }

    /// Takes a slot, in queue order and within `timeout_ms`. `make_room` closes an idle connection and returns whether
    /// it has closed one. Fails after the timeout, and as soon as an attempt finds that the worker has reached
    /// `worker_connections` and `make_room` closes no connection.
    pub(crate) async fn take(
        &self,
        make_room: impl Fn() -> bool,
        timeout_ms: u64,
    ) -> Result<OriginConnectionSlot, OriginError> {
        let try_take = || {
            loop {
                match self.take_slot() {
                    Ok(place) => return Some(Ok(place)),
                    Err(_) if make_room() => {}
                    Err(ExhaustedLimit::Own) => return None,
                    // Clients use the worker's other connections and do not wake waiters of this queue: as in nginx,
                    // the request fails.
                    Err(ExhaustedLimit::All) => {
                        return Some(Err(failure("worker_connections are not enough")));
                    }
                }
            }
        };
        if self.0.waiters.is_empty()
            && let Some(taken) = try_take()
        {
            return taken;
        }
        let Some(mut turn) = self.0.waiters.join(usize::MAX) else {
            return Err(failure("too many requests are waiting for a connection"));
        };
        let called = poll_fn(|cx| turn.poll(cx, try_take));
        let late = || failure("no connection became free in time, worker_connections are not enough");
        tokio::time::timeout(timer::bounded(timeout_ms), called).await.unwrap_or_else(|_| Err(late()))
    }

    /// Reports that a connection has become idle: wakes the first waiter, which may close that connection to use its
    /// slot.
    pub(crate) fn idle(&self) {
        self.0.waiters.wake_first();
    }

    /// Makes other users release descriptors soon, because the process is out of descriptors.
    pub(crate) fn make_descriptors(&self) {
        if let Some(worker_connections) = &self.0.worker_connections {
            worker_connections.make_descriptors();
        }
    }

    fn take_slot(&self) -> Result<OriginConnectionSlot, ExhaustedLimit> {
        let open = &self.0.open;
        if open.get() >= self.0.max_open {
            return Err(ExhaustedLimit::Own);
        }
        let worker_slot = match &self.0.worker_connections {
            Some(worker_connections) => Some(worker_connections.take().ok_or(ExhaustedLimit::All)?),
            None => None,
        };
        open.set(open.get() + 1);
        Ok(OriginConnectionSlot { connections: self.clone(), worker_slot })
    }
}

/// Limit that prevents a new connection to an origin.
enum ExhaustedLimit {
    /// Limit of the worker's connections to origins.
    Own,
    /// Limit of all connections of the worker (`worker_connections`).
    All,
}

fn failure(what: &str) -> OriginError {
    OriginError::new(ErrorKind::NoConnection, Phase::Connecting, what)
}

impl Drop for OriginConnectionSlot {
    fn drop(&mut self) {
        let inner = &self.connections.0;
        drop(self.worker_slot.take());
        inner.open.set(inner.open.get() - 1);
        inner.waiters.wake_first();
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("open", &self.0.open.get()).finish_non_exhaustive()
    }
}

impl fmt::Debug for OriginConnectionSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginConnectionSlot").finish_non_exhaustive()
    }
}
