//! Writing of pages to the files of a zone.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::FileName;

use super::DiskStore;
use crate::file_index::FileRole;
use crate::format::{ContentKind, HEADER, Sections};
use crate::page::{PageId, PageParts};
use crate::staged_file::{FileCompletion, StagedFile, WriteFailure};

/// Delay in milliseconds before the file of a page that has changed is written again, so that several changes need one
/// write.
const REWRITE_DELAY_MS: u64 = 2000;
/// Maximum number of pages whose files wait to be written again after a change.
const MAX_CHANGED: usize = 4096;
/// Maximum number of files marked as removed up to which a failed write marks the former file of its page without
/// checking that this file exists. From this number on, it checks first.
pub(crate) const MAX_UNCHECKED_DOOMED: usize = 1 << 14;

impl DiskStore {
    /// Returns true if the index has a file with this page or a later page of the same key and variant. Files known
    /// only from an old snapshot do not count.
    pub fn has_file_of(&self, page: &PageId<'_>) -> bool {
        let file_index = self.file_store.file_index.lock();
        file_index.has_page(page.hash, page.variant(), |generation| generation >= page.generation)
    }

    /// Returns true if a later page of the same key and variant is being written or is in an indexed file. A file that
    /// is known only from an old snapshot does not count.
    pub fn has_or_writes_newer(&self, page: &PageId<'_>) -> bool {
        let file_index = self.file_store.file_index.lock();
        file_index.writes.has_newer(page.hash, page.variant(), page.generation)
            || file_index.has_page(page.hash, page.variant(), |generation| generation > page.generation)
    }

    /// Registers the write of a page and returns the number of the write. An earlier write of the same key and variant
    /// is cancelled. From now on a file with an earlier page of the same key and variant is not read, and a purge
    /// cancels the write. Returns `None` if a later page of the same key and variant is being written.
    pub fn begin_write(&self, page: &PageId<'_>) -> Option<u64> {
        self.file_store.file_index.lock().writes.begin(page.hash, page.variant(), page.generation)
    }

    /// Unregisters write `number` of a page, because it turned out to be unnecessary.
    pub fn end_write(&self, page: &PageId<'_>, number: u64) {
        self.file_store.file_index.lock().writes.end(page.hash, page.variant(), number);
    }

    /// Queues `job`, which writes a page of `weight` bytes, for a disk thread. If that is not possible, write `number`
    /// is unregistered, and the page's former file is marked as removed. The page is then added to the backlog if the
    /// queue is full or this process does not hold the writer lease, and otherwise, or if the backlog is full, counted
    /// as dropped.
    pub fn queue_write(&self, page: &PageId<'_>, number: u64, weight: usize, job: Box<dyn FnOnce() + Send>) {
        let file_store = &self.file_store;
        let may_write = file_store.health.has_begun() && file_store.may_write();
        if may_write && file_store.pool.write(weight, job).is_ok() {
            return;
        }
        self.finish_failed_write(page, number);
        // Another process has the lease, and may shut down before this process.
        let is_early = file_store.health.has_begun() && !file_store.lease.is_held();
        if !(may_write || is_early) || !self.backlog.push(page.hash) {
            file_store.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Creates a temporary file for a page with a body of `body_len` bytes. Fails with `Cancelled` if a purge or a
    /// later write has cancelled write `number`, with `NoSpace` if no space can be freed, and otherwise with `Failed`.
    pub fn begin_file(
        &self,
        page: &PageId<'_>,
        number: u64,
        body_len: u64,
    ) -> Result<StagedFile, WriteFailure> {
        if !self.file_store.file_index.lock().writes.is_current(page.hash, page.variant(), number) {
            return Err(WriteFailure::Cancelled);
        }
        StagedFile::begin(&self.file_store, HEADER as u64 + body_len)
    }

    /// Writes the sections around the body of a temporary file, renames the file to its final name, adds it to the
    /// file index and returns the name. Fails with `Cancelled` if a purge or a later write has cancelled write
    /// `number`, a later page is in the folder, or the key's marker file was removed meanwhile; with `NoSpace` if the
    /// sections do not fit; and otherwise with `Failed`.
    pub fn commit_file(
        &self,
        file: StagedFile,
        page: &PageId<'_>,
        parts: &PageParts<'_>,
        number: u64,
    ) -> Result<FileName, WriteFailure> {
        file.commit(FileCompletion {
            sections: Sections {
                kind: ContentKind::Object,
                version: self.file_store.files.version,
                generation: page.generation,
                family: 0,
                stored_at: parts.stored_at,
                fresh_until: parts.fresh_until,
                clock: self.file_store.health.clock_reference(),
                labels: parts.labels,
                key: page.key,
                key_hash: page.hash,
                selector: page.selection.map_or(&[], |selection| &*selection.selector),
                variant: page.variant().unwrap_or_default(),
                meta: parts.meta,
                encodings: parts.encodings,
            },
            variant: page.variant(),
            number,
            used_s: parts.used_s,
        })
    }

    /// Records that a page could not be written: unregisters write `number`, marks the page's former file as removed,
    /// and counts the page as dropped. If another process has taken the lease meanwhile, the page is added to the
    /// backlog instead, if that has space, because this process may get the lease back. Does nothing for `Cancelled`.
    pub fn write_failed(&self, page: &PageId<'_>, number: u64, why: &WriteFailure) {
        if matches!(why, WriteFailure::Cancelled) {
            return;
        }
        self.finish_failed_write(page, number);
        if !self.file_store.lease.is_lost() || !self.backlog.push(page.hash) {
            self.file_store.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Like [`Self::write_failed`], for a page whose body is not in memory: it cannot be written later, so it is always
    /// counted as dropped.
    pub fn spill_failed(&self, page: &PageId<'_>, number: u64, why: &WriteFailure) {
        if !matches!(why, WriteFailure::Cancelled) {
            self.file_store.counts.dropped.fetch_add(1, Relaxed);
            self.finish_failed_write(page, number);
        }
    }

    /// Unregisters a failed write, and marks the file that it would have replaced as removed. Leaves a file with a
    /// later page, and does nothing more if the name of that file is unknown. Does nothing at all if the write was
    /// cancelled before.
    pub(crate) fn finish_failed_write(&self, page: &PageId<'_>, number: u64) {
        let file_store = &self.file_store;
        let main = FileName::of_key(page.key);
        let name = {
            let mut file_index = file_store.file_index.lock();
            if !file_index.writes.end(page.hash, page.variant(), number) {
                return;
            }
            let name = match (page.selection, file_index.marker(main)) {
                (Some(own), Some(marker)) if own.selector == marker.selector => {
                    FileName::of_variant(page.key, marker.family, &own.variant)
                }
                // A marker that is not in the index yet may have the same selector.
                (Some(_), None) if file_index.get(main).is_none_or(|filed| filed.role != FileRole::Plain) => {
                    return;
                }
                _ => main,
            };
            match file_index.get(name) {
                Some(filed) if filed.generation > page.generation => return,
                Some(_) => return file_index.doom(name),
                None if file_index.complete => return,
                // A worker does not wait for an overloaded disk: the file is doomed unchecked, and its removal finds
                // out whether it exists.
                None if file_store.lease.is_held() && file_index.doomed() < MAX_UNCHECKED_DOOMED => {
                    return file_index.doom_unknown(name, page.hash);
                }
                None => name,
            }
        };
        // A missing file is not recorded, because clients could create any number of such entries.
        if fs::symlink_metadata(file_store.files.path(name)).is_ok() {
            let mut file_index = file_store.file_index.lock();
            if file_index.get(name).is_none_or(|filed| filed.generation <= page.generation) {
                file_index.doom_unknown(name, page.hash);
            }
        }
    }

    /// Records that a page in memory got an encoding or a validity that its file lacks, so that the file is written
    /// again. Ignored if [`MAX_CHANGED`] pages wait already.
    pub fn note_changed(&self, page: &PageId<'_>, now: u64) {
        let mut changed = self.changed.lock();
        if changed.len() < MAX_CHANGED {
            let due = now.saturating_add(REWRITE_DELAY_MS);
            changed.entry((page.hash, page.generation)).or_insert(due);
        }
    }

    /// Removes and returns the changed pages whose delay of [`REWRITE_DELAY_MS`] has passed at `now`, in milliseconds:
    /// key hash and generation of each.
    pub fn take_changed(&self, now: u64) -> Vec<(u128, u64)> {
        let mut due = Vec::new();
        self.changed.lock().retain(|page, at| {
            if *at <= now {
                due.push(*page);
            }
            *at > now
        });
        due
    }

    /// Removes key hashes of pages to write from the backlog and returns them: as many as the write queue can take now;
    /// none while writing is not possible.
    pub fn take_backlog(&self) -> Vec<u128> {
        if !self.file_store.may_write() {
            return Vec::new();
        }
        self.backlog.take(self.file_store.pool.free_write_slots())
    }

    /// Counts a page of the backlog as dropped, because memory evicted it before it could be written, unless its key
    /// has a file.
    pub fn note_backlog_dropped(&self, hash: u128) {
        // Not counted if the key has a file: it was in the backlog twice.
        if self.file_store.file_index.lock().files_of_hash(hash).next().is_none() {
            self.file_store.counts.dropped.fetch_add(1, Relaxed);
        }
    }
}
