//! What is seen of the running server: pages ranked by what they cost, events for those who watch, a history.
//!
//! | file | what |
//! |---|---|
//! | `note` | a finished request, taken into the rankings of its worker |
//! | `live` | those who watch, and the newest event for them |
//! | `senders` | senders with `X-Forwarded-For` that are not trusted |
//!
//! ```text
//! a finished request -> one of some hits and quick misses, every other miss -> the worker's own rankings, locked by it and by whoever reads
//! observer, a thread -> once a second while somebody watches: a tick -> the newest for all readers
//!                    -> every ten seconds: a step of the history
//! ```

mod live;
mod note;
mod senders;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use myriad_conf::Source;
use myriad_sight::history::History;
use myriad_sight::{PageTops, Sampling};
use parking_lot::Mutex;

pub use live::{Live, News, Reader, Tick, Told, TooMany, Wake};
pub use note::note;
pub use senders::{SenderCounts, Senders};

/// What all workers of a process share.
#[derive(Debug)]
pub struct Sight {
    /// The rankings of each worker, by its number.
    pub tops: Box<[Mutex<PageTops>]>,
    /// Those who watch.
    pub live: Live,
    /// Figures of two weeks; none with `history off`.
    pub history: Mutex<Option<History>>,
    /// When the process began, milliseconds since the epoch.
    pub started_ms: u64,
    /// How often the configuration was replaced.
    pub reloads: AtomicU64,
    /// Senders with `X-Forwarded-For` that are not trusted.
    pub senders: Senders,
    /// The files of the configuration, for explanations.
    pub sources: Mutex<Arc<[Source]>>,
}

impl Sight {
    /// Nothing seen yet by so many workers.
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

/// What one worker has of it.
#[derive(Debug)]
pub struct WorkerSight {
    /// What it shares with the others.
    pub shared: Arc<Sight>,
    /// Which of its hits are counted.
    hits: Sampling,
    /// Which of the answers that its origins gave at once.
    quick: Sampling,
    /// Memory for the URL of a page.
    url: RefCell<Vec<u8>>,
}

impl WorkerSight {
    /// The part of a worker.
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
