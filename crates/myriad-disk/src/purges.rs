//! Purges of a zone's files.
//!
//! ```text
//!   requested: in force --> logged, counted in memory and on disk: complete
//!     --> rules: every file checked --> files removed, or marked as stale --> synced: forgotten
//! ```
//!
//! Files of a label or key are found in the file index. Files covered by a rule are found by checking every file, a few
//! at a time; until then, reading a file checks its page. A purge is forgotten once no page that it covers can
//! reappear, even after a power loss.
//!
//! | file | contents |
//! |---|---|
//! | `exact` | purges of keys and labels |
//! | `rules` | checks of all files against rules; marking of files as stale |
//! | `forget`, `round` | removal of obsolete purges; progress of the periodic work |

mod exact;
mod forget;
mod round;
mod rules;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::index::{
    ExactPurge, LoggedPurge, PurgeCount, PurgeError, PurgeFuture, PurgeKind, PurgeRecord, ValueSender,
    value_channel,
};
use parking_lot::Mutex;

use crate::file_store::FileStore;
use crate::first_recovery_step::FirstRecoveryStep;
use crate::folder::FolderHandle;
use crate::memory_tier::MemoryTier;
use crate::options::DiskEvent;
use crate::purge_log::{self, PurgeLog};
use crate::sequence;

use round::PurgeRound;

/// Maximum number of keys in one of the purges that are logged at shutdown.
const MAX_KEYS_PER_RECORD: usize = 1024;

/// Purge that is waiting to be written to the purge log.
struct PendingPurge {
    record: PurgeRecord,
    exact: Option<Arc<ExactPurge>>,
    end: ValueSender<Result<LoggedPurge, PurgeError>>,
}

/// Purges that are waiting to be written to the purge log, all with one `fdatasync`.
#[derive(Default)]
struct LogQueue {
    waiting: Vec<PendingPurge>,
    /// Set if a job that writes the purge log is queued or running.
    running: bool,
}

/// Purges of a zone's files: their log, and their application to files.
pub(crate) struct Purges {
    file_store: Arc<FileStore>,
    folder: Arc<FolderHandle>,
    /// Signal for purges that the first step of the search at startup is complete: all files of a small folder are
    /// known then.
    pub(crate) first_stretch: FirstRecoveryStep,
    /// Purge log; `None` until the folder can be used.
    log: Mutex<Option<PurgeLog>>,
    queue: Mutex<LogQueue>,
    round: Mutex<PurgeRound>,
    /// Number up to which purges by rule have been checked against all files.
    checked_through: AtomicU64,
    /// Number up to which this process no longer needs purges, because no file remains that they could cover.
    forgotten_through: AtomicU64,
    /// Number of syncs of the file system so far, each done before purges are removed from the log.
    pub(crate) syncs: AtomicU64,
}

impl Purges {
    pub(crate) fn new(file_store: &Arc<FileStore>, folder: &Arc<FolderHandle>) -> Self {
        Self {
            file_store: Arc::clone(file_store),
            folder: Arc::clone(folder),
            first_stretch: FirstRecoveryStep::default(),
            log: Mutex::default(),
            queue: Mutex::default(),
            round: Mutex::default(),
            checked_through: AtomicU64::new(0),
            forgotten_through: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        }
    }

    /// Returns the number up to which purges by rule have been checked against all files.
    pub(crate) fn checked_through(&self) -> u64 {
        self.checked_through.load(SeqCst)
    }

    /// Returns the number up to which this process no longer needs purges, because no file remains that they could
    /// cover.
    pub(crate) fn forgotten_through(&self) -> u64 {
        self.forgotten_through.load(SeqCst)
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

    /// Reads the log of former runs, and reports damage; its purges must be active before the first file is read. Also
    /// returns true if completed purges may have been lost.
    pub(crate) fn open(&self) -> io::Result<(PurgeLog, bool)> {
        let (log, found) = PurgeLog::open(&self.file_store.files.root)?;
        if found.is_damaged {
            self.file_store.health.report_event(&DiskEvent::PurgesDamaged {
                path: purge_log::path(&self.file_store.files.root),
                all: found.is_lost,
            });
        }
        Ok((log, found.is_lost))
    }

    /// Activates the purges of the log (a purge of everything if `is_lost`), and logs those that were made by this run
    /// before. Fails if they cannot be logged.
    pub(crate) fn begin(&self, mut log: PurgeLog, is_lost: bool) -> io::Result<()> {
        let Some(memory) = self.file_store.memory.upgrade() else { return Ok(()) };
        let early = memory.begin_purges(&log.book, is_lost);
        if !early.is_empty() || log.has_unwritten() {
            log.append(&early)?;
        }
        *self.log.lock() = Some(log);
        Ok(())
    }

    /// Queues an active purge for the log. The future completes once it is logged and, for a purge of keys and labels,
    /// its files are marked; files covered by a rule are found later.
    pub(crate) fn purge(
        self: &Arc<Self>,
        record: PurgeRecord,
        exact: Option<Arc<ExactPurge>>,
    ) -> PurgeFuture {
        let (end, ticket) = value_channel();
        let begins = {
            let mut queue = self.queue.lock();
            queue.waiting.push(PendingPurge { record, exact, end });
            !std::mem::replace(&mut queue.running, true)
        };
        if begins {
            let purges = Arc::clone(self);
            self.file_store.pool.urgent(Box::new(move || purges.log_waiting()));
        }
        PurgeFuture::waiting(ticket)
    }

    /// Logs the waiting purges in batches, applies those of keys and labels, even if logging failed, and sends the
    /// results. Purges that arrive during a write share the next `fdatasync`.
    fn log_waiting(&self) {
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
            let logged = self.log_records(&records);
            // Counting files of keys and labels may have to wait for the first step of the recovery.
            let (exact, ruled): (Vec<_>, Vec<_>) =
                batch.into_iter().partition(|waiting| waiting.exact.is_some());
            for waiting in ruled.into_iter().chain(exact) {
                let number = waiting.record.number();
                let count =
                    waiting.exact.map_or(PurgeCount::Later, |exact| self.apply_exact(&exact, logged.is_ok()));
                waiting.end.send(match &logged {
                    Ok(()) => Ok(LoggedPurge { number, count }),
                    Err(error) => Err(PurgeError::Unlogged(io::Error::new(error.kind(), error.to_string()))),
                });
            }
        }
    }

    /// Logs purges at shutdown, for the next start: of the keys of pages that were not written or removed in time, and
    /// of the key hashes `late` from the backlog that have files.
    pub(crate) fn purge_outdated(&self, late: Vec<u128>) {
        let Some(memory) = self.file_store.memory.upgrade() else { return };
        let keys: Vec<u128> = {
            let file_index = self.file_store.file_index.lock();
            let late = late.into_iter().filter(|hash| file_index.files_of_hash(*hash).next().is_some());
            late.chain(file_index.unfinished()).collect()
        };
        let number = memory.sequence();
        let record = |keys: &[u128]| PurgeRecord::Exact {
            number,
            purge: PurgeKind::Hard,
            keys: keys.into(),
            labels: [].into(),
        };
        let records: Vec<PurgeRecord> = keys.chunks(MAX_KEYS_PER_RECORD).map(record).collect();
        if !records.is_empty() {
            // `log_records` has reported the failure.
            let _ = self.log_records(&records);
        }
    }

    fn log_records(&self, records: &[PurgeRecord]) -> io::Result<()> {
        let mut logged = self.with_log(|log| log.append(records));
        if logged.is_err() && self.folder.is_removed() {
            // Files of the removed folder cannot reappear, so the purge need not be in its log. The log is not locked
            // meanwhile, because disk operations may be slow.
            self.folder.handle_removal();
            logged = if self.folder.is_removed() { Ok(()) } else { self.with_log(PurgeLog::rewrite) };
        }
        if let Err(error) = &logged {
            let error_copy = io::Error::new(error.kind(), error.to_string());
            self.file_store.health.record_write_failure(
                "write()",
                &purge_log::path(&self.file_store.files.root),
                error_copy,
            );
        }
        logged
    }

    /// Activates purges that another process has logged, and applies them to the files.
    fn adopt(&self, memory: &Arc<dyn MemoryTier>) {
        let news = match self.log.lock().as_mut().map(PurgeLog::take_news) {
            None => return,
            Some(Ok(news)) => news,
            Some(Err(error)) => {
                return self.file_store.health.record_failure(
                    "read()",
                    &purge_log::path(&self.file_store.files.root),
                    error,
                );
            }
        };
        if news.is_empty() {
            return;
        }
        let numbered = memory.adopt_purges(&news);
        for exact in numbered.exact() {
            Arc::clone(memory).apply_exact(&exact);
        }
        self.recall_book(&numbered);
        if let Some(log) = self.log.lock().as_mut() {
            log.adopt(&numbered);
        }
    }

    /// Applies the logged purges of former runs to the files of a snapshot.
    pub(crate) fn recall(&self) {
        let book = match &*self.log.lock() {
            Some(log) => log.book.clone(),
            None => return,
        };
        self.recall_book(&book);
    }

    /// Does the maintenance of purges without the writer lease. Covered files count as removed here and are not
    /// deleted, so that this process need not retain a purge for them. Nothing may be written in their place meanwhile.
    pub(crate) fn maintain_without_lease(&self) {
        let Some(memory) = self.file_store.memory.upgrade() else { return };
        let mut round = self.round.lock();
        self.write_pending();
        self.adopt(&memory);
        self.note_softened(&*memory);
        while self.write_softened() {}
        self.check_files(&mut round, &*memory);
        self.settle_in_memory(&mut round, &*memory);
    }

    /// Takes the sequence numbers of a new start, after the files of a newer process that is gone were deleted. Returns
    /// the first of these numbers, and the first number of the former start (`None` if none is stored). Fails if the
    /// folder cannot be used.
    pub(crate) fn renumber(&self) -> io::Result<(u64, Option<u64>)> {
        let mut log = self.log.lock();
        let log = log.as_mut().ok_or_else(|| io::Error::other("the folder cannot be used"))?;
        let _locked = purge_log::lock(&self.file_store.files.root)?;
        let numbers = sequence::begin(&self.file_store.files.root, log.book.newest())?;
        log.epoch = numbers.0;
        if let Some(memory) = self.file_store.memory.upgrade() {
            memory.sequence_at_least(numbers.0);
        }
        Ok(numbers)
    }

    /// Does a bounded part of the pending work for purges. Returns true if more remains.
    pub(crate) fn maintain(self: &Arc<Self>) -> bool {
        let Some(memory) = self.file_store.memory.upgrade() else { return false };
        let mut round = self.round.lock();
        self.write_pending();
        self.adopt(&memory);
        self.note_softened(&*memory);
        let softened = self.write_softened();
        let asked = self.check_files(&mut round, &*memory);
        self.settle(&mut round, &*memory);
        softened || asked
    }

    /// Rewrites the log if it lacks purges that could not be logged before, unless writing is paused after a failure.
    fn write_pending(&self) {
        let mut log = self.log.lock();
        let pending_log = log.as_mut().filter(|log| log.has_unwritten());
        if let Some(log) = pending_log
            && self.file_store.health.may_attempt_write()
        {
            match log.rewrite() {
                Ok(()) => self.file_store.health.record_success(),
                Err(error) => {
                    self.file_store.health.record_write_failure(
                        "write()",
                        &purge_log::path(&self.file_store.files.root),
                        error,
                    );
                }
            }
        }
    }
}
