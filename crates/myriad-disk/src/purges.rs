//! Purges of files.
//!
//! ```text
//!   requested: in force --> logged, counted in memory and on disk: complete
//!     --> rules: every file checked --> files removed, or marked as stale --> synced: forgotten
//! ```
//!
//! The files of a label or a key are found in the catalogue. The files covered by a rule are found by checking every
//! file, a few at a time; reading a file before that checks its page as well. A purge is forgotten once no page that it
//! covers can reappear, not even after a power loss.
//!
//! | file | contents |
//! |---|---|
//! | `exact` | search for the files of keys and labels |
//! | `rules` | check of files against rules; marking of files as stale |
//! | `forget`, `round` | removal of obsolete purges; its progress |

mod exact;
mod forget;
mod round;
mod rules;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::index::{Count, ExactPurge, Giver, Purge, PurgeError, PurgeRecord, Purged, Purging, ticket};
use parking_lot::Mutex;

use crate::first_stretch::FirstStretch;
use crate::folder::Folder;
use crate::memory_tier::MemoryTier;
use crate::options::DiskEvent;
use crate::purge_log::{self, PurgeLog};
use crate::sequence;
use crate::shelf::Shelf;

use round::Round;

/// Maximum number of keys in a record of the log.
const TAKEN: usize = 1024;

/// Purge that waits to be logged.
struct Waiting {
    record: PurgeRecord,
    exact: Option<Arc<ExactPurge>>,
    end: Giver<Result<Purged, PurgeError>>,
}

/// Purges that wait to be logged, all with one `fdatasync`.
#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Set if a writing job is queued or running.
    running: bool,
}

/// Purges of a folder.
pub(crate) struct Purges {
    shelf: Arc<Shelf>,
    folder: Arc<Folder>,
    /// Signalled once the files of a small folder are known.
    pub(crate) first_stretch: FirstStretch,
    /// `None` until the folder can be used.
    log: Mutex<Option<PurgeLog>>,
    queue: Mutex<Queue>,
    round: Mutex<Round>,
    /// All files were checked by the rules up to this number.
    asked: AtomicU64,
    /// Purges up to this number are forgotten.
    settled: AtomicU64,
    /// Number of syncs that made all earlier writes durable.
    pub(crate) syncs: AtomicU64,
}

impl Purges {
    pub(crate) fn new(shelf: &Arc<Shelf>, folder: &Arc<Folder>) -> Self {
        Self {
            shelf: Arc::clone(shelf),
            folder: Arc::clone(folder),
            first_stretch: FirstStretch::default(),
            log: Mutex::default(),
            queue: Mutex::default(),
            round: Mutex::default(),
            asked: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        }
    }

    /// Returns the number up to which rules have checked all files.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(SeqCst)
    }

    /// Returns the number up to which purges are forgotten.
    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(SeqCst)
    }

    fn with_log(&self, job: impl FnOnce(&mut PurgeLog) -> io::Result<()>) -> io::Result<()> {
        match self.log.lock().as_mut() {
            Some(log) => job(log),
            None => Err(io::Error::other("the folder cannot be used")),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn is_log_free(&self) -> bool {
        self.log.try_lock().is_some()
    }

    /// Reads the log of former runs, which must be in force before the first file is read. Also returns whether
    /// completed purges may be lost.
    pub(crate) fn open(&self) -> io::Result<(PurgeLog, bool)> {
        let (log, found) = PurgeLog::open(&self.shelf.files.root)?;
        if found.is_damaged {
            self.shelf.health.tell(&DiskEvent::PurgesDamaged {
                path: purge_log::path(&self.shelf.files.root),
                all: found.is_lost,
            });
        }
        Ok((log, found.is_lost))
    }

    /// Puts the purges of the log in force, and adds those of this run to it.
    pub(crate) fn begin(&self, mut log: PurgeLog, is_lost: bool) -> io::Result<()> {
        let Some(memory) = self.shelf.memory.upgrade() else { return Ok(()) };
        let early = memory.begin_purges(&log.book, is_lost);
        if !early.is_empty() || log.is_behind() {
            log.append(&early)?;
        }
        *self.log.lock() = Some(log);
        Ok(())
    }

    /// Logs a purge that is already in force, and finds its files.
    pub(crate) fn purge(self: &Arc<Self>, record: PurgeRecord, exact: Option<Arc<ExactPurge>>) -> Purging {
        let (end, ticket) = ticket();
        let begins = {
            let mut queue = self.queue.lock();
            queue.waiting.push(Waiting { record, exact, end });
            !std::mem::replace(&mut queue.running, true)
        };
        if begins {
            let purges = Arc::clone(self);
            self.shelf.pool.urgent(Box::new(move || purges.run()));
        }
        Purging::waiting(ticket)
    }

    /// Logs the waiting purges. Purges that arrive during a write share the next `fdatasync`.
    fn run(&self) {
        loop {
            let batch = {
                let mut queue = self.queue.lock();
                queue.running = !queue.waiting.is_empty();
                std::mem::take(&mut queue.waiting)
            };
            if batch.is_empty() {
                return;
            }
            let records: Vec<PurgeRecord> = batch.iter().map(|waiting| waiting.record.clone()).collect();
            let logged = self.write_down(&records);
            // Counting files of keys and labels may have to wait for the first step of the recovery.
            let (exact, ruled): (Vec<_>, Vec<_>) =
                batch.into_iter().partition(|waiting| waiting.exact.is_some());
            for waiting in ruled.into_iter().chain(exact) {
                let number = waiting.record.number();
                let count =
                    waiting.exact.map_or(Count::Later, |exact| self.take_exact(&exact, logged.is_ok()));
                waiting.end.give(match &logged {
                    Ok(()) => Ok(Purged { number, count }),
                    Err(error) => Err(PurgeError::Unlogged(io::Error::new(error.kind(), error.to_string()))),
                });
            }
        }
    }

    /// Purges the keys of pages with outdated files, for the next start only, because this run is over. `late` are the
    /// hashes of keys in the backlog.
    pub(crate) fn void(&self, late: Vec<u128>) {
        let Some(memory) = self.shelf.memory.upgrade() else { return };
        let keys: Vec<u128> = {
            let catalogue = self.shelf.catalogue.lock();
            let late = late.into_iter().filter(|hash| catalogue.of_hash(*hash).next().is_some());
            late.chain(catalogue.unfinished()).collect()
        };
        let number = memory.sequence();
        let record = |keys: &[u128]| PurgeRecord::Exact {
            number,
            purge: Purge::Hard,
            keys: keys.into(),
            labels: [].into(),
        };
        let records: Vec<PurgeRecord> = keys.chunks(TAKEN).map(record).collect();
        if !records.is_empty() {
            // A failure is reported by the callee.
            let _ = self.write_down(&records);
        }
    }

    fn write_down(&self, records: &[PurgeRecord]) -> io::Result<()> {
        let mut logged = self.with_log(|log| log.append(records));
        if logged.is_err() && self.folder.is_removed() {
            // Files of the removed folder cannot reappear, whether or not a log exists in the next folder. The log is
            // not locked meanwhile, because the disk operation may be slow.
            self.folder.notice_removed();
            logged = if self.folder.is_removed() { Ok(()) } else { self.with_log(PurgeLog::write_anew) };
        }
        if let Err(error) = &logged {
            let told = io::Error::new(error.kind(), error.to_string());
            self.shelf.health.failed("write()", &purge_log::path(&self.shelf.files.root), told);
        }
        logged
    }

    /// Puts the purges of another process that uses the folder in force.
    fn adopt(&self, memory: &Arc<dyn MemoryTier>) {
        let news = match self.log.lock().as_mut().map(PurgeLog::take_news) {
            None => return,
            Some(Ok(news)) => news,
            Some(Err(error)) => {
                return self.shelf.health.troubled("read()", &purge_log::path(&self.shelf.files.root), error);
            }
        };
        if news.is_empty() {
            return;
        }
        let numbered = memory.adopt_purges(&news);
        for exact in numbered.exact() {
            Arc::clone(memory).take_exact(&exact);
        }
        self.recall_book(&numbered);
        if let Some(log) = self.log.lock().as_mut() {
            log.adopt(&numbered);
        }
    }

    /// Applies the purges of former runs to the files of a snapshot.
    pub(crate) fn recall(&self) {
        let book = match &*self.log.lock() {
            Some(log) => log.book.clone(),
            None => return,
        };
        self.recall_book(&book);
    }

    /// Applies purges while another process has the lease and removes files. Purged files count as removed here, so
    /// that no purge has to be retained for them. Nothing may be written in their place meanwhile.
    pub(crate) fn tend_without_lease(&self) {
        let Some(memory) = self.shelf.memory.upgrade() else { return };
        let mut round = self.round.lock();
        self.write_behind();
        self.adopt(&memory);
        self.note_softened(&*memory);
        while self.write_softened() {}
        self.ask_files(&mut round, &*memory);
        self.settle_in_memory(&mut round, &*memory);
    }

    /// Takes the numbers of a new start, after the process of a newer start is gone and its files are removed. Returns
    /// the first of these numbers, and the first number of the former start.
    pub(crate) fn renumber(&self) -> io::Result<(u64, Option<u64>)> {
        let mut log = self.log.lock();
        let log = log.as_mut().ok_or_else(|| io::Error::other("the folder cannot be used"))?;
        let _locked = purge_log::lock(&self.shelf.files.root)?;
        let numbers = sequence::begin(&self.shelf.files.root, log.book.newest())?;
        log.epoch = numbers.0;
        if let Some(memory) = self.shelf.memory.upgrade() {
            memory.sequence_at_least(numbers.0);
        }
        Ok(numbers)
    }

    /// Does a bounded part of the pending work for purges. Returns whether more remains.
    pub(crate) fn tend(self: &Arc<Self>) -> bool {
        let Some(memory) = self.shelf.memory.upgrade() else { return false };
        let mut round = self.round.lock();
        self.write_behind();
        self.adopt(&memory);
        self.note_softened(&*memory);
        let softened = self.write_softened();
        let asked = self.ask_files(&mut round, &*memory);
        self.settle(&mut round, &*memory);
        softened || asked
    }

    /// Logs the purges that could not be logged before.
    fn write_behind(&self) {
        let mut log = self.log.lock();
        let behind = log.as_mut().filter(|log| log.is_behind());
        if let Some(log) = behind
            && self.shelf.health.is_time_to_write()
        {
            match log.write_anew() {
                Ok(()) => self.shelf.health.works(),
                Err(error) => {
                    self.shelf.health.failed("write()", &purge_log::path(&self.shelf.files.root), error);
                }
            }
        }
    }
}
