//! Resolution of names that are only known when a request arrives (`resolver`): a stub resolver with a cache for each
//! worker.
//!
//! The system's resolver blocks and does not return TTLs, so Myriad, like nginx, implements a resolver.

mod config;
mod error;
pub mod message;
mod query;
mod zone;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_base::bounded::Lru;
use tokio::sync::Notify;

use crate::clock;
pub use config::ResolverConfig;
pub use error::ResolveError;
pub(crate) use query::{look_up, look_up_service};
pub use zone::{ResolverCounts, ResolverZone};

/// Maximum number of names in the cache of a resolver; the least recently used name is evicted. Clients may influence
/// which names are resolved.
const MAX_NAMES: u64 = 1024;
/// Maximum number of names that a resolver of a worker looks up at the same time.
const MAX_QUERIES: usize = 256;

type ResolveResult = Result<Arc<[IpAddr]>, ResolveError>;

/// DNS resolver of a worker (`resolver`); clones share its cache.
#[derive(Clone, Debug)]
pub struct Resolver(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ResolverConfig>,
    cache: RefCell<Lru<String, CachedName>>,
    pending: RefCell<HashMap<String, Rc<PendingQuery>>>,
    /// Index of the name server that the next look-up queries first, modulo the number of servers.
    next_server: Cell<usize>,
}

#[derive(Debug)]
struct CachedName {
    addresses: Arc<[IpAddr]>,
    /// End of the validity, in the units of [`clock::now`].
    until: u64,
}

/// Look-up of a name in progress, shared by the requests that wait for it.
#[derive(Debug, Default)]
struct PendingQuery {
    answer: RefCell<Option<ResolveResult>>,
    done: Notify,
}

impl Resolver {
    /// Creates a resolver with an empty cache.
    pub fn new(config: Arc<ResolverConfig>) -> Self {
        let (known, pending) = (RefCell::new(Lru::new(MAX_NAMES)), RefCell::default());
        Self(Rc::new(Inner { config, cache: known, pending, next_server: Cell::new(0) }))
    }

    /// Returns the addresses of a name, which are cached while they are valid. Fails for an invalid name, if the name
    /// servers return an error or no address, if too many names are being looked up, and after `timeout_ms`
    /// (`resolver_timeout`); after the timeout, the query continues for later requests.
    pub async fn resolve(&self, name: &str, timeout_ms: u64) -> ResolveResult {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if !message::is_name(&name) {
            return Err(ResolveError::NoName);
        }
        let now = clock::now();
        if let Some(known) = self.0.cache.borrow_mut().get_mut(&name).filter(|known| known.until > now) {
            return Ok(Arc::clone(&known.addresses));
        }
        let pending = self.pending(name)?;
        let waited = tokio::time::timeout(Duration::from_millis(timeout_ms), pending.wait()).await;
        waited.unwrap_or(Err(ResolveError::TimedOut))
    }

    /// Returns the look-up in progress for a name, or starts one. Fails if too many names are being looked up.
    fn pending(&self, name: String) -> Result<Rc<PendingQuery>, ResolveError> {
        let mut all = self.0.pending.borrow_mut();
        if let Some(pending) = all.get(&name) {
            return Ok(Rc::clone(pending));
        }
        if all.len() >= MAX_QUERIES {
            return Err(ResolveError::Busy);
        }
        let pending = Rc::new(PendingQuery::default());
        all.insert(name.clone(), Rc::clone(&pending));
        let inner = Rc::clone(&self.0);
        tokio::task::spawn_local(async move { inner.run(name).await });
        Ok(pending)
    }
}

impl Inner {
    async fn run(&self, name: String) {
        let first = self.next_server.get();
        self.next_server.set(first.wrapping_add(1));
        let found = query::look_up(&self.config, first, &name).await;
        let answer = found.map(|found| {
            let addresses: Arc<[IpAddr]> = found.addresses.into();
            let valid_ms = self.config.valid_ms.unwrap_or(u64::from(found.ttl_s) * 1000);
            self.cache_result(&name, &addresses, valid_ms);
            addresses
        });
        if let Some(pending) = self.pending.borrow_mut().remove(&name) {
            *pending.answer.borrow_mut() = Some(answer);
            pending.done.notify_waiters();
        }
    }

    fn cache_result(&self, name: &str, addresses: &Arc<[IpAddr]>, valid_ms: u64) {
        if valid_ms > 0 {
            let known =
                CachedName { addresses: Arc::clone(addresses), until: clock::now().saturating_add(valid_ms) };
            self.cache.borrow_mut().insert(name.to_owned(), known, 1);
        }
    }
}

impl PendingQuery {
    async fn wait(&self) -> ResolveResult {
        loop {
            // No race: all tasks run on this thread, so the result cannot arrive between this test and the wait.
            if let Some(answer) = &*self.answer.borrow() {
                return answer.clone();
            }
            self.done.notified().await;
        }
    }
}
