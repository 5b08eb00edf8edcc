//! What is done from time to time: recovery, what somebody removed, what nobody asks for, the snapshot.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::pool::Tend;
use super::shelf::{Above, Shelf};
use super::snapshot::{self, Snapshot};
use super::{FormatError, purge_log, sequence};
use crate::s3_fifo::Standing;

/// How often the folder is looked at while there is nothing else to do.
const PAUSE: Duration = Duration::from_millis(200);
/// How often while files are asked about purges.
const BUSY: Duration = Duration::from_millis(10);
/// How often what is slow to change is looked at.
const SLOW: Duration = Duration::from_secs(1);
/// How often the catalogue is written.
const SNAPSHOT: Duration = Duration::from_mins(5);
/// Files looked at in one go where folders cannot be watched.
const LOOKED_AT: u32 = 1000;
/// Files removed in one go to hold the limits after they were changed.
const REMOVED: u64 = 1000;

/// Where the rounds are.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The next slot of the sweep for what nobody asks for, and when it goes on.
    sweep: u32,
    sweep_at: Option<Instant>,
    /// The next slot of the round that looks whether files are there, while one is under way.
    presence: Option<u32>,
    slow_at: Option<Instant>,
    snapshot_at: Option<Instant>,
    /// The first number of this start; none while the folder cannot be written.
    pub(crate) epoch: Option<u64>,
    /// That of the start before.
    pub(crate) former: Option<u64>,
}

impl Rounds {
    pub(crate) const fn new() -> Self {
        Self {
            sweep: 0,
            sweep_at: None,
            presence: None,
            slow_at: None,
            snapshot_at: None,
            epoch: None,
            former: None,
        }
    }
}

/// Slots that one stretch of the sweep looks at, so that it comes round eight times within `inactive`: more often would cost a
/// zone of a million files a core's twentieth for nothing.
fn looked_at_once(slots: u32, inactive_ms: u64, pause: Duration) -> u32 {
    let stretches = inactive_ms / 8 / (pause.as_millis() as u64).max(1);
    (u64::from(slots) / stretches.max(1)).clamp(64, 50_000) as u32
}

/// Whether a time has come; the next is `after` from now.
fn is_due(at: &mut Option<Instant>, after: Duration) -> bool {
    let now = Instant::now();
    if at.is_some_and(|at| now < at) {
        return false;
    }
    *at = Some(now + after);
    true
}

impl Shelf {
    /// Makes the folder and takes the sequence numbers of this start; false where the folder cannot be written.
    pub(crate) fn begin(&self) -> bool {
        let mut rounds = self.rounds.lock();
        if rounds.epoch.is_some() {
            return true;
        }
        let begun = Self::make_folder(&self.root).and_then(|()| self.begin_epoch(&mut rounds));
        drop(rounds);
        match begun {
            Ok(()) => {
                self.begun.store(true, Relaxed);
                self.trouble_is_over();
                true
            }
            Err(error) => {
                self.failed("open()", &sequence::path(&self.root), error);
                // There is no file to be told of these.
                self.above.upgrade().inspect(|above| _ = above.take_softened());
                false
            }
        }
    }

    fn begin_epoch(&self, rounds: &mut Rounds) -> std::io::Result<()> {
        // Opened first: a start that has its number is not begun again.
        let folder = self.open_folder()?;
        // Whoever purges after this knows of this start.
        let locked = purge_log::lock(&self.root)?;
        self.keep_seed()?;
        let (mut log, is_lost) = self.open_purges()?;
        let (first, former) = sequence::begin(&self.root, log.book.newest())?;
        log.epoch = first;
        self.next_temporary.fetch_max(first, Relaxed);
        drop(locked);
        if let Some(above) = self.above.upgrade() {
            above.sequence_at_least(first);
        }
        self.begin_purges(log, is_lost)?;
        (rounds.epoch, rounds.former) = (Some(first), former);
        self.hold_folder(folder, first);
        self.keep_turn(first);
        Ok(())
    }

    fn notice_removals(self: &Arc<Self>, rounds: &mut Rounds) {
        let before = self.counts.vanished.load(Relaxed);
        self.notice_removed_folder();
        let gone = self.watch.read();
        for name in gone.names {
            self.check_presence(name);
        }
        if (gone.any || self.watch.blind.load(Relaxed)) && rounds.presence.is_none() {
            rounds.presence = Some(0);
        }
        if let Some(first) = rounds.presence {
            let last = self.catalogue.lock().slots();
            let end = first.saturating_add(LOOKED_AT).min(last);
            for slot in first..end {
                let name = self.catalogue.lock().at(slot).filter(|filed| filed.seen).map(|filed| filed.name);
                if let Some(name) = name {
                    self.check_presence(name);
                }
            }
            rounds.presence = (end < last).then_some(end);
        }
        let emptied = self.counts.vanished.load(Relaxed) > before && {
            let catalogue = self.catalogue.lock();
            catalogue.complete && catalogue.len() == 0
        };
        // Pages that had not come to disk yet are meant as well by somebody who removes all files.
        if emptied && let Some(above) = self.above.upgrade() {
            above.forget_all();
        }
    }

    /// What is done while another process writes: what it purges, and what somebody removes, is gone here as well.
    fn tend_beside(self: &Arc<Self>) {
        self.tend_purges_beside();
        self.notice_removals(&mut self.rounds.lock());
    }

    /// What a newer process has written, which is gone, is removed: this one goes on under numbers of a newer start.
    pub(crate) fn end_voiding(&self) -> std::io::Result<()> {
        let (first, former) = self.renumber()?;
        let mut rounds = self.rounds.lock();
        (rounds.epoch, rounds.former) = (Some(first), former);
        drop(rounds);
        self.take_folder(first)
    }

    fn set_damaged_aside(&self) {
        let damaged = std::mem::take(&mut *self.damaged.lock());
        for damage in damaged {
            let hash = damage.key_hash();
            let persists = {
                let _stripe = self.stripe(hash);
                damage.persists(self).then(|| self.set_aside(damage.name(), FormatError::Damaged)).is_some()
            };
            if persists && let Some(above) = self.above.upgrade() {
                above.forget(hash);
            }
        }
    }

    /// Removes what nobody asked for within `inactive`; how long to wait before the next stretch.
    fn sweep(&self, rounds: &mut Rounds) -> Duration {
        let pace = self.limits.read().manager;
        let sleep = Duration::from_millis(pace.sleep_ms);
        let pause = sleep.max(PAUSE);
        if let Some(at) = rounds.sweep_at.filter(|at| Instant::now() < *at) {
            return at.saturating_duration_since(Instant::now());
        }
        let Some(above) = self.above.upgrade() else { return pause };
        let inactive_s = above.inactive_ms() / 1000;
        let now_s = self.now() / 1000;
        let (began, mut removed) = (Instant::now(), 0);
        let last = self.catalogue.lock().slots();
        if rounds.sweep >= last {
            rounds.sweep = 0;
        }
        let end = rounds.sweep.saturating_add(looked_at_once(last, above.inactive_ms(), pause)).min(last);
        while rounds.sweep < end
            && removed < pace.files.max(1)
            && began.elapsed() < Duration::from_millis(pace.threshold_ms.max(1))
        {
            let slots = rounds.sweep..rounds.sweep.saturating_add(64).min(end);
            rounds.sweep = slots.end;
            let old: Vec<_> = {
                let catalogue = self.catalogue.lock();
                let old = slots.filter_map(|slot| catalogue.at(slot).copied());
                old.filter(|filed| now_s.saturating_sub(u64::from(filed.used_s)) > inactive_s).collect()
            };
            for filed in old {
                let hash = filed.key_hash();
                match above.last_used(hash).map(|used| used / 1000) {
                    Some(used) if now_s.saturating_sub(used) <= inactive_s => {
                        self.catalogue.lock().touch(filed.name, used as u32);
                    }
                    _ => {
                        self.catalogue.lock().doom(filed.name);
                        self.bury(filed.name, hash);
                        Arc::clone(&above).forget(hash);
                        self.counts.expired.fetch_add(1, Relaxed);
                        removed += 1;
                    }
                }
            }
        }
        // Where there is more to do than one stretch may, the next follows as soon as it may.
        let pause = if rounds.sweep < end || removed >= pace.files { sleep } else { pause };
        rounds.sweep_at = Some(Instant::now() + pause);
        pause
    }

    /// Writes the catalogue, for the next start. The last of a run is believed in all it says.
    pub(crate) fn write_snapshot(&self, last_of: u64) {
        let (files, labels): (Vec<_>, _) = {
            let catalogue = self.catalogue.lock();
            if !catalogue.complete {
                return;
            }
            let files = catalogue.in_order().map(|(filed, standing)| (*filed, standing));
            (files.collect(), catalogue.all_labels())
        };
        // What was hit was hit in memory, where nobody told the disk of it.
        let above = self.above.upgrade();
        let warm = |filed: &super::catalogue::Filed| {
            let used = above.as_ref().and_then(|above| above.last_used(filed.key_hash()));
            used.is_some_and(|used| (used / 1000) as u32 > filed.used_s)
        };
        let files = files.into_iter().map(|(filed, standing)| {
            let uses = standing.uses.max(u8::from(warm(&filed)));
            (filed, Standing { uses, ..standing })
        });
        let snapshot = Snapshot { last_of, files: files.collect(), labels };
        if let Err(error) = snapshot::write(&self.root, self.version, &self.levels, &snapshot) {
            self.failed("write()", &snapshot::path(&self.root), error);
        }
    }
}

impl Tend for Shelf {
    fn tend(self: Arc<Self>) -> Duration {
        if self.closed.load(Relaxed) {
            return PAUSE;
        }
        if !self.begin() {
            return SLOW;
        }
        let own = self.rounds.lock().epoch.unwrap_or(0);
        if !self.keep_turn(own) {
            self.tend_beside();
            return PAUSE;
        }
        let recovering = self.recover();
        self.first_stretch.end();
        if recovering.is_some() {
            // What was found may be more than there may be.
            self.keep_limits(u64::MAX);
        }
        let late = self.above.upgrade().is_some_and(Above::write_backlog);
        let busy = self.tend_purges() || late;
        let mut rounds = self.rounds.lock();
        let rounds = &mut *rounds;
        self.notice_removals(rounds);
        self.set_damaged_aside();
        self.bury_doomed(REMOVED as usize);
        let sweep = self.sweep(rounds);
        if is_due(&mut rounds.slow_at, SLOW) {
            self.end_trouble();
            self.keep_limits(REMOVED);
            if let Some(above) = self.above.upgrade() {
                above.write_changed(self.now());
            }
            if let Some(epoch) = rounds.epoch
                && !(sequence::path(&self.root).exists() && self.says_own_seed())
                && self.restore_sequence(epoch).is_err()
            {
                // The folder itself may have been removed; the next page that is written tells.
                let _ = Self::make_folder(&self.root);
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
