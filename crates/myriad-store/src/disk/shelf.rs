//! A zone's folder: where files are, who may change one, and how room is made.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard, RwLock};
use rustix::io::Errno;

use super::aside::Aside;
use super::catalogue::{BLOCK, Catalogue};
use super::faults::{Faults, Operation};
use super::first_stretch::FirstStretch;
use super::folder::Folder;
use super::format;
use super::name::Name;
use super::options::{Clock, DiskEvent, DiskLimits, DiskOptions, DiskStats, Report};
use super::pool::DiskPool;
use super::purges::{Banning, Purges};
use super::recover::Recovery;
use super::stored_body::Damage;
use super::tend::Rounds;
use super::turn::Turn;
use super::watch::Watch;
use crate::key::Seed;

/// Locks for keys, so that no two threads change files of one key at once.
const STRIPES: usize = 64;
/// Milliseconds for which writing is not tried again after it failed.
const RETRY_MS: u64 = 1000;
/// Milliseconds without a failure after which trouble is over: a disk that has room now and then is told of once.
const CALM_MS: u64 = 10_000;
/// Files that memory knows to be in use which one eviction passes by.
const PASSED_BY: usize = 64;

/// What the shelf needs of the memory tier. Called with no lock of the shelf held but a stripe.
pub(crate) trait Above: Banning {
    /// When a key was last hit, in ms; `None` where it is not in memory.
    fn last_used(&self, hash: u128) -> Option<u64>;
    /// Most variants of one key.
    fn max_variants(&self) -> usize;
    /// Of each variant of a key that is in memory: half of its hash, and when it was last hit, in seconds since the epoch.
    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)>;
    /// Drops a key's page: its file is gone.
    fn forget(self: Arc<Self>, hash: u128);
    /// As [`Self::forget`], where somebody removed the file: what is being fetched of the key is not stored either.
    fn remove(self: Arc<Self>, hash: u128);
    /// Drops all pages: all files are gone.
    fn forget_all(self: Arc<Self>);
    /// Milliseconds without use after which a page goes.
    fn inactive_ms(&self) -> u64;
    /// Writes what has changed in memory since it was written.
    fn write_changed(self: Arc<Self>, now: u64);
    /// Writes some of what came when the disk had too much to do; whether there was any.
    fn write_backlog(self: Arc<Self>) -> bool;
    /// Brings a page into memory before anybody asks for it; false where there is no more room for such.
    fn warm(self: Arc<Self>, name: Name, hash: u128, now: u64) -> bool;
    /// The next sequence number that a fetch will get.
    fn sequence(&self) -> u64;
    /// Has sequence numbers go on from at least this one.
    fn sequence_at_least(&self, least: u64);
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) vanished: AtomicU64,
    pub(crate) set_aside: AtomicU64,
    pub(crate) unreadable: AtomicU64,
}

pub(crate) struct Shelf {
    pub(crate) root: PathBuf,
    pub(crate) levels: Vec<u8>,
    /// What keys are hashed with.
    pub(crate) seed: Seed,
    /// What files say that were written as this one writes them: the caller's version of its metadata, and the seed's tag.
    pub(crate) version: u32,
    pub(crate) limits: RwLock<DiskLimits>,
    pub(crate) pool: DiskPool,
    pub(crate) clock: Clock,
    report: Report,
    pub(crate) above: Weak<dyn Above>,
    pub(crate) catalogue: Mutex<Catalogue>,
    stripes: Box<[Mutex<()>]>,
    pub(crate) counts: Counts,
    pub(crate) watch: Watch,
    pub(crate) recovery: Mutex<Recovery>,
    pub(crate) first_stretch: FirstStretch,
    pub(crate) aside: Aside,
    pub(crate) folder: Folder,
    pub(crate) turn: Turn,
    pub(crate) rounds: Mutex<Rounds>,
    pub(crate) purges: Purges,
    /// Whether the folder is there and the sequence numbers of this start are known.
    pub(crate) begun: AtomicBool,
    /// Objects of fetches that began before this number are void, whatever their files say.
    pub(crate) barrier: AtomicU64,
    pub(crate) faults: Faults,
    /// When writing may be tried again, in ms; 0 while it works.
    write_again_at: AtomicU64,
    /// When something failed last, in ms; 0 where that is over.
    failed_at: AtomicU64,
    /// Whether writing has worked since.
    worked_since: AtomicBool,
    /// The name of the next temporary file: numbers of this start, so that no two that use one folder share any.
    pub(crate) next_temporary: AtomicU64,
    /// Files found damaged by those who read them piece by piece.
    pub(crate) damaged: Mutex<Vec<Damage>>,
    pub(crate) closed: AtomicBool,
}

impl Shelf {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        version: u16,
        pool: &DiskPool,
        above: Weak<dyn Above>,
    ) -> Self {
        let DiskOptions { path, levels, limits, clock, report } = options;
        Self {
            root: path,
            levels,
            seed,
            version: u32::from(version) | u32::from(seed.tag()) << 16,
            limits: RwLock::new(limits),
            pool: pool.clone(),
            clock,
            report,
            above,
            catalogue: Mutex::new(Catalogue::new()),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            counts: Counts::default(),
            watch: Watch::new(),
            recovery: Mutex::new(Recovery::default()),
            first_stretch: FirstStretch::default(),
            aside: Aside::default(),
            folder: Folder::default(),
            turn: Turn::default(),
            rounds: Mutex::new(Rounds::new()),
            purges: Purges::default(),
            begun: AtomicBool::new(false),
            barrier: AtomicU64::new(0),
            faults: Faults::default(),
            write_again_at: AtomicU64::new(0),
            failed_at: AtomicU64::new(0),
            worked_since: AtomicBool::new(false),
            next_temporary: AtomicU64::new(0),
            damaged: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    pub(crate) fn path(&self, name: Name) -> PathBuf {
        name.path(&self.root, &self.levels)
    }

    /// Where files are written before they get their name.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join(".tmp")
    }

    /// Whoever holds this may change files of the key.
    pub(crate) fn stripe(&self, hash: u128) -> MutexGuard<'_, ()> {
        self.stripes[(hash >> 32) as usize % STRIPES].lock()
    }

    /// Nobody else may change any file.
    pub(crate) fn all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(Mutex::lock).collect()
    }

    pub(crate) fn tell(&self, event: &DiskEvent) {
        (self.report)(event);
    }

    /// Whether pages may be written: it is this process's turn, and worth a try.
    pub(crate) fn may_write(&self) -> bool {
        self.turn.is_held() && self.is_time_to_write()
    }

    /// Whether writing is worth a try.
    pub(crate) fn is_time_to_write(&self) -> bool {
        let at = self.write_again_at.load(Relaxed);
        (at == 0 || self.now() >= at) && !self.closed.load(Relaxed)
    }

    /// Has writing not tried for a while.
    pub(crate) fn put_writing_off(&self) {
        self.write_again_at.store(self.now().saturating_add(RETRY_MS), Relaxed);
    }

    /// Writing failed: told of once, then not tried for a while.
    pub(crate) fn failed(&self, what: &'static str, path: &Path, error: io::Error) {
        self.put_writing_off();
        self.troubled(what, path, error);
    }

    /// Something failed: told of, unless trouble was told of and is not over.
    pub(crate) fn troubled(&self, what: &'static str, path: &Path, error: io::Error) {
        self.worked_since.store(false, Relaxed);
        if self.failed_at.swap(self.now().max(1), Relaxed) == 0 {
            self.tell(&DiskEvent::Failed { what, path: path.to_owned(), error });
        }
    }

    /// Writing worked.
    pub(crate) fn works(&self) {
        if self.write_again_at.load(Relaxed) != 0 {
            self.write_again_at.store(0, Relaxed);
        }
        if self.failed_at.load(Relaxed) != 0 {
            self.worked_since.store(true, Relaxed);
            self.end_trouble();
        }
    }

    /// Tells that trouble is over, once writing has worked and nothing has failed for a while.
    pub(crate) fn end_trouble(&self) {
        let failed_at = self.failed_at.load(Relaxed);
        if failed_at != 0
            && self.worked_since.load(Relaxed)
            && self.now().saturating_sub(failed_at) >= CALM_MS
        {
            self.trouble_is_over();
        }
    }

    /// What was in the way is known to be out of it.
    pub(crate) fn trouble_is_over(&self) {
        self.write_again_at.store(0, Relaxed);
        if self.failed_at.swap(0, Relaxed) != 0 {
            self.tell(&DiskEvent::Works);
        }
    }

    /// The system does not give a file: told of, and the file is asked for no more, unless it is the system that is short of
    /// something.
    pub(crate) fn unreadable(&self, name: Name, hash: u128, error: io::Error) {
        let passing = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN];
        let passes = Errno::from_io_error(&error).is_some_and(|errno| passing.contains(&errno));
        self.counts.unreadable.fetch_add(1, Relaxed);
        self.troubled("read()", &self.path(name), error);
        if !passes {
            self.catalogue.lock().doom_unknown(name, hash);
            self.bury(name, hash);
        }
    }

    /// Bytes of the longest object: one that took more would drive out all others.
    pub(crate) fn most_of_one(&self) -> u64 {
        self.limits.read().max_bytes / 2
    }

    /// Makes a folder and those above it, for this user alone.
    pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Takes `blocks` from the room there is, removing files for it; false where no room can be made.
    pub(crate) fn make_room(&self, blocks: u32) -> bool {
        let limits = *self.limits.read();
        let wanted = u64::from(blocks);
        loop {
            let leaves_free = self.leaves_free(wanted, limits);
            {
                let mut catalogue = self.catalogue.lock();
                let used = (catalogue.used_blocks() + wanted).saturating_mul(BLOCK);
                if used <= limits.max_bytes && catalogue.counted() < limits.max_files && leaves_free {
                    catalogue.take_blocks(blocks);
                    return true;
                }
            }
            if wanted.saturating_mul(BLOCK) > limits.max_bytes {
                return false;
            }
            if !self.evict_one() {
                if !leaves_free {
                    let why = "less of the file system is free than min_free asks for: no page is written";
                    self.failed("statvfs()", &self.root, io::Error::new(ErrorKind::StorageFull, why));
                }
                return false;
            }
        }
    }

    /// Removes files until the limits hold, as after they were changed.
    pub(crate) fn keep_limits(&self, most: u64) {
        let limits = *self.limits.read();
        for _ in 0..most {
            let over = {
                let catalogue = self.catalogue.lock();
                catalogue.used_blocks().saturating_mul(BLOCK) > limits.max_bytes
                    || catalogue.counted() > limits.max_files
                    || !self.leaves_free(0, limits) && catalogue.len() > 0
            };
            if !over || !self.evict_one() {
                return;
            }
        }
    }

    /// Whether `blocks` more leave as much of the file system free as there should be.
    pub(crate) fn leaves_free(&self, blocks: u64, limits: DiskLimits) -> bool {
        if limits.min_free_bytes == 0 {
            return true;
        }
        let Some(free) = self.faults.free(&self.root) else { return true };
        free >= limits.min_free_bytes.saturating_add(blocks * BLOCK)
    }

    /// Removes variants of a key until there are no more than one may have. `kept` is not among them. No stripe may be held.
    pub(crate) fn keep_variants(&self, hash: u128, kept: Option<Name>) {
        let Some(above) = self.above.upgrade() else { return };
        let most = above.max_variants();
        if self.catalogue.lock().coldest_beyond(hash, most, &[], kept).is_none() {
            return;
        }
        let in_memory = above.variants_used(hash);
        loop {
            let coldest = {
                let mut catalogue = self.catalogue.lock();
                let coldest = catalogue.coldest_beyond(hash, most, &in_memory, kept);
                coldest.inspect(|name| catalogue.doom(*name))
            };
            let Some(name) = coldest else { return };
            self.counts.evictions.fetch_add(1, Relaxed);
            self.bury(name, hash);
        }
    }

    /// Removes one file; false where none can be removed.
    fn evict_one(&self) -> bool {
        if !self.turn.is_held() {
            // There would be no more room for it, and a page less to serve.
            return false;
        }
        if self.catalogue.lock().doomed() > 0 {
            return self.bury_doomed(PASSED_BY) > 0;
        }
        let mut passed = 0;
        loop {
            let Some(victim) = self.catalogue.lock().victim() else { return false };
            let hash = victim.key_hash();
            if passed < PASSED_BY
                && let Some(above) = self.above.upgrade()
                && let Some(used) = above.last_used(hash).map(|used| (used / 1000) as u32)
                && used > victim.used_s
            {
                // Its hits were served from memory, where nobody told the disk of them.
                self.catalogue.lock().touch(victim.name, used);
                passed += 1;
                continue;
            }
            self.catalogue.lock().evict(victim.name);
            self.counts.evictions.fetch_add(1, Relaxed);
            let buried = self.bury(victim.name, hash);
            // Whoever removes files to clear pages must not miss a page whose file has gone before.
            if let Some(above) = self.above.upgrade() {
                above.forget(hash);
            }
            return buried;
        }
    }

    /// Removes a doomed file, unless it has been replaced since; false where it could not be. While another process writes, it
    /// stays doomed: the name may be that of a file of the other's by now.
    pub(crate) fn bury(&self, name: Name, hash: u128) -> bool {
        let Some(_turn) = self.turn.hold() else { return false };
        let _stripe = self.stripe(hash);
        if !self.catalogue.lock().is_doomed(name) {
            return true;
        }
        let path = self.path(name);
        match self.faults.pass(Operation::Remove, &path).and_then(|()| fs::remove_file(&path)) {
            Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
                self.failed("unlink()", &path, error);
                false
            }
            _ => {
                self.catalogue.lock().buried(name);
                true
            }
        }
    }

    /// Removes up to `count` doomed files; how many that were.
    pub(crate) fn bury_doomed(&self, count: usize) -> usize {
        let doomed = self.catalogue.lock().some_doomed(count);
        doomed.into_iter().filter(|(name, hash)| self.bury(*name, *hash)).count()
    }

    /// Has doomed files removed soon.
    pub(crate) fn bury_soon(self: &Arc<Self>) {
        let shelf = Arc::clone(self);
        let job = move || while shelf.bury_doomed(256) > 0 {};
        // A full queue: the keeper does it.
        let _ = self.pool.write(0, Box::new(job));
    }

    /// Looks whether a file is still there. If somebody removed it, its page goes from memory too, and so does what is on its
    /// way there or to the file. What is removed here has left the catalogue before.
    pub(crate) fn check_presence(&self, name: Name) {
        let Some(filed) = self.catalogue.lock().get(name) else { return };
        let hash = filed.key_hash();
        let _stripe = self.stripe(hash);
        let missing = matches!(
            fs::symlink_metadata(self.path(name)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        );
        let gone = missing.then(|| self.catalogue.lock().forget(name)).flatten();
        if let Some(filed) = gone {
            self.counts.vanished.fetch_add(1, Relaxed);
            let Some(above) = self.above.upgrade() else { return };
            let number = above.sequence();
            above.remove(hash);
            // Last: what came to memory before is being written by now, if at all.
            self.catalogue.lock().cancel_before(&filed, number);
        }
    }

    pub(crate) fn stats(&self) -> DiskStats {
        let catalogue = self.catalogue.lock();
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        DiskStats {
            files: catalogue.len(),
            bytes: catalogue.used_blocks() * BLOCK,
            recovered: catalogue.complete,
            reads: count(&self.counts.reads),
            writes: count(&self.counts.writes),
            dropped: count(&self.counts.dropped),
            evictions: count(&self.counts.evictions),
            expired: count(&self.counts.expired),
            vanished: count(&self.counts.vanished),
            set_aside: count(&self.counts.set_aside),
            unreadable: count(&self.counts.unreadable),
        }
    }
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Bytes of a whole file that are read at once; a longer one's body stays on disk.
pub(crate) fn is_large(body_len: u64, most_in_memory: u64) -> bool {
    body_len > most_in_memory.max(format::PIECE)
}
