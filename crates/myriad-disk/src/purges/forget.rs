//! Removal of purges that can no longer cover any page from the purge log and from memory.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use super::Purges;
use super::round::{PurgeRound, Settling, Syncing};
use crate::memory_tier::MemoryTier;
use crate::purge_log;

/// Interval between two attempts to remove obsolete purges from the log, in milliseconds.
const SETTLE_MS: u64 = 30_000;

impl Purges {
    /// Removes obsolete purges from log and memory, in several steps: determines them, waits for the removal of files
    /// and for writes in progress, syncs the file system.
    pub(super) fn settle(self: &Arc<Self>, round: &mut PurgeRound, memory: &dyn MemoryTier) {
        match &mut round.settling {
            None => round.settling = self.begin_settling(round, memory),
            Some(settling) => match &settling.sync {
                None => self.sync_when_gone(settling),
                Some(sync) if sync.is_finished.load(SeqCst) => {
                    if sync.done.load(SeqCst) {
                        self.forget(settling.upto);
                    }
                    round.settling = None;
                }
                Some(_) => {}
            },
        }
    }

    fn begin_settling(&self, round: &mut PurgeRound, memory: &dyn MemoryTier) -> Option<Settling> {
        let now = self.file_store.health.now();
        if now < round.settle_at {
            return None;
        }
        let oldest = {
            let log = self.log.lock();
            let log = log.as_ref()?;
            // A newer process has fetches in progress that this process does not know.
            if log.newer_start().is_some() {
                return None;
            }
            log.book.oldest()?
        };
        let upto = self.forgettable_through(round, memory);
        let file_index = self.file_store.file_index.lock();
        if oldest > upto || !file_index.complete || file_index.softened.has_unwritten() {
            return None;
        }
        let doomed = file_index.first_doomed(usize::MAX).into_iter().map(|(name, _)| name).collect();
        Some(Settling { upto, doomed, writes: file_index.writes.next(), sync: None })
    }

    /// Removes obsolete purges only in memory, without the writer lease: the log retains them until a process with the
    /// lease has removed the files.
    pub(super) fn settle_in_memory(&self, round: &mut PurgeRound, memory: &dyn MemoryTier) {
        if self.file_store.health.now() < round.settle_at {
            return;
        }
        let upto = self.forgettable_through(round, memory);
        let mut file_index = self.file_store.file_index.lock();
        // A file that the recovery has not found yet may still be read by its name.
        if file_index.complete && !file_index.softened.has_unwritten() {
            file_index.softened.forget(upto);
            self.forgotten_through.fetch_max(upto, SeqCst);
        }
    }

    /// Returns the number of the newest purge that all pages have been checked against: in memory, in the file index,
    /// and those being fetched or written. Sets the time of the next attempt and, if too many purges are active,
    /// prevents slow fetches from storing their pages.
    fn forgettable_through(&self, round: &mut PurgeRound, memory: &dyn MemoryTier) -> u64 {
        round.settle_at = self.file_store.health.now().saturating_add(SETTLE_MS);
        let asked = self.checked_through();
        // Purges from now on get higher numbers.
        let newest = memory.sequence().saturating_sub(1);
        let upto = if memory.newest_rule() > asked { asked } else { newest };
        let tried_at = std::mem::replace(&mut round.tried_at, newest);
        if memory.is_crowded() {
            // Otherwise, a client that reads a long body slowly would prevent purges from being removed.
            memory.prevent_storing_before(upto.min(tried_at));
        }
        let upto = upto.min(memory.oldest_flight().saturating_sub(1));
        self.note_softened(memory);
        upto
    }

    /// Queues a sync of the file system once the files that the obsolete purges covered are deleted and earlier writes
    /// have finished.
    fn sync_when_gone(self: &Arc<Self>, settling: &mut Settling) {
        {
            let file_index = self.file_store.file_index.lock();
            settling.doomed.retain(|name| file_index.is_doomed(*name));
            if !settling.doomed.is_empty() || file_index.writes.oldest() < settling.writes {
                return;
            }
        }
        let sync = Arc::<Syncing>::default();
        settling.sync = Some(Arc::clone(&sync));
        let (purges, for_job) = (Arc::clone(self), Arc::clone(&sync));
        let job = move || {
            let synced =
                File::open(&purges.file_store.files.root).is_ok_and(|root| rustix::fs::syncfs(&root).is_ok());
            purges.syncs.fetch_add(u64::from(synced), SeqCst);
            for_job.done.store(synced, SeqCst);
            for_job.is_finished.store(true, SeqCst);
        };
        if self.file_store.pool.write(0, Box::new(job)).is_err() {
            sync.is_finished.store(true, SeqCst);
        }
    }

    /// Removes the purges with numbers up to `upto` from the log and from the records of soft-purged files.
    fn forget(&self, upto: u64) {
        {
            let mut log = self.log.lock();
            let Some(log) = log.as_mut() else { return };
            log.book.drop_through(upto);
            if let Err(error) = log.rewrite() {
                self.file_store.health.record_write_failure(
                    "write()",
                    &purge_log::path(&self.file_store.files.root),
                    error,
                );
            }
        }
        self.file_store.file_index.lock().softened.forget(upto);
        self.forgotten_through.fetch_max(upto, SeqCst);
    }
}
