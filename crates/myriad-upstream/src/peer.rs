//! A peer: how it is configured, and how it is doing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::address::Address;
use crate::pool::IdlePool;
use crate::stream::ParkedStream;

/// A `server` of an `upstream` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// Where it listens.
    pub address: Address,
    /// As the configuration calls the server; servers with several addresses have several peers of one name.
    pub name: String,
    /// Its share of the requests, at least 1 (`weight`).
    pub weight: u32,
    /// So many failures within `fail_timeout_ms` make it unavailable, 0 for never (`max_fails`).
    pub max_fails: u32,
    /// How long failures count, and how long it then stays unavailable, in milliseconds (`fail_timeout`).
    pub fail_timeout_ms: u64,
    /// Only used when all others are unavailable (`backup`).
    pub backup: bool,
    /// Never used (`down`).
    pub down: bool,
    /// Most requests at a time, 0 for no bound (`max_conns`).
    pub max_conns: u32,
}

impl PeerConfig {
    /// A peer with nginx's defaults: weight 1, one failure in ten seconds.
    pub fn new(address: Address) -> Self {
        Self {
            name: address.to_string(),
            address,
            weight: 1,
            max_fails: 1,
            fail_timeout_ms: 10_000,
            backup: false,
            down: false,
            max_conns: 0,
        }
    }
}

/// How a peer is doing, for status pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSnapshot {
    /// Where it listens.
    pub address: Address,
    /// Requests that it is working on.
    pub active: u32,
    /// Requests that it was given since the process began.
    pub requests: u64,
    /// Failures since the process began.
    pub failures: u64,
    /// Idle FastCGI connections, each of which holds a php-fpm child.
    pub idle_fastcgi: usize,
    /// Whether it would be chosen now.
    pub available: bool,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What all workers know about a peer, kept over reloads.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// Names the peer in pools; never given twice.
    pub(crate) id: u64,
    /// Failures that count now.
    fails: AtomicU32,
    /// When it last failed, on this process's clock.
    accessed: AtomicU64,
    /// When it last failed, or was last tried after it was due again.
    checked: AtomicU64,
    active: AtomicU32,
    requests: AtomicU64,
    failures: AtomicU64,
    /// Idle FastCGI connections: each holds a php-fpm child, so all workers share them.
    pub(crate) fastcgi: IdlePool<ParkedStream>,
}

impl Default for PeerState {
    fn default() -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            fails: AtomicU32::new(0),
            accessed: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            active: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            fastcgi: IdlePool::new(),
        }
    }
}

impl PeerState {
    /// Whether its failures keep it out, as nginx's round robin decides.
    pub(crate) fn is_failing(&self, config: &PeerConfig, now: u64) -> bool {
        config.max_fails > 0
            && self.fails.load(Relaxed) >= config.max_fails
            && now.saturating_sub(self.checked.load(Relaxed)) <= config.fail_timeout_ms
    }

    /// Whether it has as many requests as it may have.
    pub(crate) fn is_full(&self, config: &PeerConfig) -> bool {
        config.max_conns > 0 && self.active() >= config.max_conns
    }

    pub(crate) fn active(&self) -> u32 {
        self.active.load(Relaxed)
    }

    /// Notes that it is tried; a peer that is due again is tried by one request, not by all that wait for it.
    pub(crate) fn chosen(self: &Arc<Self>, config: &PeerConfig, now: u64) -> Active {
        if now.saturating_sub(self.checked.load(Relaxed)) > config.fail_timeout_ms {
            self.checked.store(now, Relaxed);
        }
        self.active.fetch_add(1, Relaxed);
        self.requests.fetch_add(1, Relaxed);
        Active(self.clone())
    }

    pub(crate) fn failed(&self, now: u64) {
        self.fails.fetch_add(1, Relaxed);
        self.failures.fetch_add(1, Relaxed);
        self.accessed.store(now, Relaxed);
        self.checked.store(now, Relaxed);
    }

    /// A success forgives the failures only if it was tried again since the last one.
    pub(crate) fn succeeded(&self) {
        if self.accessed.load(Relaxed) < self.checked.load(Relaxed) {
            self.fails.store(0, Relaxed);
        }
    }

    /// Forgives everything.
    pub(crate) fn reset(&self) {
        self.fails.store(0, Relaxed);
    }

    pub(crate) fn snapshot(&self, config: &PeerConfig, now: u64) -> PeerSnapshot {
        PeerSnapshot {
            address: config.address.clone(),
            active: self.active(),
            requests: self.requests.load(Relaxed),
            failures: self.failures.load(Relaxed),
            idle_fastcgi: self.fastcgi.count(self.id),
            available: !config.down && !self.is_failing(config, now) && !self.is_full(config),
        }
    }
}

/// One request that a peer is working on, until dropped.
#[derive(Debug)]
pub(crate) struct Active(pub(crate) Arc<PeerState>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Relaxed);
    }
}
