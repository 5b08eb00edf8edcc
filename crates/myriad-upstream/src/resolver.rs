//! Names that are known only when a request comes (`resolver`): a small stub resolver with a cache, one a worker.
//!
//! The system's resolver blocks and knows nothing of TTLs, so nginx has its own, and so has this.

pub mod message;
mod query;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock;

/// Most names that are remembered; clients may have their say in what is looked up.
const MOST_NAMES: usize = 1024;
/// Most look-ups at a time.
const MOST_QUERIES: usize = 256;

/// A `resolver` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverConfig {
    /// Name servers; asked in turn. At least one.
    pub servers: Vec<SocketAddr>,
    /// How long an answer holds, milliseconds, whatever its TTL (`valid=`).
    pub valid_ms: Option<u64>,
    /// Whether IPv4 addresses are looked up (`ipv4=`).
    pub ipv4: bool,
    /// Whether IPv6 addresses are looked up (`ipv6=`).
    pub ipv6: bool,
}

/// Why a name has no address, in nginx's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The text is no name.
    NoName,
    /// Too many look-ups are under way.
    Busy,
    /// No server has answered in time.
    TimedOut,
    /// A server has refused (RFC 1035's RCODE).
    Code(u8),
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str("no host name"),
            Self::Busy => f.write_str("too many names are being resolved"),
            Self::TimedOut => f.write_str("110: Operation timed out"),
            Self::Code(2) => f.write_str("2: Server failure"),
            Self::Code(3) => f.write_str("3: Host not found"),
            Self::Code(4) => f.write_str("4: Unimplemented"),
            Self::Code(code) => write!(f, "{code}: Operation refused"),
        }
    }
}

impl std::error::Error for ResolveError {}

type Answer = Result<Arc<[IpAddr]>, ResolveError>;

/// A resolver on one worker's runtime; clones share what they know.
#[derive(Clone, Debug)]
pub struct Resolver(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ResolverConfig>,
    known: RefCell<HashMap<String, Known>>,
    pending: RefCell<HashMap<String, Rc<Pending>>>,
    next_server: Cell<usize>,
}

#[derive(Debug)]
struct Known {
    addresses: Arc<[IpAddr]>,
    until: u64,
}

/// A look-up that any number of requests wait for.
#[derive(Debug, Default)]
struct Pending {
    answer: RefCell<Option<Answer>>,
    done: Notify,
}

impl Resolver {
    /// A resolver that knows nothing yet.
    pub fn new(config: Arc<ResolverConfig>) -> Self {
        let (known, pending) = (RefCell::default(), RefCell::default());
        Self(Rc::new(Inner { config, known, pending, next_server: Cell::new(0) }))
    }

    /// The addresses of a name, remembered for as long as they hold. A look-up goes on, for whoever asks next, when this
    /// one has waited `timeout_ms` in vain (`resolver_timeout`).
    pub async fn resolve(&self, name: &str, timeout_ms: u64) -> Answer {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if !message::is_name(&name) {
            return Err(ResolveError::NoName);
        }
        let now = clock::now();
        if let Some(known) = self.0.known.borrow().get(&name).filter(|known| known.until > now) {
            return Ok(Arc::clone(&known.addresses));
        }
        let pending = self.pending(name)?;
        let waited = tokio::time::timeout(Duration::from_millis(timeout_ms), pending.wait()).await;
        waited.unwrap_or(Err(ResolveError::TimedOut))
    }

    /// The look-up of a name, begun unless it is under way.
    fn pending(&self, name: String) -> Result<Rc<Pending>, ResolveError> {
        let mut all = self.0.pending.borrow_mut();
        if let Some(pending) = all.get(&name) {
            return Ok(Rc::clone(pending));
        }
        if all.len() >= MOST_QUERIES {
            return Err(ResolveError::Busy);
        }
        let pending = Rc::new(Pending::default());
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
            self.remember(&name, &addresses, valid_ms);
            addresses
        });
        if let Some(pending) = self.pending.borrow_mut().remove(&name) {
            *pending.answer.borrow_mut() = Some(answer);
            pending.done.notify_waiters();
        }
    }

    fn remember(&self, name: &str, addresses: &Arc<[IpAddr]>, valid_ms: u64) {
        let now = clock::now();
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_NAMES {
            known.retain(|_, known| known.until > now);
        }
        if known.len() < MOST_NAMES && valid_ms > 0 {
            let until = now.saturating_add(valid_ms);
            known.insert(name.to_owned(), Known { addresses: Arc::clone(addresses), until });
        }
    }
}

impl Pending {
    async fn wait(&self) -> Answer {
        loop {
            // One thread: nothing can come between the look and the wait.
            if let Some(answer) = &*self.answer.borrow() {
                return answer.clone();
            }
            self.done.notified().await;
        }
    }
}
