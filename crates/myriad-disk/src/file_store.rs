//! Files of a zone, and operations on any of them: reserving and freeing space, removal, quarantine.

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

/// Number of locks ("stripes") over which keys are distributed, so that two threads do not change files of one key at
/// the same time.
const STRIPES: usize = 64;
/// Maximum number of files that one eviction skips because their pages have been served from memory since, or deletes
/// because they are already marked as removed.
const MAX_SKIPPED: usize = 64;

/// Files of a zone, their index, and the conditions for changing them (writer lease, health, limits).
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

    /// Locks and returns the stripe of a key, one of [`STRIPES`] locks. It must be held while files of the key are
    /// changed.
    pub(crate) fn stripe(&self, hash: u128) -> MutexGuard<'_, ()> {
        self.stripes[(hash >> 32) as usize % STRIPES].lock()
    }

    /// Locks all [`STRIPES`] locks of keys, to change a file whose key is unknown.
    pub(crate) fn all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(Mutex::lock).collect()
    }

    /// Returns true if this process holds the writer lease and writing is not paused after a failure or closed.
    pub(crate) fn may_write(&self) -> bool {
        self.lease.is_held() && self.health.may_attempt_write()
    }

    /// Takes, retains or releases the writer lease, which permits one process to write to the folder. Returns true if
    /// this process may write. `own` is the first sequence number of this start.
    pub(crate) fn maintain_lease(&self, own: u64) -> bool {
        self.lease.acquire_or_renew(&self.files, &self.health, own)
    }

    /// Removes an invalid file from the index, and moves it into quarantine, or deletes it if it cannot be retained
    /// there. The file remains unchanged if this process does not have the writer lease. The caller must have locked
    /// the stripe of the key.
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

    /// Records a body that was found damaged while it was read in pieces. The maintenance thread checks it again, and
    /// quarantines its file if it is still damaged.
    pub(crate) fn suspect(&self, damage: DamagedBody) {
        self.quarantine.suspect(damage);
        self.pool.wake_maintenance();
    }

    /// Quarantines files that were found damaged and are still damaged, and drops their pages from memory.
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

    /// Applies the combined verdict of the purges up to `number` to a file: records it as stale or marks it as removed,
    /// unless the file was replaced since. The file itself is changed or deleted later.
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

    /// Counts a system error while reading a file, and reports it unless an earlier failure is unresolved. Removes the
    /// file, unless the error is a temporary lack of resources (such as too many open files).
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

    /// Returns the maximum size of a file in bytes: half of the zone's `max_size`, because a larger page would evict
    /// too many others.
    pub(crate) fn max_page_bytes(&self) -> u64 {
        self.limits.read().max_bytes / 2
    }

    /// Reserves `blocks` of 4 KB for a new file, evicting files if necessary. Returns false if not enough space can be
    /// freed, or if the file system has less free space than `min_free` (which is reported as a failure).
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

    /// Evicts up to `most` files until `max_size` and the other limits are met, for example after they were reduced.
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

    /// Returns true if the file system would still have `min_free` free bytes after writing `blocks` more blocks of 4
    /// KB, or if its free space is unknown.
    pub(crate) fn leaves_free(&self, blocks: u64, limits: DiskLimits) -> bool {
        if limits.min_free_bytes == 0 {
            return true;
        }
        let Some(free) = self.files.faults.free(&self.files.root) else { return true };
        free >= limits.min_free_bytes.saturating_add(blocks * BLOCK)
    }

    /// Removes the least recently used variants of a key beyond the maximum per key. `excluded` is not removed. The
    /// caller must hold no lock of a key.
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

    /// Deletes files to free space: some that are already marked as removed if there are any, otherwise the next file
    /// to evict, whose key's pages are also dropped from memory. Returns false if nothing was deleted.
    fn evict_one(&self) -> bool {
        if !self.lease.is_held() {
            // Without the lease, the file may not be removed, and dropping the page from memory would be a loss.
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
                // The hits were served from memory and are not recorded in the file index.
                self.file_index.lock().touch(victim.name, used);
                passed += 1;
                continue;
            }
            self.file_index.lock().evict(victim.name);
            self.counts.evictions.fetch_add(1, Relaxed);
            let buried = self.remove_doomed(victim.name, hash);
            // Removing a file is how administrators clear a page, so memory must not retain a page without a file.
            if let Some(memory) = self.memory.upgrade() {
                memory.forget(hash);
            }
            return buried;
        }
    }

    /// Deletes a file that is marked as removed; does nothing if a new file has replaced it since. Returns false on
    /// failure, or if this process does not hold the writer lease: the file remains marked then, because another
    /// process may have written it.
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

    /// Deletes up to `count` files that are marked as removed. Returns how many of them are gone, including those that
    /// did not exist.
    pub(crate) fn remove_some_doomed(&self, count: usize) -> usize {
        let doomed = self.file_index.lock().first_doomed(count);
        doomed.into_iter().filter(|(name, hash)| self.remove_doomed(*name, *hash)).count()
    }

    /// Queues a job that deletes all files that are marked as removed.
    pub(crate) fn queue_doomed_removal(self: &Arc<Self>) {
        let file_store = Arc::clone(self);
        let job = move || while file_store.remove_some_doomed(256) > 0 {};
        // If the queue is full, the maintenance thread deletes them.
        let _ = self.pool.write(0, Box::new(job));
    }

    /// Checks whether a file of the file index still exists. If not, another program removed it, because this tier
    /// removes a file from the index first. The pages of its key are then dropped from memory, responses that are being
    /// fetched for it are not stored, and its pending writes are cancelled.
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
            // This is the last step, because a page stored in memory before it is being written by now.
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
        f.debug_struct("FileStore").field("root", &self.files.root).finish_non_exhaustive()
    }
}
