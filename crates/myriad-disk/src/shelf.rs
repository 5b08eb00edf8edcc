//! The files of a zone and all that a change of one takes: room is made here, and files are removed.

use std::fs;
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use myriad_index::{Name, Seed, Verdict};
use parking_lot::{Mutex, MutexGuard, RwLock};
use rustix::io::Errno;

use crate::body_file::Damage;
use crate::catalogue::{BLOCK, Catalogue, Filed};
use crate::counts::Counts;
use crate::faults::Operation;
use crate::files::Files;
use crate::format::FormatError;
use crate::health::Health;
use crate::lease::WriterLease;
use crate::memory_tier::MemoryTier;
use crate::options::{DiskEvent, DiskLimits, DiskOptions, DiskStats};
use crate::pool::DiskPool;
use crate::quarantine::Quarantine;

/// Locks for keys, so that no two threads change files of one key at once.
const STRIPES: usize = 64;
/// Most files that one eviction passes by because memory knows that their pages are in use.
const PASSED_BY: usize = 64;

/// The files of a zone, what is known of them, and what must be asked before one is changed.
pub(crate) struct Shelf {
    pub(crate) files: Files,
    pub(crate) health: Health,
    pub(crate) counts: Counts,
    pub(crate) limits: RwLock<DiskLimits>,
    pub(crate) catalogue: Mutex<Catalogue>,
    stripes: Box<[Mutex<()>]>,
    pub(crate) lease: WriterLease,
    quarantine: Quarantine,
    pub(crate) pool: DiskPool,
    pub(crate) memory: Weak<dyn MemoryTier>,
}

impl Shelf {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        version: u16,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        let DiskOptions { path, levels, limits, clock, reference, report } = options;
        Self {
            files: Files::new(path, levels, seed, version),
            health: Health::new(clock, reference, report),
            counts: Counts::default(),
            limits: RwLock::new(limits),
            catalogue: Mutex::new(Catalogue::new()),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            lease: WriterLease::default(),
            quarantine: Quarantine::default(),
            pool: pool.clone(),
            memory,
        }
    }

    /// The lock that is held to change files of a key.
    pub(crate) fn stripe(&self, hash: u128) -> MutexGuard<'_, ()> {
        self.stripes[(hash >> 32) as usize % STRIPES].lock()
    }

    /// The locks that are held to change any file.
    pub(crate) fn all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(Mutex::lock).collect()
    }

    /// Whether pages may be written: this process has the lease, and it is worth a try.
    pub(crate) fn may_write(&self) -> bool {
        self.lease.is_held() && self.health.is_time_to_write()
    }

    /// Takes or keeps the writer lease; whether this process may write. `own` is the first number of its start.
    pub(crate) fn keep_lease(&self, own: u64) -> bool {
        self.lease.keep(&self.files, &self.health, own)
    }

    /// Puts a file that is not what it should be into quarantine, or removes it, and counts it. The stripe of its key must be
    /// held.
    pub(crate) fn quarantine(&self, name: Name, why: FormatError) {
        let path = self.files.path(name);
        self.catalogue.lock().forget(name);
        // A newer binary may write what an older one cannot read.
        let Some(_lease) = self.lease.hold() else { return };
        let limits = *self.limits.read();
        let is_kept = self.leaves_free(0, limits)
            && self.quarantine.keep(&self.files, &path, limits.max_bytes).is_some();
        if !is_kept {
            let _ = fs::remove_file(&path);
        }
        let count = self.counts.quarantined.fetch_add(1, Relaxed) + 1;
        if count == 1 || count.is_multiple_of(1000) {
            self.health.tell(&DiskEvent::Quarantined { path, is_kept, why, count });
        }
    }

    /// Notes a body that was found damaged while it was read piece by piece: the keeper looks at it again.
    pub(crate) fn suspect(&self, damage: Damage) {
        self.quarantine.suspect(damage);
        self.pool.rouse();
    }

    /// Puts files that were found damaged, and still are, into quarantine.
    pub(crate) fn quarantine_suspected(&self) {
        for damage in self.quarantine.take_suspected() {
            let hash = damage.key_hash();
            let persists = {
                let _stripe = self.stripe(hash);
                damage
                    .persists(&self.files)
                    .then(|| self.quarantine(damage.name(), FormatError::Damaged))
                    .is_some()
            };
            if persists && let Some(memory) = self.memory.upgrade() {
                memory.forget(hash);
            }
        }
    }

    /// Does to a file what purges up to `number` say of its page, unless it was replaced since.
    pub(crate) fn obey(&self, filed: &Filed, verdict: Verdict, number: u64) {
        let is_same = |now: Option<Filed>| now.is_some_and(|now| now.generation == filed.generation);
        let mut catalogue = self.catalogue.lock();
        if !is_same(catalogue.get(filed.name)) {
            return;
        }
        match verdict {
            Verdict::Stays => {}
            Verdict::Goes => catalogue.doom(filed.name),
            Verdict::Stale => _ = catalogue.softened.note(filed.name, number),
        }
    }

    /// Notes that the system does not give a file, and tells of it. The file counts as gone, unless the system is only short of
    /// something.
    pub(crate) fn unreadable(&self, name: Name, hash: u128, error: io::Error) {
        let passing = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN];
        let passes = Errno::from_io_error(&error).is_some_and(|errno| passing.contains(&errno));
        self.counts.unreadable.fetch_add(1, Relaxed);
        self.health.troubled("read()", &self.files.path(name), error);
        if !passes {
            self.catalogue.lock().doom_unknown(name, hash);
            self.bury(name, hash);
        }
    }

    /// Bytes of the longest page: one that took more would drive out all others.
    pub(crate) fn most_of_one(&self) -> u64 {
        self.limits.read().max_bytes / 2
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
                    self.health.failed(
                        "statvfs()",
                        &self.files.root,
                        io::Error::new(ErrorKind::StorageFull, why),
                    );
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
        let Some(free) = self.files.faults.free(&self.files.root) else { return true };
        free >= limits.min_free_bytes.saturating_add(blocks * BLOCK)
    }

    /// Removes variants of a key until there are no more than one may have. `kept` is not among them. No stripe may be held.
    pub(crate) fn keep_variants(&self, hash: u128, kept: Option<Name>) {
        let Some(memory) = self.memory.upgrade() else { return };
        let most = memory.max_variants();
        if self.catalogue.lock().coldest_beyond(hash, most, &[], kept).is_none() {
            return;
        }
        let in_memory = memory.variants_used(hash);
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
        if !self.lease.is_held() {
            // The file could not be removed, and memory would lose a page.
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
                && let Some(memory) = self.memory.upgrade()
                && let Some(used) = memory.last_used(hash).map(|used| (used / 1000) as u32)
                && used > victim.used_s
            {
                // Its hits were served from memory, and are not known here.
                self.catalogue.lock().touch(victim.name, used);
                passed += 1;
                continue;
            }
            self.catalogue.lock().evict(victim.name);
            self.counts.evictions.fetch_add(1, Relaxed);
            let buried = self.bury(victim.name, hash);
            // Removing files clears pages: memory may not keep a page whose file is gone.
            if let Some(memory) = self.memory.upgrade() {
                memory.forget(hash);
            }
            return buried;
        }
    }

    /// Removes a doomed file, unless it was replaced since; false where it could not. While another process has the lease the
    /// file stays doomed: it may be one that the other has written.
    pub(crate) fn bury(&self, name: Name, hash: u128) -> bool {
        let Some(_lease) = self.lease.hold() else { return false };
        let _stripe = self.stripe(hash);
        if !self.catalogue.lock().is_doomed(name) {
            return true;
        }
        let path = self.files.path(name);
        match self.files.faults.pass(Operation::Remove, &path).and_then(|()| fs::remove_file(&path)) {
            Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
                self.health.failed("unlink()", &path, error);
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

    /// Queues a job that removes all doomed files.
    pub(crate) fn bury_soon(self: &Arc<Self>) {
        let shelf = Arc::clone(self);
        let job = move || while shelf.bury_doomed(256) > 0 {};
        // Where the queue is full, the keeper removes them.
        let _ = self.pool.write(0, Box::new(job));
    }

    /// Looks whether a file is still there. If somebody removed it, its page is dropped from memory too, and fetches and writes
    /// of it are cancelled. Files that this tier removes have left the catalogue before.
    pub(crate) fn check_presence(&self, name: Name) {
        let Some(filed) = self.catalogue.lock().get(name) else { return };
        let hash = filed.key_hash();
        let _stripe = self.stripe(hash);
        let missing = matches!(
            fs::symlink_metadata(self.files.path(name)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        );
        let gone = missing.then(|| self.catalogue.lock().forget(name)).flatten();
        if let Some(filed) = gone {
            self.counts.vanished.fetch_add(1, Relaxed);
            let Some(memory) = self.memory.upgrade() else { return };
            let number = memory.sequence();
            memory.remove(hash);
            // Last: a page that came to memory before this is being written by now.
            self.catalogue.lock().writes.cancel_before(&filed, number);
        }
    }

    pub(crate) fn stats(&self) -> DiskStats {
        let catalogue = self.catalogue.lock();
        DiskStats {
            files: catalogue.len(),
            bytes: catalogue.used_blocks() * BLOCK,
            recovered: catalogue.complete,
            ..self.counts.stats()
        }
    }
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("root", &self.files.root).finish_non_exhaustive()
    }
}
