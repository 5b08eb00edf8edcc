//! Observation of the running server: rankings of pages by cost, live events, and history.
//!
//! | file | content |
//! |---|---|
//! | `record_request` | addition of a finished request to the rankings of its worker |
//! | `live_events` | readers of live events, and the newest event |
//! | `untrusted_proxies` | clients that send `X-Forwarded-For` but are not trusted |
//!
//! ```text
//! finished request -> a sample of hits and quick misses; all other misses
//!                  -> rankings of its worker, which the worker and readers lock
//! observer thread  -> every second while there are readers: a tick -> newest event for all readers
//!                  -> every ten seconds: a step of the history
//! ```

mod live_events;
mod record_request;
mod untrusted_proxies;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::ranking::history::History;
use crate::ranking::{PageRankings, Sampling};
use myriad_conf::SourceFile;
use parking_lot::Mutex;

pub use live_events::{
    EventFeed, EventReader, LatestEvents, LiveEvents, ObserverWake, RecentEvent, RecentEventKind, Tick,
    TooMany,
};
pub use record_request::note;
pub use untrusted_proxies::{SenderCounts, UntrustedProxies};

/// Observations of the traffic (rankings, history, live events), shared by all workers of a process.
#[derive(Debug)]
pub struct SiteObservation {
    /// Rankings of pages (such as most requested, slowest), one per worker, indexed by worker number.
    pub tops: Box<[Mutex<PageRankings>]>,
    /// Feed from which clients read live events: statistics, purges and findings of the leak guard.
    pub live: EventFeed,
    /// Statistics of the last two weeks; `None` with `history off`, and before the observer thread has created them.
    pub history: Mutex<Option<History>>,
    /// Start time of the process, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Number of reloads since the process started.
    pub reloads: AtomicU64,
    /// Addresses of clients that send `X-Forwarded-For` but are not trusted proxies.
    pub senders: UntrustedProxies,
    /// Configuration files with their texts, which explanations of requests quote.
    pub sources: Mutex<Arc<[SourceFile]>>,
}

impl SiteObservation {
    /// Creates empty observations for this number of workers. `now_ms` is the start time of the process, in
    /// milliseconds since the epoch.
    pub fn new(workers: usize, now_ms: u64) -> Self {
        Self {
            tops: (0..workers).map(|_| Mutex::new(PageRankings::new(now_ms))).collect(),
            live: EventFeed::default(),
            history: Mutex::default(),
            started_ms: now_ms,
            reloads: AtomicU64::new(0),
            senders: UntrustedProxies::default(),
            sources: Mutex::new(Arc::default()),
        }
    }
}

/// State with which one worker records its requests for rankings and live events.
#[derive(Debug)]
pub struct WorkerObservation {
    /// Observations shared with the other workers.
    pub shared: Arc<SiteObservation>,
    /// Sampling of cache hits, and of requests that used neither a cache nor an origin, for the rankings.
    hits: Sampling,
    /// Sampling of misses with a status below 500 that took less than a millisecond, for the rankings.
    quick: Sampling,
    /// Buffer for the URL of the request being recorded.
    url: RefCell<Vec<u8>>,
}

impl WorkerObservation {
    /// Creates the state of the worker with number `worker`.
    pub fn new(shared: Arc<SiteObservation>, worker: usize) -> Self {
        let seed = shared.started_ms ^ (worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            shared,
            hits: Sampling::new(seed),
            quick: Sampling::new(seed.rotate_left(32)),
            url: RefCell::default(),
        }
    }
}
