//! Purges over files.
//!
//! ```text
//!   asked for: holds --> written down, counted in memory and on disk: answered
//!     --> rules: every file was asked --> files gone, or said to be stale --> synced: forgotten
//! ```
//!
//! What bears a label or a key is found in the catalogue. What a rule covers is found by asking every file, a few at a
//! time; whoever reads a file before that asks as well. A purge is forgotten once nothing that it covers can come back,
//! not by a power loss either.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::catalogue::{Filed, Role};
use super::first_stretch::FirstStretch;
use super::folder::Folder;
use super::format::Kind;
use super::memory_tier::MemoryTier;
use super::name::Name;
use super::options::DiskEvent;
use super::purge_log::{self, PurgeLog};
use super::read;
use super::sequence;
use super::shelf::Shelf;
use super::ticket::{Giver, ticket};
use crate::purge::{Book, Entry, Exact, Verdict};
use crate::{Count, Purge, PurgeError, Purged, Purging};

/// Files that bear a label which are taken in one hold of the catalogue's lock.
const TAKEN: usize = 1024;
/// Files that are told to be stale in one go.
const SOFTENED: usize = 512;
/// Slots that are looked at, files that are read, and milliseconds, in one go of asking.
const LOOKED_AT: u32 = 1 << 16;
const READ: usize = 4096;
const ASKING: Duration = Duration::from_millis(100);
/// How long a purge waits for a folder with little in it to be known, so that its count is exact.
const FIRST_STRETCH: Duration = Duration::from_millis(200);
/// Milliseconds between two tries to forget purges.
const SETTLE_MS: u64 = 30_000;

/// A purge that is to be written down.
pub(crate) struct Waiting {
    entry: Entry,
    exact: Option<Arc<Exact>>,
    end: Giver<Result<Purged, PurgeError>>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// A job that writes is queued or running.
    running: bool,
}

#[derive(Default)]
struct Round {
    /// The newest rule when the round under way began, and the next slot.
    asking: Option<(u64, u32)>,
    settling: Option<Settling>,
    settle_at: u64,
    /// The newest number when purges were last tried to forget.
    tried_at: u64,
}

/// Purges that are about to be forgotten.
struct Settling {
    /// Those up to this number.
    upto: u64,
    /// What must be removed before.
    doomed: Vec<Name>,
    /// Writes that must have ended before: those with lower numbers.
    writes: u64,
    sync: Option<Arc<Syncing>>,
}

#[derive(Default)]
struct Syncing {
    ended: AtomicBool,
    done: AtomicBool,
}

/// The purges of a folder.
pub(crate) struct Purges {
    shelf: Arc<Shelf>,
    folder: Arc<Folder>,
    /// Ends once a folder with little in it is known.
    pub(crate) first_stretch: FirstStretch,
    /// `None` until the folder can be used.
    log: Mutex<Option<PurgeLog>>,
    queue: Mutex<Queue>,
    round: Mutex<Round>,
    /// Every file was asked by the rules up to this number.
    asked: AtomicU64,
    /// Purges up to this number are forgotten.
    settled: AtomicU64,
    /// How often all that was written before was made durable.
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

    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(SeqCst)
    }

    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(SeqCst)
    }

    fn with_log(&self, job: impl FnOnce(&mut PurgeLog) -> io::Result<()>) -> io::Result<()> {
        match self.log.lock().as_mut() {
            Some(log) => job(log),
            None => Err(io::Error::other("the folder cannot be used")),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_log_free(&self) -> bool {
        self.log.try_lock().is_some()
    }

    /// Reads the purges of the runs before: they hold before the first file is read. Returns the newest number among them.
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

    pub(crate) fn begin(&self, mut log: PurgeLog, is_lost: bool) -> io::Result<()> {
        let Some(memory) = self.shelf.memory.upgrade() else { return Ok(()) };
        let early = memory.begin_purges(&log.book, is_lost);
        if !early.is_empty() || log.is_behind() {
            log.append(&early)?;
        }
        *self.log.lock() = Some(log);
        Ok(())
    }

    /// Has a purge written down and its files found; it holds already.
    pub(crate) fn purge(self: &Arc<Self>, entry: Entry, exact: Option<Arc<Exact>>) -> Purging {
        let (end, ticket) = ticket();
        let begins = {
            let mut queue = self.queue.lock();
            queue.waiting.push(Waiting { entry, exact, end });
            !std::mem::replace(&mut queue.running, true)
        };
        if begins {
            let purges = Arc::clone(self);
            self.shelf.pool.urgent(Box::new(move || purges.run()));
        }
        Purging::waiting(ticket)
    }

    /// All that came while the ones before were being written share one `fdatasync`.
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
            let entries: Vec<Entry> = batch.iter().map(|waiting| waiting.entry.clone()).collect();
            let logged = self.write_down(&entries);
            // Those that count now may have to wait.
            let (exact, ruled): (Vec<_>, Vec<_>) =
                batch.into_iter().partition(|waiting| waiting.exact.is_some());
            for waiting in ruled.into_iter().chain(exact) {
                let number = waiting.entry.number();
                let count =
                    waiting.exact.map_or(Count::Later, |exact| self.take_exact(&exact, logged.is_ok()));
                waiting.end.give(match &logged {
                    Ok(()) => Ok(Purged { number, count }),
                    Err(error) => Err(PurgeError::Unlogged(io::Error::new(error.kind(), error.to_string()))),
                });
            }
        }
    }

    /// Purges the pages of keys whose files are of the past, for the next start alone; this run is over.
    pub(crate) fn void(&self, late: Vec<u128>) {
        let Some(memory) = self.shelf.memory.upgrade() else { return };
        let keys: Vec<u128> = {
            let catalogue = self.shelf.catalogue.lock();
            let late = late.into_iter().filter(|hash| catalogue.of_hash(*hash).next().is_some());
            late.chain(catalogue.unfinished()).collect()
        };
        let number = memory.sequence();
        let entry =
            |keys: &[u128]| Entry::Exact { number, purge: Purge::Hard, keys: keys.into(), labels: [].into() };
        let entries: Vec<Entry> = keys.chunks(TAKEN).map(entry).collect();
        if !entries.is_empty() {
            // What fails is told of.
            let _ = self.write_down(&entries);
        }
    }

    fn write_down(&self, entries: &[Entry]) -> io::Result<()> {
        let mut logged = self.with_log(|log| log.append(entries));
        if logged.is_err() && self.folder.is_removed() {
            // What was in the folder cannot come back, whether or not there is a log in the next one. The log is not held
            // meanwhile, which takes as long as the disk does.
            self.folder.notice_removed();
            logged = if self.folder.is_removed() { Ok(()) } else { self.with_log(PurgeLog::write_anew) };
        }
        if let Err(error) = &logged {
            let told = io::Error::new(error.kind(), error.to_string());
            self.shelf.health.failed("write()", &purge_log::path(&self.shelf.files.root), told);
        }
        logged
    }

    /// Takes what a purge names exactly out of memory and folder, or makes it stale, and counts it. Of a folder that cannot be
    /// written nothing more will be known in a moment: then nobody waits for that.
    fn take_exact(&self, exact: &Exact, is_written: bool) -> Count {
        let Some(memory) = self.shelf.memory.upgrade() else { return Count::AtLeast(0) };
        Arc::clone(&memory).take_exact(exact);
        // What memory has counted is not counted again.
        self.note_softened(&*memory);
        if is_written && !exact.labels.is_empty() && self.shelf.pool.has_keeper() {
            self.first_stretch.wait(FIRST_STRETCH);
        }
        let was_complete = self.shelf.catalogue.lock().complete;
        let mut count = 0;
        for (key, name) in exact.keys.iter().zip(&exact.names) {
            count += self.take_key(&*memory, *key, *name, exact.number, exact.purge);
        }
        for label in &exact.labels {
            count += self.take_label(&*memory, *label, exact.number, exact.purge);
        }
        if self.shelf.catalogue.lock().doomed() > 0 {
            self.shelf.bury_soon();
        }
        exact.count.fetch_add(count, Relaxed);
        let count = memory.end_count(exact);
        // Of a key, the files are known without a catalogue.
        if was_complete || exact.labels.is_empty() { Count::Exact(count) } else { Count::AtLeast(count) }
    }

    fn take_label(&self, memory: &dyn MemoryTier, label: u64, number: u64, purge: Purge) -> usize {
        let (mut count, mut after) = (0, None);
        loop {
            let (next, files) = self.shelf.catalogue.lock().bearing(label, after, number, TAKEN);
            count += self.take_files(memory, &files, number, purge);
            match next {
                Some(next) => after = Some(next),
                None => return count,
            }
        }
    }

    fn take_files(&self, memory: &dyn MemoryTier, files: &[Filed], number: u64, purge: Purge) -> usize {
        let mut count = 0;
        for filed in files {
            let is_page = !self.is_superseded(memory, filed);
            // What a rule before it has covered, and no one has found yet, is not there any more for this one.
            let since = filed.generation.max(self.asked());
            if memory.newest_rule_before(number) > since {
                let counted = self.shelf.catalogue.lock().softened_by(filed.name);
                let (verdict, newest) = memory.ask_file(filed, since, is_page.then_some(since.max(counted)));
                self.shelf.obey(filed, verdict, newest);
                continue;
            }
            let mut catalogue = self.shelf.catalogue.lock();
            if catalogue.get(filed.name).is_none_or(|now| now.generation != filed.generation) {
                continue;
            }
            let is_news = match purge {
                Purge::Hard => {
                    catalogue.doom(filed.name);
                    true
                }
                Purge::Soft => catalogue.soften(filed.name, number),
            };
            count += usize::from(is_news && is_page);
        }
        count
    }

    /// Whether memory has a newer page that is yet to be written in the place of a file: that is the page, not the file.
    fn is_superseded(&self, memory: &dyn MemoryTier, filed: &Filed) -> bool {
        let hash = filed.key_hash();
        if !self.shelf.catalogue.lock().is_being_written(hash) {
            return false;
        }
        memory.holds_newer(filed)
    }

    fn take_key(&self, memory: &dyn MemoryTier, key: u128, main: Name, number: u64, purge: Purge) -> usize {
        let (files, is_unknown) = {
            let catalogue = self.shelf.catalogue.lock();
            let is_known = catalogue.complete || catalogue.find(main).is_some() || catalogue.is_doomed(main);
            (catalogue.of_hash(key).copied().collect::<Vec<_>>(), !is_known)
        };
        // A key's own file is known by its name before the walk has come to it.
        let is_found = is_unknown
            && read::open(&self.shelf.files, main).is_ok_and(|file| {
                read::header(&self.shelf.files, &file).is_ok_and(|(header, _)| {
                    header.kind == Kind::Object && header.key_hash == key && header.generation < number
                })
            });
        let is_page = |filed: &&Filed| filed.role != Role::Marker;
        let pages: Vec<Filed> =
            files.iter().filter(is_page).filter(|filed| filed.generation < number).copied().collect();
        let has_newer = files.iter().filter(is_page).any(|filed| filed.generation >= number);
        let count = self.take_files(memory, &pages, number, purge) + usize::from(is_found);
        if purge == Purge::Hard {
            let mut catalogue = self.shelf.catalogue.lock();
            if is_found && catalogue.find(main).is_none() {
                catalogue.doom_unknown(main, key);
            }
            let markers =
                files.iter().filter(|filed| filed.role == Role::Marker && filed.generation < number);
            markers.filter(|_| !has_newer).for_each(|filed| catalogue.doom(filed.name));
        }
        count
    }

    /// What another process that uses the folder has purged holds here as well.
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

    /// The purges of the runs before, over what a snapshot tells of the files.
    pub(crate) fn recall(&self) {
        let book = match &*self.log.lock() {
            Some(log) => log.book.clone(),
            None => return,
        };
        self.recall_book(&book);
    }

    fn recall_book(&self, book: &Book) {
        let Some(memory) = self.shelf.memory.upgrade() else { return };
        let both = |hard: u64, soft: u64| [(soft, Purge::Soft), (hard, Purge::Hard)];
        for (label, numbers) in &book.labels {
            for (number, purge) in both(numbers.hard, numbers.soft) {
                let count = self.take_label(&*memory, *label, number, purge);
                memory.note_found(None, &[*label], purge, count);
            }
        }
        for (key, numbers) in &book.keys {
            let main = self.shelf.catalogue.lock().of_hash(*key).next().map(|filed| filed.name);
            for (number, purge) in both(numbers.hard, numbers.soft) {
                let count = main.map_or(0, |main| self.take_key(&*memory, *key, main, number, purge));
                memory.note_found(Some(*key), &[], purge, count);
            }
        }
    }

    /// Has the purges of another process hold here, where that one sees to the files. What is purged counts as gone here, so that
    /// no purge need be kept for it: nothing may be written on it meanwhile.
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

    /// Takes the numbers of a newer start, as whose process is gone that had them: what it has written is removed.
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

    /// Does a bounded part of what purges want done; whether there is more.
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

    /// Writes down what could not be before.
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

    /// Notes what soft purges have covered in memory: a file is its page's if it is of the same fetch.
    fn note_softened(&self, memory: &dyn MemoryTier) {
        for softened in memory.take_softened() {
            let mut catalogue = self.shelf.catalogue.lock();
            let mut files = catalogue.of_hash(softened.key).filter(|filed| filed.role != Role::Marker);
            let of_page = files.find(|filed| filed.generation == softened.generation).map(|filed| filed.name);
            drop(files);
            of_page.inspect(|name| _ = catalogue.soften(*name, softened.number));
        }
    }

    fn write_softened(&self) -> bool {
        let softened = self.shelf.catalogue.lock().take_softened(SOFTENED);
        for filed in &softened {
            self.expire(filed);
        }
        self.shelf.catalogue.lock().has_unwritten()
    }

    /// Has a file say that its page is stale. One that cannot goes; so does one that another process may write.
    fn expire(&self, filed: &Filed) {
        let expired = self.shelf.lease.is_held() && {
            let _stripe = self.shelf.stripe(filed.key_hash());
            let now = self.shelf.catalogue.lock().get(filed.name);
            now.is_none_or(|now| now.generation != filed.generation) || self.write_expired(filed).is_some()
        };
        if !expired {
            self.shelf.obey(filed, Verdict::Goes, 0);
            self.shelf.bury(filed.name, filed.key_hash());
        }
    }

    fn write_expired(&self, filed: &Filed) -> Option<()> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut open = File::options();
        let open = open.read(true).write(true).custom_flags(flags.bits() as i32);
        let file = open.open(self.shelf.files.path(filed.name)).ok()?;
        let (mut header, _) = read::header(&self.shelf.files, &file).ok()?;
        if header.generation != filed.generation {
            return None;
        }
        header.fresh_until = 0;
        file.write_all_at(&header.write(), 0).ok()
    }

    /// Asks files whether rules cover them; whether there are more to ask.
    fn ask_files(&self, round: &mut Round, memory: &dyn MemoryTier) -> bool {
        let asked = self.asked();
        if round.asking.is_none() {
            let newest = memory.newest_rule();
            // Memory is asked first, so that what is in both is counted there.
            let may_begin =
                newest > asked && memory.asked_in_memory() >= newest && self.shelf.catalogue.lock().complete;
            round.asking = may_begin.then_some((newest, 0));
        }
        let Some((upto, first)) = round.asking else { return false };
        let (began, mut read) = (Instant::now(), 0);
        let last = self.shelf.catalogue.lock().slots();
        let end = first.saturating_add(LOOKED_AT).min(last);
        let mut slot = first;
        while slot < end && read < READ && began.elapsed() < ASKING {
            let slots = slot..slot.saturating_add(64).min(end);
            slot = slots.end;
            let files: Vec<(Filed, u64)> = {
                let catalogue = self.shelf.catalogue.lock();
                let files = slots.filter_map(|slot| catalogue.at(slot));
                let old = files.filter(|filed| filed.role != Role::Marker && filed.generation < upto);
                // What a soft purge has counted it does not count again.
                old.map(|filed| (*filed, catalogue.softened_by(filed.name))).collect()
            };
            read += files.len();
            for (filed, counted) in files {
                let since = filed.generation.max(asked);
                let count = (!self.is_superseded(memory, &filed)).then_some(since.max(counted));
                let (verdict, newest) = memory.ask_file(&filed, since, count);
                match verdict {
                    Verdict::Stays => {}
                    // Whoever counts at this moment must not count it again.
                    Verdict::Stale if memory.is_counting() => self.shelf.obey(&filed, verdict, newest),
                    Verdict::Stale => self.expire(&filed),
                    Verdict::Goes => {
                        self.shelf.obey(&filed, Verdict::Goes, 0);
                        self.shelf.bury(filed.name, filed.key_hash());
                    }
                }
            }
        }
        round.asking = (slot < last).then_some((upto, slot));
        if round.asking.is_none() {
            self.asked.store(upto, SeqCst);
        }
        round.asking.is_some()
    }

    /// Forgets the purges that nothing can come back from.
    fn settle(self: &Arc<Self>, round: &mut Round, memory: &dyn MemoryTier) {
        match &mut round.settling {
            None => round.settling = self.begin_settling(round, memory),
            Some(settling) => match &settling.sync {
                None => self.sync_when_gone(settling),
                Some(sync) if sync.ended.load(SeqCst) => {
                    if sync.done.load(SeqCst) {
                        self.forget(settling.upto);
                    }
                    round.settling = None;
                }
                Some(_) => {}
            },
        }
    }

    fn begin_settling(&self, round: &mut Round, memory: &dyn MemoryTier) -> Option<Settling> {
        let now = self.shelf.health.now();
        if now < round.settle_at {
            return None;
        }
        let oldest = {
            let log = self.log.lock();
            let log = log.as_ref()?;
            // What is on its way in a newer process, that one knows.
            if log.newer_start().is_some() {
                return None;
            }
            log.book.oldest()?
        };
        let upto = self.settled_upto(round, memory);
        let catalogue = self.shelf.catalogue.lock();
        if oldest > upto || !catalogue.complete || catalogue.has_unwritten() {
            return None;
        }
        let doomed = catalogue.some_doomed(usize::MAX).into_iter().map(|(name, _)| name).collect();
        Some(Settling { upto, doomed, writes: catalogue.next_write(), sync: None })
    }

    /// While another process writes, purges are forgotten in memory alone: the log says them until that one has seen to the files.
    fn settle_in_memory(&self, round: &mut Round, memory: &dyn MemoryTier) {
        if self.shelf.health.now() < round.settle_at {
            return;
        }
        let upto = self.settled_upto(round, memory);
        let mut catalogue = self.shelf.catalogue.lock();
        // What this one does not know of yet it would ask for by its name.
        if catalogue.complete && !catalogue.has_unwritten() {
            catalogue.forget_softened(upto);
            self.settled.fetch_max(upto, SeqCst);
        }
    }

    /// The newest purge by which all was asked that is in memory, in the catalogue or on its way there.
    fn settled_upto(&self, round: &mut Round, memory: &dyn MemoryTier) -> u64 {
        round.settle_at = self.shelf.health.now().saturating_add(SETTLE_MS);
        let asked = self.asked();
        // A purge that is made from here on has a higher number.
        let newest = memory.sequence().saturating_sub(1);
        let upto = if memory.newest_rule() > asked { asked } else { newest };
        let tried_at = std::mem::replace(&mut round.tried_at, newest);
        if memory.is_crowded() {
            // A reader who takes his time over a long body would keep all of them.
            memory.let_fetches_go(upto.min(tried_at));
        }
        let upto = upto.min(memory.oldest_flight().saturating_sub(1));
        self.note_softened(memory);
        upto
    }

    fn sync_when_gone(self: &Arc<Self>, settling: &mut Settling) {
        {
            let catalogue = self.shelf.catalogue.lock();
            settling.doomed.retain(|name| catalogue.is_doomed(*name));
            if !settling.doomed.is_empty() || catalogue.oldest_write() < settling.writes {
                return;
            }
        }
        let sync = Arc::<Syncing>::default();
        settling.sync = Some(Arc::clone(&sync));
        let (purges, for_job) = (Arc::clone(self), Arc::clone(&sync));
        let job = move || {
            let synced =
                File::open(&purges.shelf.files.root).is_ok_and(|root| rustix::fs::syncfs(&root).is_ok());
            purges.syncs.fetch_add(u64::from(synced), SeqCst);
            for_job.done.store(synced, SeqCst);
            for_job.ended.store(true, SeqCst);
        };
        if self.shelf.pool.write(0, Box::new(job)).is_err() {
            sync.ended.store(true, SeqCst);
        }
    }

    fn forget(&self, upto: u64) {
        {
            let mut log = self.log.lock();
            let Some(log) = log.as_mut() else { return };
            log.book.drop_through(upto);
            if let Err(error) = log.write_anew() {
                self.shelf.health.failed("write()", &purge_log::path(&self.shelf.files.root), error);
            }
        }
        self.shelf.catalogue.lock().forget_softened(upto);
        self.settled.fetch_max(upto, SeqCst);
    }
}
