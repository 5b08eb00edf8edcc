//! Periodic maintenance of a folder: recovery, purges, removed files, limits, inactive pages, snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::index::EvictionPosition;
use parking_lot::Mutex;

use crate::file_store::FileStore;
use crate::files::create_folder;
use crate::folder::FolderHandle;
use crate::memory_tier::MemoryTier;
use crate::pool::Maintain;
use crate::purge_log;
use crate::purges::Purges;
use crate::recover::{Recovery, StartNumbers};
use crate::sequence;
use crate::snapshot::{self, Snapshot};

/// Interval of maintenance rounds without other work, within which removed files are noticed.
const PAUSE: Duration = Duration::from_millis(200);
/// Interval of maintenance rounds while purges have work left or pages wait in the write backlog.
const BUSY: Duration = Duration::from_millis(10);
/// Interval of checks whether the folder's limits are exceeded, and of other slow tasks.
const SLOW: Duration = Duration::from_secs(1);
/// Interval of snapshots of the file index.
const SNAPSHOT: Duration = Duration::from_mins(5);
/// Maximum number of files whose existence is checked per round if events of removed files may be missing.
const FILES_PER_STEP: u32 = 1000;
/// Maximum number of files evicted in one periodic check of the limits, and of files marked as removed that are deleted
/// per round.
const REMOVALS_PER_STEP: u64 = 1000;

/// Progress of the maintenance tasks that take several rounds.
#[derive(Debug, Default)]
struct Rounds {
    /// Slot of the file index at which the search for inactive pages continues.
    sweep: u32,
    /// Time of the next step of the search for inactive pages; `None` for immediately.
    sweep_at: Option<Instant>,
    /// Slot of the file index at which the check whether all files exist continues; `None` if no such check is in
    /// progress.
    presence: Option<u32>,
    slow_at: Option<Instant>,
    snapshot_at: Option<Instant>,
}

/// Periodic maintenance of a zone's folder.
pub(crate) struct FolderMaintenance {
    file_store: Arc<FileStore>,
    folder: Arc<FolderHandle>,
    purges: Arc<Purges>,
    pub(crate) recovery: Recovery,
    /// Sequence numbers of this start; `None` until the folder could be written.
    start: Mutex<Option<StartNumbers>>,
    rounds: Mutex<Rounds>,
}

/// Returns the number of slots of the file index per step of the search for inactive pages (64 to 50,000), so that the
/// search passes all slots eight times per `inactive_ms`. More passes would cost a zone of a million files 5% of a core
/// without benefit.
fn sweep_step_len(slots: u32, inactive_ms: u64, pause: Duration) -> u32 {
    let stretches = inactive_ms / 8 / (pause.as_millis() as u64).max(1);
    (u64::from(slots) / stretches.max(1)).clamp(64, 50_000) as u32
}

/// Returns true if the time `at` has passed or is unset, and then sets it to `after` from now.
fn is_due(at: &mut Option<Instant>, after: Duration) -> bool {
    let now = Instant::now();
    if at.is_some_and(|at| now < at) {
        return false;
    }
    *at = Some(now + after);
    true
}

impl FolderMaintenance {
    pub(crate) fn new(file_store: &Arc<FileStore>, folder: &Arc<FolderHandle>, purges: &Arc<Purges>) -> Self {
        Self {
            recovery: Recovery::new(file_store, folder, purges),
            file_store: Arc::clone(file_store),
            folder: Arc::clone(folder),
            purges: Arc::clone(purges),
            start: Mutex::default(),
            rounds: Mutex::default(),
        }
    }

    /// Returns the first sequence number of this start; `None` until the folder could be written.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.start.lock().map(|start| start.epoch)
    }

    /// Creates the folder, activates its logged purges and takes the sequence numbers of this start. Returns true if
    /// that succeeds now or has succeeded before.
    pub(crate) fn begin(&self) -> bool {
        let mut start = self.start.lock();
        if start.is_some() {
            return true;
        }
        let begun = create_folder(&self.file_store.files.root).and_then(|()| self.begin_epoch(&mut start));
        drop(start);
        match begun {
            Ok(()) => {
                self.file_store.health.begun.store(true, Relaxed);
                self.file_store.health.report_recovery_now();
                true
            }
            Err(error) => {
                self.file_store.health.record_write_failure(
                    "open()",
                    &sequence::path(&self.file_store.files.root),
                    error,
                );
                // Without a folder, no files need to be marked for soft-purged pages, so their list is emptied.
                self.file_store.memory.upgrade().inspect(|memory| _ = memory.take_softened());
                false
            }
        }
    }

    fn begin_epoch(&self, start: &mut Option<StartNumbers>) -> std::io::Result<()> {
        // The folder is opened first: this must not fail after the start has taken its number.
        let folder = self.folder.open()?;
        // Under this lock, a later purge by another process takes the number of this start into account.
        let locked = purge_log::lock(&self.file_store.files.root)?;
        self.file_store.lease.store_seed(&self.file_store.files, &self.file_store.health)?;
        let (mut log, is_lost) = self.purges.open()?;
        let (epoch, former) = sequence::begin(&self.file_store.files.root, log.book.newest())?;
        log.epoch = epoch;
        self.file_store.files.number_from(epoch);
        drop(locked);
        if let Some(memory) = self.file_store.memory.upgrade() {
            memory.sequence_at_least(epoch);
        }
        self.purges.begin(log, is_lost)?;
        *start = Some(StartNumbers { epoch, former });
        self.folder.hold(folder, epoch);
        self.file_store.maintain_lease(epoch);
        Ok(())
    }

    fn notice_removals(&self, rounds: &mut Rounds) {
        let before = self.file_store.counts.vanished.load(Relaxed);
        self.folder.handle_removal();
        let gone = self.file_store.files.watch.read();
        for name in gone.names {
            self.file_store.check_presence(name);
        }
        if (gone.any || self.file_store.files.watch.has_unwatched.load(Relaxed)) && rounds.presence.is_none()
        {
            rounds.presence = Some(0);
        }
        if let Some(first) = rounds.presence {
            let last = self.file_store.file_index.lock().slots();
            let end = first.saturating_add(FILES_PER_STEP).min(last);
            for slot in first..end {
                let name = self
                    .file_store
                    .file_index
                    .lock()
                    .at(slot)
                    .filter(|filed| filed.was_seen)
                    .map(|filed| filed.name);
                if let Some(name) = name {
                    self.file_store.check_presence(name);
                }
            }
            rounds.presence = (end < last).then_some(end);
        }
        let emptied = self.file_store.counts.vanished.load(Relaxed) > before && {
            let file_index = self.file_store.file_index.lock();
            file_index.complete && file_index.len() == 0
        };
        // If all files were removed, pages that have not been written to disk yet are dropped too.
        if emptied && let Some(memory) = self.file_store.memory.upgrade() {
            memory.forget_all();
        }
    }

    /// Does the maintenance without the writer lease: applies purges, and drops pages whose files were removed.
    fn maintain_without_lease(&self) {
        self.purges.maintain_without_lease();
        self.notice_removals(&mut self.rounds.lock());
    }

    /// Does the next step of the search for inactive pages, if it is due: deletes files of keys without a request
    /// within `inactive`, and drops their pages from memory. Returns the time until the following step.
    fn sweep_inactive(&self, rounds: &mut Rounds) -> Duration {
        let pace = self.file_store.limits.read().manager;
        let sleep = Duration::from_millis(pace.sleep_ms);
        let pause = sleep.max(PAUSE);
        if let Some(at) = rounds.sweep_at.filter(|at| Instant::now() < *at) {
            return at.saturating_duration_since(Instant::now());
        }
        let Some(memory) = self.file_store.memory.upgrade() else { return pause };
        let inactive_s = memory.inactive_ms() / 1000;
        let now_s = self.file_store.health.now() / 1000;
        let (began, mut removed) = (Instant::now(), 0);
        let last = self.file_store.file_index.lock().slots();
        if rounds.sweep >= last {
            rounds.sweep = 0;
        }
        let end = rounds.sweep.saturating_add(sweep_step_len(last, memory.inactive_ms(), pause)).min(last);
        while rounds.sweep < end
            && removed < pace.files.max(1)
            && began.elapsed() < Duration::from_millis(pace.threshold_ms.max(1))
        {
            let slots = rounds.sweep..rounds.sweep.saturating_add(64).min(end);
            rounds.sweep = slots.end;
            let old: Vec<_> = {
                let file_index = self.file_store.file_index.lock();
                let old = slots.filter_map(|slot| file_index.at(slot).copied());
                old.filter(|filed| now_s.saturating_sub(u64::from(filed.used_s)) > inactive_s).collect()
            };
            for filed in old {
                let hash = filed.key_hash();
                match memory.last_used(hash).map(|used| used / 1000) {
                    Some(used) if now_s.saturating_sub(used) <= inactive_s => {
                        self.file_store.file_index.lock().touch(filed.name, used as u32);
                    }
                    _ => {
                        self.file_store.file_index.lock().doom(filed.name);
                        self.file_store.remove_doomed(filed.name, hash);
                        Arc::clone(&memory).forget(hash);
                        self.file_store.counts.expired.fetch_add(1, Relaxed);
                        removed += 1;
                    }
                }
            }
        }
        // If this step reached its limits, the next step follows after the configured pause.
        let pause = if rounds.sweep < end || removed >= pace.files { sleep } else { pause };
        rounds.sweep_at = Some(Instant::now() + pause);
        pause
    }

    /// Writes a snapshot of the file index at shutdown, after the current round. `settled` is true if all pending pages
    /// have been written; otherwise the next start does not trust the snapshot.
    pub(crate) fn write_last_snapshot(&self, settled: bool) {
        drop(self.rounds.lock());
        let epoch = self.epoch().filter(|_| settled);
        self.write_snapshot(epoch.unwrap_or(0));
    }

    /// Writes a snapshot of the file index, unless the recovery is incomplete. `last_of` is the first sequence number
    /// of this start at shutdown, otherwise 0; the next start trusts only a snapshot written at shutdown.
    fn write_snapshot(&self, last_of: u64) {
        let (files, labels): (Vec<_>, _) = {
            let file_index = self.file_store.file_index.lock();
            if !file_index.complete {
                return;
            }
            let files = file_index.in_order().map(|(filed, standing)| (*filed, standing));
            (files.collect(), file_index.all_labels())
        };
        // Hits in memory are not recorded in the file index.
        let memory = self.file_store.memory.upgrade();
        let warm = |filed: &crate::file_index::IndexedFile| {
            let used = memory.as_ref().and_then(|memory| memory.last_used(filed.key_hash()));
            used.is_some_and(|used| (used / 1000) as u32 > filed.used_s)
        };
        let files = files.into_iter().map(|(filed, standing)| {
            let uses = standing.uses.max(u8::from(warm(&filed)));
            (filed, EvictionPosition { uses, ..standing })
        });
        let snapshot = Snapshot { last_of, files: files.collect(), labels };
        if let Err(error) = snapshot::write(
            &self.file_store.files.root,
            self.file_store.files.version,
            &self.file_store.files.levels,
            &snapshot,
        ) {
            self.file_store.health.record_write_failure(
                "write()",
                &snapshot::path(&self.file_store.files.root),
                error,
            );
        }
    }
}

impl Maintain for FolderMaintenance {
    fn maintain(self: Arc<Self>) -> Duration {
        if self.file_store.health.is_closed() {
            return PAUSE;
        }
        if !self.begin() {
            return SLOW;
        }
        if !self.file_store.maintain_lease(self.epoch().unwrap_or(0)) {
            self.maintain_without_lease();
            return PAUSE;
        }
        let recovering = self.recovery.step(&self.start);
        self.purges.first_stretch.end();
        if recovering.is_some() {
            // The recovery may have found more files than the limits permit.
            self.file_store.enforce_limits(u64::MAX);
        }
        let late = self.file_store.memory.upgrade().is_some_and(MemoryTier::write_backlog);
        let busy = self.purges.maintain() || late;
        let mut rounds = self.rounds.lock();
        let rounds = &mut *rounds;
        self.notice_removals(rounds);
        self.file_store.quarantine_suspected();
        self.file_store.remove_some_doomed(REMOVALS_PER_STEP as usize);
        let sweep = self.sweep_inactive(rounds);
        if is_due(&mut rounds.slow_at, SLOW) {
            self.file_store.health.report_recovery();
            self.file_store.enforce_limits(REMOVALS_PER_STEP);
            if let Some(memory) = self.file_store.memory.upgrade() {
                memory.write_changed(self.file_store.health.now());
            }
            if let Some(epoch) = self.epoch()
                && !(sequence::path(&self.file_store.files.root).exists()
                    && self.file_store.lease.has_own_seed(&self.file_store.files))
                && self.folder.restore_sequence(epoch).is_err()
            {
                // The folder itself may have been removed; the next write of a page reports a failure.
                let _ = create_folder(&self.file_store.files.root);
            }
        }
        if rounds.snapshot_at.is_none() {
            let _ = is_due(&mut rounds.snapshot_at, SNAPSHOT);
        } else if is_due(&mut rounds.snapshot_at, SNAPSHOT) {
            self.write_snapshot(0);
        }
        let pause = if busy { BUSY } else { PAUSE }.min(sweep);
        recovering.unwrap_or(pause).min(pause)
    }
}
