//! HTTP/2 connections of a worker, by peer and TLS identity.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::driver::{self, ConnectionPool, ReuseSettings};
use super::shared::{Shared, State};
use crate::clock;
use crate::config::KeepAlive;
use crate::connections::{Connections, PoolKey};
use crate::error::{OriginError, Phase};
use crate::stream::CountedStream;
use crate::timer;

/// HTTP/2 connections of a worker to all peers; clones share them.
#[derive(Clone, Default)]
pub(crate) struct H2Connections(Rc<H2Pool>);

#[derive(Default)]
struct H2Pool(RefCell<HashMap<PoolKey, PeerConnections>>);

/// HTTP/2 connections to a peer.
#[derive(Default)]
struct PeerConnections {
    /// Open connections, oldest first, each with a driver.
    open: Vec<Rc<Shared>>,
    /// Connection attempt in progress; other requests to the peer wait for it.
    dialing: Option<Rc<Dialing>>,
}

/// Attempt to connect to a peer, shared by the requests that wait for it.
#[derive(Default)]
struct Dialing {
    over: Cell<bool>,
    /// Error of the attempt; `None` while the attempt is in progress, and if it succeeded or was dropped.
    failure: RefCell<Option<OriginError>>,
    waiting: RefCell<Vec<Waker>>,
}

/// Stream opened for a request on a connection.
pub(super) struct OpenedStream {
    pub(super) shared: Rc<Shared>,
    pub(super) id: u32,
    /// True unless this request established the connection.
    pub(super) reused: bool,
}

/// Parameters of the search for an HTTP/2 connection.
pub(super) struct ConnectionRequest<'a> {
    pub(super) key: PoolKey,
    pub(super) keep: KeepAlive,
    pub(super) connections: &'a Connections,
    /// Maximum wait in milliseconds for a connection that another request establishes.
    pub(super) connect_ms: u64,
    /// Excludes connections that have answered a request. Set for the repetition of a request.
    pub(super) fresh: bool,
}

impl H2Connections {
    /// Opens a stream with `open` on an available connection, or on a new connection established by `dial`. Only one
    /// request at a time establishes a connection to a peer; other requests wait for the connection, at most for their
    /// connect timeout, and fail if it cannot be established.
    pub(super) async fn open<D: Future<Output = Result<CountedStream, OriginError>>>(
        &self,
        wanted: &ConnectionRequest<'_>,
        open: impl Fn(&mut State) -> Option<u32>,
        dial: impl Fn() -> D,
    ) -> Result<OpenedStream, OriginError> {
        loop {
            if let Some(opened) = self.open_now(wanted, &open).await {
                return Ok(opened);
            }
            let dialing = self.0.0.borrow_mut().entry(wanted.key).or_default().dialing.clone();
            if let Some(dialing) = dialing {
                let waited = tokio::time::timeout(timer::bounded(wanted.connect_ms), dialing.wait());
                waited.await.unwrap_or_else(|_| Err(OriginError::timeout(Phase::Connecting)))?;
                continue;
            }
            let making = DialGuard::new(&self.0, wanted.key);
            let connection = match dial().await {
                Ok(connection) => connection,
                Err(error) => {
                    making.dialing.failure.replace(Some(error.clone()));
                    return Err(error);
                }
            };
            let shared = Rc::new(Shared::new(connection, clock::now()));
            let id = shared.with(&open).ok_or_else(|| OriginError::closed(Phase::Sending))?;
            self.0.0.borrow_mut().entry(wanted.key).or_default().open.push(Rc::clone(&shared));
            let keeper: Rc<dyn ConnectionPool> = Rc::<H2Pool>::clone(&self.0);
            let pool = Some((Rc::downgrade(&keeper), wanted.key));
            let connections = wanted.connections.clone();
            driver::spawn(Rc::clone(&shared), ReuseSettings { pool, keep: wanted.keep, connections });
            return Ok(OpenedStream { shared, id, reused: false });
        }
    }

    /// Opens a stream on an existing connection; waits up to half a second for each that is being checked. `None` if no
    /// connection is available.
    async fn open_now(
        &self,
        wanted: &ConnectionRequest<'_>,
        open: &impl Fn(&mut State) -> Option<u32>,
    ) -> Option<OpenedStream> {
        // The peer may have closed an idle connection or announced this (`GOAWAY`): its driver reads pending input
        // first.
        if self.find(wanted).is_some_and(|shared| {
            shared.read_state(|state| state.idle_since.is_some() && state.has_pending_input())
        }) {
            tokio::task::yield_now().await;
        }
        loop {
            let shared = self.find(wanted)?;
            let now = clock::now();
            let Some(until) = shared.with_quiet(|state| state.holds_until(now, wanted.keep.is_implicit))
            else {
                let id = shared.with(open)?;
                return Some(OpenedStream { shared, id, reused: true });
            };
            // If no frame arrives in time, `find` no longer returns this connection.
            let sign = poll_fn(|cx| shared.with_quiet(|state| state.poll_frame(cx)));
            let _ = tokio::time::timeout(Duration::from_millis(until.saturating_sub(now).max(1)), sign).await;
        }
    }

    /// Returns the oldest HTTP/2 connection to the peer that can carry another request within the limits of `wanted`;
    /// `None` if there is none.
    fn find(&self, wanted: &ConnectionRequest<'_>) -> Option<Rc<Shared>> {
        let now = clock::now();
        let keep = &wanted.keep;
        let peers = self.0.0.borrow();
        let mut all = peers.get(&wanted.key)?.open.iter();
        let has_room = |shared: &&Rc<Shared>| {
            shared.read_state(|state| {
                state.has_room()
                    && !state.liveness.is_suspect(now)
                    && !(wanted.fresh && state.liveness.has_served())
                    && state.requests < keep.requests.max(1)
                    && now.saturating_sub(state.created_at) < keep.time_ms.max(1)
            })
        };
        all.find(has_room).cloned()
    }

    /// Closes the connection that has been idle longest; returns `false` if no connection is idle.
    pub(crate) fn close_oldest(&self) -> bool {
        let oldest = {
            let peers = self.0.0.borrow();
            let all = peers.values().flat_map(|peer| &peer.open);
            let idle = all.filter_map(|shared| Some((shared.read_state(|state| state.idle_since)?, shared)));
            idle.min_by_key(|(since, _)| *since).map(|(_, shared)| Rc::clone(shared))
        };
        let Some(shared) = oldest else { return false };
        shared.with(|state| state.close(&OriginError::closed(Phase::ReadingHead)));
        true
    }
}

impl ConnectionPool for H2Pool {
    fn remove(&self, key: PoolKey, shared: &Rc<Shared>) {
        let mut peers = self.0.borrow_mut();
        let Some(peer) = peers.get_mut(&key) else { return };
        peer.open.retain(|other| !Rc::ptr_eq(other, shared));
        if peer.open.is_empty() && peer.dialing.is_none() {
            peers.remove(&key);
        }
    }

    fn trim(&self, key: PoolKey, most: usize) {
        let mut idle: Vec<_> = {
            let peers = self.0.borrow();
            let all = peers.get(&key).into_iter().flat_map(|peer| &peer.open);
            all.filter_map(|shared| Some((shared.read_state(|state| state.idle_since)?, Rc::clone(shared))))
                .collect()
        };
        idle.sort_by_key(|(since, _)| *since);
        let excess = idle.len().saturating_sub(most);
        for (_, shared) in idle.into_iter().take(excess) {
            shared.with(|state| state.close(&OriginError::closed(Phase::ReadingHead)));
        }
    }
}

impl Drop for H2Pool {
    /// Wakes the drivers of all connections, so that these are closed once they have no active requests.
    fn drop(&mut self) {
        for peer in self.0.get_mut().values() {
            peer.open.iter().for_each(|shared| shared.with(|_| ()));
        }
    }
}

/// Guard of a connection attempt; dropping it ends the attempt and wakes all waiters.
struct DialGuard<'a> {
    pool: &'a Rc<H2Pool>,
    key: PoolKey,
    dialing: Rc<Dialing>,
}

impl<'a> DialGuard<'a> {
    fn new(pool: &'a Rc<H2Pool>, key: PoolKey) -> Self {
        let dialing = Rc::new(Dialing::default());
        pool.0.borrow_mut().entry(key).or_default().dialing = Some(Rc::clone(&dialing));
        Self { pool, key, dialing }
    }
}

impl Drop for DialGuard<'_> {
    fn drop(&mut self) {
        let mut peers = self.pool.0.borrow_mut();
        if let Some(peer) = peers.get_mut(&self.key) {
            peer.dialing = None;
            if peer.open.is_empty() {
                peers.remove(&self.key);
            }
        }
        self.dialing.over.set(true);
        self.dialing.waiting.take().into_iter().for_each(Waker::wake);
    }
}

impl Dialing {
    /// Waits until the connection attempt succeeds, or returns its error.
    async fn wait(&self) -> Result<(), OriginError> {
        poll_fn(|cx| {
            if self.over.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }
}

impl fmt::Debug for H2Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("H2Connections").field("peers", &self.0.0.borrow().len()).finish()
    }
}
