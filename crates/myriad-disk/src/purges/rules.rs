//! Checks of all files against purge rules, and marking of files as stale.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::index::PurgeVerdict;

use super::Purges;
use super::round::PurgeRound;
use crate::file_index::{FileRole, IndexedFile};
use crate::memory_tier::MemoryTier;
use crate::read;

/// Maximum number of soft-purged files marked as stale per step.
const SOFT_PURGED_PER_STEP: usize = 512;
/// Maximum number of slots of the file index examined per step of the check of files against purges by rule.
const SLOTS_PER_STEP: u32 = 1 << 16;
/// Number of files after which a step of the check of files against purges by rule stops.
const FILES_PER_STEP: usize = 4096;
/// Maximum duration of a step of the check of files against purges by rule.
const STEP_TIMEOUT: Duration = Duration::from_millis(100);

impl Purges {
    /// Checks some files against purges by rule that have not been checked against all files yet. Returns true if more
    /// files remain.
    pub(super) fn check_files(&self, round: &mut PurgeRound, memory: &dyn MemoryTier) -> bool {
        let asked = self.checked_through();
        if round.file_check.is_none() {
            let newest = memory.newest_rule();
            // Memory is checked first, so that a page that is both in memory and on disk is counted there.
            let may_begin = newest > asked
                && memory.checked_in_memory() >= newest
                && self.file_store.file_index.lock().complete;
            round.file_check = may_begin.then_some((newest, 0));
        }
        let Some((upto, first)) = round.file_check else { return false };
        let (began, mut read) = (Instant::now(), 0);
        let last = self.file_store.file_index.lock().slots();
        let end = first.saturating_add(SLOTS_PER_STEP).min(last);
        let mut slot = first;
        while slot < end && read < FILES_PER_STEP && began.elapsed() < STEP_TIMEOUT {
            let slots = slot..slot.saturating_add(64).min(end);
            slot = slots.end;
            let files: Vec<(IndexedFile, u64)> = {
                let file_index = self.file_store.file_index.lock();
                let files = slots.filter_map(|slot| file_index.at(slot));
                let old = files.filter(|filed| filed.role != FileRole::Marker && filed.generation < upto);
                // A soft purge that has counted the page must not count it again.
                old.map(|filed| (*filed, file_index.softened.newest(filed.name))).collect()
            };
            read += files.len();
            for (filed, counted) in files {
                let since = filed.generation.max(asked);
                let count = (!self.is_superseded(memory, &filed)).then_some(since.max(counted));
                let (verdict, newest) = memory.judge_file(&filed, since, count);
                match verdict {
                    PurgeVerdict::Unaffected => {}
                    // The mark is not written now, so that a purge that is still counting does not count the page
                    // again.
                    PurgeVerdict::Stale if memory.is_counting() => {
                        self.file_store.apply_verdict(&filed, verdict, newest);
                    }
                    PurgeVerdict::Stale => self.expire(&filed),
                    PurgeVerdict::Removed => {
                        self.file_store.apply_verdict(&filed, PurgeVerdict::Removed, 0);
                        self.file_store.remove_doomed(filed.name, filed.key_hash());
                    }
                }
            }
        }
        round.file_check = (slot < last).then_some((upto, slot));
        if round.file_check.is_none() {
            self.checked_through.store(upto, SeqCst);
        }
        round.file_check.is_some()
    }

    /// Records the soft purges of pages in memory for their files, if the files contain the same pages.
    pub(super) fn note_softened(&self, memory: &dyn MemoryTier) {
        for softened in memory.take_softened() {
            let mut file_index = self.file_store.file_index.lock();
            let mut files =
                file_index.files_of_hash(softened.key).filter(|filed| filed.role != FileRole::Marker);
            let of_page = files.find(|filed| filed.generation == softened.generation).map(|filed| filed.name);
            drop(files);
            of_page.inspect(|name| _ = file_index.softened.note(*name, softened.number));
        }
    }

    /// Marks some soft-purged files on disk as stale. Returns true if more remain.
    pub(super) fn write_softened(&self) -> bool {
        let softened = self.file_store.file_index.lock().take_softened(SOFT_PURGED_PER_STEP);
        for filed in &softened {
            self.expire(filed);
        }
        self.file_store.file_index.lock().softened.has_unwritten()
    }

    /// Writes into a file that its page is stale, unless the file was replaced since. On failure, the file is removed
    /// instead; without the writer lease, it is only marked as removed.
    fn expire(&self, filed: &IndexedFile) {
        let expired = self.file_store.lease.is_held() && {
            let _stripe = self.file_store.stripe(filed.key_hash());
            let now = self.file_store.file_index.lock().get(filed.name);
            now.is_none_or(|now| now.generation != filed.generation) || self.write_expired(filed).is_some()
        };
        if !expired {
            self.file_store.apply_verdict(filed, PurgeVerdict::Removed, 0);
            self.file_store.remove_doomed(filed.name, filed.key_hash());
        }
    }

    fn write_expired(&self, filed: &IndexedFile) -> Option<()> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut open = File::options();
        let open = open.read(true).write(true).custom_flags(flags.bits() as i32);
        let file = open.open(self.file_store.files.path(filed.name)).ok()?;
        let (mut header, _) = read::header(&self.file_store.files, &file).ok()?;
        if header.generation != filed.generation {
            return None;
        }
        header.fresh_until = 0;
        file.write_all_at(&header.write(), 0).ok()
    }
}
