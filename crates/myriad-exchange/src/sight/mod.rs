//! Observation of the running server: pages ranked by their cost, live events, and a history.
//!
//! | file | content |
//! |---|---|
//! | `note` | addition of a finished request to the rankings of its worker |
//! | `live` | readers of live events, and the newest event |
//! | `senders` | untrusted senders with `X-Forwarded-For` |
//!
//! ```text
//! finished request -> a sample of hits and quick misses, every other miss -> rankings of the worker, locked by it and by readers
//! observer thread  -> every second while there are readers: a tick -> newest event for all readers
//!                  -> every ten seconds: a step of the history
//! ```

mod live;
mod note;
mod senders;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::ranking::history::History;
use crate::ranking::{PageTops, Sampling};
use myriad_conf::Source;
use parking_lot::Mutex;

pub use live::{Live, News, Reader, Tick, Told, TooMany, Wake};
pub use note::note;
pub use senders::{SenderCounts, Senders};

/// State shared by all workers of a process.
#[derive(Debug)]
pub struct Sight {
    /// Rankings of each worker, by its number.
    pub tops: Box<[Mutex<PageTops>]>,
    /// Readers of live events.
    pub live: Live,
    /// Figures of two weeks; `None` with `history off`.
    pub history: Mutex<Option<History>>,
    /// Start time of the process, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Number of reloads.
    pub reloads: AtomicU64,
    /// Untrusted senders with `X-Forwarded-For`.
    pub senders: Senders,
    /// Files of the configuration, for explanations.
    pub sources: Mutex<Arc<[Source]>>,
}

impl Sight {
    /// Creates an empty state for this number of workers.
    pub fn new(workers: usize, now_ms: u64) -> Self {
        Self {
            tops: (0..workers).map(|_| Mutex::new(PageTops::new(now_ms))).collect(),
            live: Live::default(),
            history: Mutex::default(),
            started_ms: now_ms,
            reloads: AtomicU64::new(0),
            senders: Senders::default(),
            sources: Mutex::new(Arc::default()),
        }
    }
}

/// State of one worker.
#[derive(Debug)]
pub struct WorkerSight {
    /// State shared with the other workers.
    pub shared: Arc<Sight>,
    /// Sampling of hits.
    hits: Sampling,
    /// Sampling of quick responses of origins.
    quick: Sampling,
    /// Buffer for the URL of a page.
    url: RefCell<Vec<u8>>,
}

impl WorkerSight {
    /// Creates the state of a worker.
    pub fn new(shared: Arc<Sight>, worker: usize) -> Self {
        let seed = shared.started_ms ^ (worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            shared,
            hits: Sampling::new(seed),
            quick: Sampling::new(seed.rotate_left(32)),
            url: RefCell::default(),
        }
    }
}
