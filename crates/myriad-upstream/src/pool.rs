//! Pools of idle connections to peers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::clock;
use crate::config::KeepAlive;
use crate::connections::{Connections, PoolKey};
use crate::h2::H2Connections;
use crate::stream::{CountedStream, Reusable};

/// Maximum number of idle connections examined to find one that the runtime has polled since it became idle. More
/// connections rarely become idle between two polls.
const MAX_EXAMINED: usize = 16;

/// Pooled connection with its age and number of requests.
#[derive(Debug)]
pub(crate) struct Pooled<C> {
    pub(crate) connection: C,
    /// Number of requests completed on the connection.
    pub(crate) requests: u32,
    /// Creation time, in the units of [`clock::now`].
    pub(crate) created_at: u64,
}

impl<C> Pooled<C> {
    /// Returns whether `keepalive_requests` and `keepalive_time` allow another request.
    pub(crate) fn may_serve(&self, keep: &KeepAlive, now: u64) -> bool {
        self.requests < keep.requests && now.saturating_sub(self.created_at) < keep.time_ms
    }
}

#[derive(Debug)]
struct Idle<C> {
    pooled: Pooled<C>,
    /// Time at which the connection expires, in the units of [`clock::now`].
    expires: u64,
    /// Value of [`clock::sleep_count`] when the connection became idle, to detect that the runtime has polled it since.
    since: u64,
    #[expect(dead_code, reason = "counts until dropped")]
    counted: IdleCount,
}

/// Guard that counts an idle connection of a peer until it is dropped.
#[derive(Debug)]
struct IdleCount(Arc<AtomicUsize>);

impl Drop for IdleCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Debug)]
struct IdleConnections<C> {
    /// Idle connections by peer and TLS identity, those with the longest idle time first.
    idle: HashMap<PoolKey, Vec<Idle<C>>, RandomState>,
    /// True if a task is scheduled that closes expired connections.
    sweep_scheduled: bool,
}

/// Pool of idle connections by peer and TLS identity. Recently used connections are taken first, so that rarely
/// used ones can expire.
#[derive(Debug)]
pub(crate) struct IdlePool<C>(Arc<Mutex<IdleConnections<C>>>);

impl<C> Clone for IdlePool<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: Reusable + 'static> IdlePool<C> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(IdleConnections { idle: HashMap::default(), sweep_scheduled: false })))
    }

    /// Removes and returns a pooled connection that is not expired, is open and has no unread input; connections that
    /// fail this test are closed. `None` if no connection is left.
    pub(crate) fn take(&self, key: PoolKey) -> Option<Pooled<C>> {
        let (now, slept) = (clock::now(), clock::sleep_count());
        let mut shelf = lock(&self.0);
        let idle = shelf.idle.get_mut(&key)?;
        while let Some(newest) = idle.len().checked_sub(1) {
            // Prefers a connection that the runtime has polled: its test usually needs no system call.
            let polled = idle.iter().rev().take(MAX_EXAMINED).position(|idle| idle.since != slept);
            let Idle { mut pooled, expires, .. } = idle.remove(newest - polled.unwrap_or(0));
            if expires > now && pooled.connection.is_reusable(polled.is_some()) {
                return Some(pooled);
            }
        }
        None
    }

    /// Stores an idle connection for `timeout_ms` milliseconds. If `key` then has more than `most` connections, those
    /// with the longest idle time are closed. `count` includes the connection while it is idle.
    pub(crate) fn put(
        &self,
        key: PoolKey,
        pooled: Pooled<C>,
        (most, timeout_ms): (usize, u64),
        count: &Arc<AtomicUsize>,
    ) {
        count.fetch_add(1, Relaxed);
        let counted = IdleCount(Arc::clone(count));
        let mut shelf = lock(&self.0);
        let idle = shelf.idle.entry(key).or_default();
        let expires = clock::now().saturating_add(timeout_ms);
        idle.push(Idle { pooled, expires, since: clock::sleep_count(), counted });
        let excess = idle.len().saturating_sub(most);
        idle.drain(..excess);
        if !shelf.sweep_scheduled && excess < most {
            shelf.sweep_scheduled = true;
            drop(shelf);
            self.sweep_later(timeout_ms);
        }
    }

    /// Closes the connection that expires first; returns `false` if no connection is idle.
    fn close_oldest(&self) -> bool {
        let mut shelf = lock(&self.0);
        // The expiry order of the connections to one peer is that of their idle times.
        let oldest = shelf.idle.values_mut().filter(|idle| !idle.is_empty());
        let Some(idle) = oldest.min_by_key(|idle| idle[0].expires) else { return false };
        let closed = idle.remove(0);
        drop(shelf);
        drop(closed);
        true
    }

    /// Returns the number of pooled connections for `key`, including expired connections that are not closed yet.
    pub(crate) fn count(&self, key: PoolKey) -> usize {
        lock(&self.0).idle.get(&key).map_or(0, Vec::len)
    }

    /// Starts a task that closes expired connections; it ends when no connection is idle or the pool is dropped.
    fn sweep_later(&self, after_ms: u64) {
        let shelf = Arc::downgrade(&self.0);
        tokio::task::spawn_local(async move {
            let mut wait = after_ms;
            loop {
                tokio::time::sleep(Duration::from_millis(wait.clamp(1, 3_600_000))).await;
                let Some(shelf) = shelf.upgrade() else { return };
                let mut shelf = lock(&shelf);
                let Some(next) = shelf.sweep(clock::now()) else {
                    shelf.sweep_scheduled = false;
                    return;
                };
                wait = next;
            }
        });
    }
}

impl<C> IdleConnections<C> {
    /// Drops expired connections. Returns the time in milliseconds until the next expiry; `None` if no connection is
    /// left.
    fn sweep(&mut self, now: u64) -> Option<u64> {
        self.idle.retain(|_, idle| {
            idle.retain(|idle| idle.expires > now);
            !idle.is_empty()
        });
        self.idle.values().flatten().map(|idle| idle.expires - now).min()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Idle HTTP/1 and memcached connections and all HTTP/2 connections of a worker. The connections remain registered with
/// the worker's runtime, so each worker has a separate pool. They count towards the worker's [`Connections`].
#[derive(Clone, Debug)]
pub struct HttpPool {
    pub(crate) idle: IdlePool<CountedStream>,
    /// HTTP/2 connections, idle and active.
    pub(crate) multiplexed: H2Connections,
    pub(crate) connections: Connections,
}

impl HttpPool {
    /// Creates an empty pool of a worker without a connection limit.
    pub fn new() -> Self {
        Self::of(Connections::unbounded())
    }

    /// Creates an empty pool; `connections` counts the worker's connections to origins.
    pub fn of(connections: Connections) -> Self {
        Self { idle: IdlePool::new(), multiplexed: H2Connections::default(), connections }
    }

    /// Closes the HTTP/1 or memcached connection that expires first, otherwise the HTTP/2 connection that has been idle
    /// longest. Returns `false` if no connection is idle.
    pub(crate) fn close_oldest(&self) -> bool {
        self.idle.close_oldest() || self.multiplexed.close_oldest()
    }
}

impl Default for HttpPool {
    fn default() -> Self {
        Self::new()
    }
}
