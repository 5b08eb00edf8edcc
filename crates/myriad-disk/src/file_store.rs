//! Files of a zone, and the operations that change them: freeing of space, removal of files.

use std::fs;
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use crate::index::{FileName, PurgeVerdict, Seed};
use parking_lot::{Mutex, MutexGuard, RwLock};
use rustix::io::Errno;

use crate::body_file::DamagedBody;
use crate::counts::DiskCounters;
use crate::faults::Operation;
use crate::file_index::{BLOCK, FileIndex, IndexedFile};
use crate::files::FolderLayout;
use crate::format::FormatError;
use crate::health::FolderHealth;
use crate::lease::WriterLease;
use crate::memory_tier::MemoryTier;
use crate::options::{DiskEvent, DiskLimits, DiskOptions, DiskStats};
use crate::pool::DiskPool;
use crate::quarantine::Quarantine;

/// Number of locks for keys, so that no two threads change files of a key at once.
const STRIPES: usize = 64;
/// Maximum number of files that an eviction skips because their pages are in use in memory.
const MAX_SKIPPED: usize = 64;

/// Files of a zone, their catalogue, and the conditions for changing them.
pub(crate) struct FileStore {
    pub(crate) files: FolderLayout,
    pub(crate) health: FolderHealth,
    pub(crate) counts: DiskCounters,
    pub(crate) limits: RwLock<DiskLimits>,
    pub(crate) file_index: Mutex<FileIndex>,
    stripes: Box<[Mutex<()>]>,
    pub(crate) lease: WriterLease,
    quarantine: Quarantine,
    pub(crate) pool: DiskPool,
    pub(crate) memory: Weak<dyn MemoryTier>,
}

impl FileStore {
    pub(crate) fn new(
        options: DiskOptions,
        seed: Seed,
        version: u16,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        let DiskOptions { path, levels, limits, clock, reference, report } = options;
        Self {
            files: FolderLayout::new(path, levels, seed, version),
            health: FolderHealth::new(clock, reference, report),
            counts: DiskCounters::default(),
            limits: RwLock::new(limits),
            file_index: Mutex::new(FileIndex::new()),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            lease: WriterLease::default(),
            quarantine: Quarantine::default(),
            pool: pool.clone(),
            memory,
        }
    }

    /// Returns the lock that must be held to change files of a key.
    pub(crate) fn stripe(&self, hash: u128) -> MutexGuard<'_, ()> {
        self.stripes[(hash >> 32) as usize % STRIPES].lock()
    }

    /// Returns the locks that must be held to change files of any key.
    pub(crate) fn all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(Mutex::lock).collect()
    }

    /// Returns whether pages may be written: this process has the lease, and writing does not pause after a failure.
    pub(crate) fn may_write(&self) -> bool {
        self.lease.is_held() && self.health.may_attempt_write()
    }

    /// Takes or retains the writer lease. Returns whether this process may write. `own` is the first number of its
    /// start.
    pub(crate) fn maintain_lease(&self, own: u64) -> bool {
        self.lease.acquire_or_renew(&self.files, &self.health, own)
    }

    /// Quarantines or removes an invalid file, and counts it. The stripe of its key must be held.
    pub(crate) fn quarantine(&self, name: FileName, why: FormatError) {
        let path = self.files.path(name);
        self.file_index.lock().forget(name);
        // A newer binary may have written a file that this binary cannot read.
        let Some(_lease) = self.lease.hold() else { return };
        let limits = *self.limits.read();
        let is_retained = self.leaves_free(0, limits)
            && self.quarantine.add(&self.files, &path, limits.max_bytes).is_some();
        if !is_retained {
            let _ = fs::remove_file(&path);
        }
        let count = self.counts.quarantined.fetch_add(1, Relaxed) + 1;
        if count == 1 || count.is_multiple_of(1000) {
            self.health.report_event(&DiskEvent::Quarantined { path, is_kept: is_retained, why, count });
        }
    }

    /// Records a body that was found damaged while it was read in pieces. The keeper checks it again.
    pub(crate) fn suspect(&self, damage: DamagedBody) {
        self.quarantine.suspect(damage);
        self.pool.wake_maintenance();
    }

    /// Quarantines files that were found damaged and still are.
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

    /// Applies the verdict of the purges up to `number` to a file, unless it was replaced since.
    pub(crate) fn apply_verdict(&self, filed: &IndexedFile, verdict: PurgeVerdict, number: u64) {
        let is_same = |now: Option<IndexedFile>| now.is_some_and(|now| now.generation == filed.generation);
        let mut file_index = self.file_index.lock();
        if !is_same(file_index.get(filed.name)) {
            return;
        }
        match verdict {
            PurgeVerdict::Unaffected => {}
            PurgeVerdict::Removed => file_index.doom(filed.name),
            PurgeVerdict::Stale => _ = file_index.softened.note(filed.name, number),
        }
    }

    /// Records and reports a system error for a file. The file counts as removed, unless the system only lacks a
    /// resource.
    pub(crate) fn record_unreadable(&self, name: FileName, hash: u128, error: io::Error) {
        let passing = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN];
        let passes = Errno::from_io_error(&error).is_some_and(|errno| passing.contains(&errno));
        self.counts.unreadable.fetch_add(1, Relaxed);
        self.health.record_failure("read()", &self.files.path(name), error);
        if !passes {
            self.file_index.lock().doom_unknown(name, hash);
            self.remove_doomed(name, hash);
        }
    }

    /// Returns the maximum size of a page in bytes. A larger page would evict all others.
    pub(crate) fn max_page_bytes(&self) -> u64 {
        self.limits.read().max_bytes / 2
    }

    /// Reserves `blocks`, removing files if necessary. Returns false if too little space can be freed.
    pub(crate) fn make_room(&self, blocks: u32) -> bool {
        let limits = *self.limits.read();
        let wanted = u64::from(blocks);
        loop {
            let leaves_free = self.leaves_free(wanted, limits);
            {
                let mut file_index = self.file_index.lock();
                let used = (file_index.used_blocks() + wanted).saturating_mul(BLOCK);
                if used <= limits.max_bytes && file_index.weighted_len() < limits.max_files && leaves_free {
                    file_index.take_blocks(blocks);
                    return true;
                }
            }
            if wanted.saturating_mul(BLOCK) > limits.max_bytes {
                return false;
            }
            if !self.evict_one() {
                if !leaves_free {
                    let why = "the file system has less free space than min_free: no page is written";
                    self.health.record_write_failure(
                        "statvfs()",
                        &self.files.root,
                        io::Error::new(ErrorKind::StorageFull, why),
                    );
                }
                return false;
            }
        }
    }

    /// Removes files until the limits are met, for example after a change of the limits.
    pub(crate) fn enforce_limits(&self, most: u64) {
        let limits = *self.limits.read();
        for _ in 0..most {
            let over = {
                let file_index = self.file_index.lock();
                file_index.used_blocks().saturating_mul(BLOCK) > limits.max_bytes
                    || file_index.weighted_len() > limits.max_files
                    || !self.leaves_free(0, limits) && file_index.len() > 0
            };
            if !over || !self.evict_one() {
                return;
            }
        }
    }

    /// Returns whether the file system retains its minimum of free space after `blocks` more.
    pub(crate) fn leaves_free(&self, blocks: u64, limits: DiskLimits) -> bool {
        if limits.min_free_bytes == 0 {
            return true;
        }
        let Some(free) = self.files.faults.free(&self.files.root) else { return true };
        free >= limits.min_free_bytes.saturating_add(blocks * BLOCK)
    }

    /// Removes variants of a key beyond the maximum. `kept` is not removed. No stripe may be held.
    pub(crate) fn enforce_variant_limit(&self, hash: u128, excluded: Option<FileName>) {
        let Some(memory) = self.memory.upgrade() else { return };
        let most = memory.max_variants();
        if self.file_index.lock().excess_variant(hash, most, &[], excluded).is_none() {
            return;
        }
        let in_memory = memory.variants_used(hash);
        loop {
            let coldest = {
                let mut file_index = self.file_index.lock();
                let coldest = file_index.excess_variant(hash, most, &in_memory, excluded);
                coldest.inspect(|name| file_index.doom(*name))
            };
            let Some(name) = coldest else { return };
            self.counts.evictions.fetch_add(1, Relaxed);
            self.remove_doomed(name, hash);
        }
    }

    /// Removes a file. Returns false if none can be removed.
    fn evict_one(&self) -> bool {
        if !self.lease.is_held() {
            // The file could not be removed, and memory would lose a page.
            return false;
        }
        if self.file_index.lock().doomed() > 0 {
            return self.remove_some_doomed(MAX_SKIPPED) > 0;
        }
        let mut passed = 0;
        loop {
            let Some(victim) = self.file_index.lock().next_victim() else { return false };
            let hash = victim.key_hash();
            if passed < MAX_SKIPPED
                && let Some(memory) = self.memory.upgrade()
                && let Some(used) = memory.last_used(hash).map(|used| (used / 1000) as u32)
                && used > victim.used_s
            {
                // Its hits were served from memory and are not recorded here.
                self.file_index.lock().touch(victim.name, used);
                passed += 1;
                continue;
            }
            self.file_index.lock().evict(victim.name);
            self.counts.evictions.fetch_add(1, Relaxed);
            let buried = self.remove_doomed(victim.name, hash);
            // Removing files clears pages: memory must not retain a page whose file is removed.
            if let Some(memory) = self.memory.upgrade() {
                memory.forget(hash);
            }
            return buried;
        }
    }

    /// Removes a doomed file, unless it was replaced since. Returns false on failure. While another process has the
    /// lease the file remains doomed, because the other process may have written it.
    pub(crate) fn remove_doomed(&self, name: FileName, hash: u128) -> bool {
        let Some(_lease) = self.lease.hold() else { return false };
        let _stripe = self.stripe(hash);
        if !self.file_index.lock().is_doomed(name) {
            return true;
        }
        let path = self.files.path(name);
        match self.files.faults.check(Operation::Remove, &path).and_then(|()| fs::remove_file(&path)) {
            Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
                self.health.record_write_failure("unlink()", &path, error);
                false
            }
            _ => {
                self.file_index.lock().forget_doomed(name);
                true
            }
        }
    }

    /// Removes up to `count` doomed files and returns their number.
    pub(crate) fn remove_some_doomed(&self, count: usize) -> usize {
        let doomed = self.file_index.lock().first_doomed(count);
        doomed.into_iter().filter(|(name, hash)| self.remove_doomed(*name, *hash)).count()
    }

    /// Queues a job that removes all doomed files.
    pub(crate) fn queue_doomed_removal(self: &Arc<Self>) {
        let file_store = Arc::clone(self);
        let job = move || while file_store.remove_some_doomed(256) > 0 {};
        // If the queue is full, the keeper removes them.
        let _ = self.pool.write(0, Box::new(job));
    }

    /// Checks whether a file still exists. If it was removed from outside, its page is dropped from memory too, and
    /// fetches and writes of it are cancelled. Files removed by this tier have left the catalogue before.
    pub(crate) fn check_presence(&self, name: FileName) {
        let Some(filed) = self.file_index.lock().get(name) else { return };
        let hash = filed.key_hash();
        let _stripe = self.stripe(hash);
        let missing = matches!(
            fs::symlink_metadata(self.files.path(name)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        );
        let gone = missing.then(|| self.file_index.lock().forget(name)).flatten();
        if let Some(filed) = gone {
            self.counts.vanished.fetch_add(1, Relaxed);
            let Some(memory) = self.memory.upgrade() else { return };
            let number = memory.sequence();
            memory.remove(hash);
            // Last, because a page stored in memory before this is being written by now.
            self.file_index.lock().writes.cancel_before(&filed, number);
        }
    }

    pub(crate) fn stats(&self) -> DiskStats {
        let file_index = self.file_index.lock();
        DiskStats {
            files: file_index.len(),
            bytes: file_index.used_blocks() * BLOCK,
            recovered: file_index.complete,
            ..self.counts.stats()
        }
    }
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("root", &self.files.root).finish_non_exhaustive()
    }
}
