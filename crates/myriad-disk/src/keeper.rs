//! Periodic maintenance of a folder: recovery, files removed from outside, inactive pages, the snapshot.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::index::Standing;
use parking_lot::Mutex;

use crate::files::make_folder;
use crate::folder::Folder;
use crate::memory_tier::MemoryTier;
use crate::pool::Tend;
use crate::purge_log;
use crate::purges::Purges;
use crate::recover::{Recovery, Start};
use crate::sequence;
use crate::shelf::Shelf;
use crate::snapshot::{self, Snapshot};

/// Interval of checks of the folder without other work.
const PAUSE: Duration = Duration::from_millis(200);
/// Interval while files are checked against purges.
const BUSY: Duration = Duration::from_millis(10);
/// Interval of checks of the limits and other slow changes.
const SLOW: Duration = Duration::from_secs(1);
/// Interval of writes of the catalogue.
const SNAPSHOT: Duration = Duration::from_mins(5);
/// Number of files checked in one step if folders cannot be watched.
const LOOKED_AT: u32 = 1000;
/// Number of files removed in one step after the limits were reduced.
const REMOVED: u64 = 1000;

/// Progress of each round.
#[derive(Debug, Default)]
struct Rounds {
    /// Next slot of the sweep for inactive pages, and the time of its next step.
    sweep: u32,
    sweep_at: Option<Instant>,
    /// Next slot of the round that checks whether files exist, while it is in progress.
    presence: Option<u32>,
    slow_at: Option<Instant>,
    snapshot_at: Option<Instant>,
}

/// Maintenance of a folder.
pub(crate) struct Keeper {
    shelf: Arc<Shelf>,
    folder: Arc<Folder>,
    purges: Arc<Purges>,
    pub(crate) recovery: Recovery,
    /// `None` while the folder cannot be written.
    start: Mutex<Option<Start>>,
    rounds: Mutex<Rounds>,
}

/// Returns the number of slots per step of the sweep, so that it completes eight rounds within `inactive`. More rounds
/// would cost a zone of a million files one twentieth of a core without benefit.
fn looked_at_once(slots: u32, inactive_ms: u64, pause: Duration) -> u32 {
    let stretches = inactive_ms / 8 / (pause.as_millis() as u64).max(1);
    (u64::from(slots) / stretches.max(1)).clamp(64, 50_000) as u32
}

/// Returns whether a time has come, and sets the next time to `after` from now.
fn is_due(at: &mut Option<Instant>, after: Duration) -> bool {
    let now = Instant::now();
    if at.is_some_and(|at| now < at) {
        return false;
    }
    *at = Some(now + after);
    true
}

impl Keeper {
    pub(crate) fn new(shelf: &Arc<Shelf>, folder: &Arc<Folder>, purges: &Arc<Purges>) -> Self {
        Self {
            recovery: Recovery::new(shelf, folder, purges),
            shelf: Arc::clone(shelf),
            folder: Arc::clone(folder),
            purges: Arc::clone(purges),
            start: Mutex::default(),
            rounds: Mutex::default(),
        }
    }

    /// Returns the first number of this start; `None` while the folder cannot be written.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.start.lock().map(|start| start.epoch)
    }

    /// Creates the folder and takes the sequence numbers of this start. Returns false if the folder cannot be written.
    pub(crate) fn begin(&self) -> bool {
        let mut start = self.start.lock();
        if start.is_some() {
            return true;
        }
        let begun = make_folder(&self.shelf.files.root).and_then(|()| self.begin_epoch(&mut start));
        drop(start);
        match begun {
            Ok(()) => {
                self.shelf.health.begun.store(true, Relaxed);
                self.shelf.health.trouble_is_over();
                true
            }
            Err(error) => {
                self.shelf.health.failed("open()", &sequence::path(&self.shelf.files.root), error);
                // Pages covered by soft purges have no files here.
                self.shelf.memory.upgrade().inspect(|memory| _ = memory.take_softened());
                false
            }
        }
    }

    fn begin_epoch(&self, start: &mut Option<Start>) -> std::io::Result<()> {
        // The folder is opened first, because a start that has taken its number must not begin again.
        let folder = self.folder.open()?;
        // A later purge of another process takes this start into account.
        let locked = purge_log::lock(&self.shelf.files.root)?;
        self.shelf.lease.keep_seed(&self.shelf.files, &self.shelf.health)?;
        let (mut log, is_lost) = self.purges.open()?;
        let (epoch, former) = sequence::begin(&self.shelf.files.root, log.book.newest())?;
        log.epoch = epoch;
        self.shelf.files.number_from(epoch);
        drop(locked);
        if let Some(memory) = self.shelf.memory.upgrade() {
            memory.sequence_at_least(epoch);
        }
        self.purges.begin(log, is_lost)?;
        *start = Some(Start { epoch, former });
        self.folder.hold(folder, epoch);
        self.shelf.keep_lease(epoch);
        Ok(())
    }

    fn notice_removals(&self, rounds: &mut Rounds) {
        let before = self.shelf.counts.vanished.load(Relaxed);
        self.folder.notice_removed();
        let gone = self.shelf.files.watch.read();
        for name in gone.names {
            self.shelf.check_presence(name);
        }
        if (gone.any || self.shelf.files.watch.blind.load(Relaxed)) && rounds.presence.is_none() {
            rounds.presence = Some(0);
        }
        if let Some(first) = rounds.presence {
            let last = self.shelf.catalogue.lock().slots();
            let end = first.saturating_add(LOOKED_AT).min(last);
            for slot in first..end {
                let name =
                    self.shelf.catalogue.lock().at(slot).filter(|filed| filed.seen).map(|filed| filed.name);
                if let Some(name) = name {
                    self.shelf.check_presence(name);
                }
            }
            rounds.presence = (end < last).then_some(end);
        }
        let emptied = self.shelf.counts.vanished.load(Relaxed) > before && {
            let catalogue = self.shelf.catalogue.lock();
            catalogue.complete && catalogue.len() == 0
        };
        // Removing all files also clears pages that have not been written to disk yet.
        if emptied && let Some(memory) = self.shelf.memory.upgrade() {
            memory.forget_all();
        }
    }

    /// Maintains a folder while another process has the lease: applies its purges, and drops pages whose files were
    /// removed.
    fn tend_without_lease(&self) {
        self.purges.tend_without_lease();
        self.notice_removals(&mut self.rounds.lock());
    }

    /// Removes pages without a request within `inactive`. Returns the pause before the next step.
    fn sweep(&self, rounds: &mut Rounds) -> Duration {
        let pace = self.shelf.limits.read().manager;
        let sleep = Duration::from_millis(pace.sleep_ms);
        let pause = sleep.max(PAUSE);
        if let Some(at) = rounds.sweep_at.filter(|at| Instant::now() < *at) {
            return at.saturating_duration_since(Instant::now());
        }
        let Some(memory) = self.shelf.memory.upgrade() else { return pause };
        let inactive_s = memory.inactive_ms() / 1000;
        let now_s = self.shelf.health.now() / 1000;
        let (began, mut removed) = (Instant::now(), 0);
        let last = self.shelf.catalogue.lock().slots();
        if rounds.sweep >= last {
            rounds.sweep = 0;
        }
        let end = rounds.sweep.saturating_add(looked_at_once(last, memory.inactive_ms(), pause)).min(last);
        while rounds.sweep < end
            && removed < pace.files.max(1)
            && began.elapsed() < Duration::from_millis(pace.threshold_ms.max(1))
        {
            let slots = rounds.sweep..rounds.sweep.saturating_add(64).min(end);
            rounds.sweep = slots.end;
            let old: Vec<_> = {
                let catalogue = self.shelf.catalogue.lock();
                let old = slots.filter_map(|slot| catalogue.at(slot).copied());
                old.filter(|filed| now_s.saturating_sub(u64::from(filed.used_s)) > inactive_s).collect()
            };
            for filed in old {
                let hash = filed.key_hash();
                match memory.last_used(hash).map(|used| used / 1000) {
                    Some(used) if now_s.saturating_sub(used) <= inactive_s => {
                        self.shelf.catalogue.lock().touch(filed.name, used as u32);
                    }
                    _ => {
                        self.shelf.catalogue.lock().doom(filed.name);
                        self.shelf.bury(filed.name, hash);
                        Arc::clone(&memory).forget(hash);
                        self.shelf.counts.expired.fetch_add(1, Relaxed);
                        removed += 1;
                    }
                }
            }
        }
        // If more remains than one step permits, the next step follows after the configured pause.
        let pause = if rounds.sweep < end || removed >= pace.files { sleep } else { pause };
        rounds.sweep_at = Some(Instant::now() + pause);
        pause
    }

    /// Writes the catalogue at shutdown, after the current round. `settled` is set if all pending pages have been
    /// written.
    pub(crate) fn write_last_snapshot(&self, settled: bool) {
        drop(self.rounds.lock());
        let epoch = self.epoch().filter(|_| settled);
        self.write_snapshot(epoch.unwrap_or(0));
    }

    /// Writes the catalogue for the next start. `last_of` is the first number of this start at shutdown, else zero: the
    /// last snapshot of a run is trusted completely.
    fn write_snapshot(&self, last_of: u64) {
        let (files, labels): (Vec<_>, _) = {
            let catalogue = self.shelf.catalogue.lock();
            if !catalogue.complete {
                return;
            }
            let files = catalogue.in_order().map(|(filed, standing)| (*filed, standing));
            (files.collect(), catalogue.all_labels())
        };
        // Hits in memory are not recorded here.
        let memory = self.shelf.memory.upgrade();
        let warm = |filed: &crate::catalogue::Filed| {
            let used = memory.as_ref().and_then(|memory| memory.last_used(filed.key_hash()));
            used.is_some_and(|used| (used / 1000) as u32 > filed.used_s)
        };
        let files = files.into_iter().map(|(filed, standing)| {
            let uses = standing.uses.max(u8::from(warm(&filed)));
            (filed, Standing { uses, ..standing })
        });
        let snapshot = Snapshot { last_of, files: files.collect(), labels };
        if let Err(error) = snapshot::write(
            &self.shelf.files.root,
            self.shelf.files.version,
            &self.shelf.files.levels,
            &snapshot,
        ) {
            self.shelf.health.failed("write()", &snapshot::path(&self.shelf.files.root), error);
        }
    }
}

impl Tend for Keeper {
    fn tend(self: Arc<Self>) -> Duration {
        if self.shelf.health.is_closed() {
            return PAUSE;
        }
        if !self.begin() {
            return SLOW;
        }
        if !self.shelf.keep_lease(self.epoch().unwrap_or(0)) {
            self.tend_without_lease();
            return PAUSE;
        }
        let recovering = self.recovery.go_on(&self.start);
        self.purges.first_stretch.end();
        if recovering.is_some() {
            // The recovery may have found more files than the limits permit.
            self.shelf.keep_limits(u64::MAX);
        }
        let late = self.shelf.memory.upgrade().is_some_and(MemoryTier::write_backlog);
        let busy = self.purges.tend() || late;
        let mut rounds = self.rounds.lock();
        let rounds = &mut *rounds;
        self.notice_removals(rounds);
        self.shelf.quarantine_suspected();
        self.shelf.bury_doomed(REMOVED as usize);
        let sweep = self.sweep(rounds);
        if is_due(&mut rounds.slow_at, SLOW) {
            self.shelf.health.end_trouble();
            self.shelf.keep_limits(REMOVED);
            if let Some(memory) = self.shelf.memory.upgrade() {
                memory.write_changed(self.shelf.health.now());
            }
            if let Some(epoch) = self.epoch()
                && !(sequence::path(&self.shelf.files.root).exists()
                    && self.shelf.lease.says_own_seed(&self.shelf.files))
                && self.folder.restore_sequence(epoch).is_err()
            {
                // The folder itself may have been removed; the next write of a page reports a failure.
                let _ = make_folder(&self.shelf.files.root);
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
