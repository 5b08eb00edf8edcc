//! Idle connections, kept for the next request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::clock;
use crate::config::KeepAlive;
use crate::connections::{Connections, PoolKey};
use crate::h2::Multiplexed;
use crate::stream::{Counted, Quiet};

/// Idle connections that are looked at to find one which the runtime has polled: of those that went idle since, there are hardly more.
const LOOKED_AT: usize = 16;

/// A connection and what it has done so far.
#[derive(Debug)]
pub(crate) struct Pooled<C> {
    pub(crate) connection: C,
    /// Requests that it has served.
    pub(crate) requests: u32,
    /// When it was made.
    pub(crate) made: u64,
}

impl<C> Pooled<C> {
    /// Whether `keepalive_requests` and `keepalive_time` let it serve again.
    pub(crate) fn may_serve(&self, keep: &KeepAlive, now: u64) -> bool {
        self.requests < keep.requests && now.saturating_sub(self.made) < keep.time_ms
    }
}

#[derive(Debug)]
struct Idle<C> {
    pooled: Pooled<C>,
    expires: u64,
    /// How often the thread had slept when it was put here ([`clock::slept`]).
    since: u64,
    #[expect(dead_code, reason = "it counts for as long as it is held")]
    counted: IdleCount,
}

/// One idle connection of a peer, until it is dropped.
#[derive(Debug)]
struct IdleCount(Arc<AtomicUsize>);

impl Drop for IdleCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Debug)]
struct Shelf<C> {
    /// The longest idle first.
    idle: HashMap<PoolKey, Vec<Idle<C>>, RandomState>,
    /// A task is waiting to close what expires.
    swept: bool,
}

/// Idle connections by peer. The most recently used is taken first, so that the rest can expire.
#[derive(Debug)]
pub(crate) struct IdlePool<C>(Arc<Mutex<Shelf<C>>>);

impl<C> Clone for IdlePool<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: Quiet + 'static> IdlePool<C> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Shelf { idle: HashMap::default(), swept: false })))
    }

    /// A connection that is still open and silent.
    pub(crate) fn take(&self, key: PoolKey) -> Option<Pooled<C>> {
        let (now, slept) = (clock::now(), clock::slept());
        let mut shelf = lock(&self.0);
        let idle = shelf.idle.get_mut(&key)?;
        while let Some(newest) = idle.len().checked_sub(1) {
            // One that the runtime has polled costs no question to the kernel.
            let polled = idle.iter().rev().take(LOOKED_AT).position(|idle| idle.since != slept);
            let Idle { mut pooled, expires, .. } = idle.remove(newest - polled.unwrap_or(0));
            if expires > now && pooled.connection.is_quiet(polled.is_some()) {
                return Some(pooled);
            }
        }
        None
    }

    /// Keeps a connection for `timeout_ms`; the longest idle one goes if there are more than `most` of the key. `count` counts it
    /// meanwhile, for the peer.
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
        idle.push(Idle { pooled, expires, since: clock::slept(), counted });
        let excess = idle.len().saturating_sub(most);
        idle.drain(..excess);
        if !shelf.swept && excess < most {
            shelf.swept = true;
            drop(shelf);
            self.sweep_later(timeout_ms);
        }
    }

    /// Closes the connection that has been idle for longest; false where none is.
    fn close_oldest(&self) -> bool {
        let mut shelf = lock(&self.0);
        // By when they expire: time-outs of one peer are alike, and of two peers the shorter one says the same.
        let oldest = shelf.idle.values_mut().filter(|idle| !idle.is_empty());
        let Some(idle) = oldest.min_by_key(|idle| idle[0].expires) else { return false };
        let closed = idle.remove(0);
        drop(shelf);
        drop(closed);
        true
    }

    /// How many connections are idle.
    pub(crate) fn count(&self, key: PoolKey) -> usize {
        lock(&self.0).idle.get(&key).map_or(0, Vec::len)
    }

    /// Closes what expires, for as long as there is something to expire. The task holds the pool weakly, and ends
    /// with it.
    fn sweep_later(&self, after_ms: u64) {
        let shelf = Arc::downgrade(&self.0);
        tokio::task::spawn_local(async move {
            let mut wait = after_ms;
            loop {
                tokio::time::sleep(Duration::from_millis(wait.clamp(1, 3_600_000))).await;
                let Some(shelf) = shelf.upgrade() else { return };
                let mut shelf = lock(&shelf);
                let Some(next) = shelf.sweep(clock::now()) else {
                    shelf.swept = false;
                    return;
                };
                wait = next;
            }
        });
    }
}

impl<C> Shelf<C> {
    /// Drops what has expired and says in how many milliseconds the next will.
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

/// The idle HTTP connections of one worker: they stay registered with its runtime, so each worker has its own. What it
/// connects to origins counts among its [`Connections`].
#[derive(Clone, Debug)]
pub struct HttpPool {
    pub(crate) idle: IdlePool<Counted>,
    /// Those that carry many requests at once.
    pub(crate) multiplexed: Multiplexed,
    pub(crate) connections: Connections,
}

impl HttpPool {
    /// An empty pool of a worker without a bound.
    pub fn new() -> Self {
        Self::of(Connections::unbounded())
    }

    /// An empty pool; `connections` are those of the worker, which outlive it.
    pub fn of(connections: Connections) -> Self {
        Self { idle: IdlePool::new(), multiplexed: Multiplexed::default(), connections }
    }

    /// Closes the connection that has been idle for longest; false where none is.
    pub(crate) fn close_oldest(&self) -> bool {
        self.idle.close_oldest() || self.multiplexed.close_oldest()
    }
}

impl Default for HttpPool {
    fn default() -> Self {
        Self::new()
    }
}
