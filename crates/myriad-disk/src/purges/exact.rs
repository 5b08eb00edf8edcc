//! Purges of keys and labels: search for their files.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::index::{ExactPurge, FileName, PurgeCount, PurgeKind, PurgeSet};

use super::Purges;
use crate::file_index::{FileRole, IndexedFile};
use crate::format::ContentKind;
use crate::memory_tier::MemoryTier;
use crate::read;

/// Maximum number of files with a purged label that are collected while the file index is locked once.
const FILES_PER_LOCK: usize = 1024;
/// Maximum time that purges wait for the first step of the recovery, so that their counts are exact for a small folder.
const MAX_RECOVERY_WAIT: Duration = Duration::from_millis(200);

impl Purges {
    /// Removes the pages of a purge's keys and labels from memory and disk, or makes them stale, and returns their
    /// number: `AtLeast` if the purge has labels and the search at startup is not complete, or if the memory tier no
    /// longer exists.
    ///
    /// `is_written` is true if the purge could be logged. Otherwise the folder cannot be written, and it is pointless
    /// to wait for its recovery.
    pub(super) fn apply_exact(&self, exact: &ExactPurge, is_written: bool) -> PurgeCount {
        let Some(memory) = self.file_store.memory.upgrade() else { return PurgeCount::AtLeast(0) };
        Arc::clone(&memory).apply_exact(exact);
        // Records soft purges in memory at the files first, so that pages counted in memory are not counted again.
        self.note_softened(&*memory);
        if is_written && !exact.labels.is_empty() && self.file_store.pool.has_maintenance_thread() {
            self.first_stretch.wait(MAX_RECOVERY_WAIT);
        }
        let was_complete = self.file_store.file_index.lock().complete;
        let mut count = 0;
        for (key, name) in exact.keys.iter().zip(&exact.names) {
            count += self.apply_to_key(&*memory, *key, *name, exact.number, exact.purge);
        }
        for label in &exact.labels {
            count += self.apply_to_label(&*memory, *label, exact.number, exact.purge);
        }
        if self.file_store.file_index.lock().doomed() > 0 {
            self.file_store.queue_doomed_removal();
        }
        exact.count.fetch_add(count, Relaxed);
        let count = memory.end_count(exact);
        // The file of a key is found by its name, even if the file index is incomplete.
        if was_complete || exact.labels.is_empty() {
            PurgeCount::Exact(count)
        } else {
            PurgeCount::AtLeast(count)
        }
    }

    fn apply_to_label(&self, memory: &dyn MemoryTier, label: u64, number: u64, purge: PurgeKind) -> usize {
        let (mut count, mut after) = (0, None);
        loop {
            let (next, files) =
                self.file_store.file_index.lock().files_with_label(label, after, number, FILES_PER_LOCK);
            count += self.apply_to_files(memory, &files, number, purge);
            match next {
                Some(next) => after = Some(next),
                None => return count,
            }
        }
    }

    fn apply_to_files(
        &self,
        memory: &dyn MemoryTier,
        files: &[IndexedFile],
        number: u64,
        purge: PurgeKind,
    ) -> usize {
        let mut count = 0;
        for filed in files {
            let is_page = !self.is_superseded(memory, filed);
            // A page covered by an earlier rule does not exist for this purge, even if the check of all files has not
            // removed it yet.
            let since = filed.generation.max(self.checked_through());
            if memory.newest_rule_before(number) > since {
                let counted = self.file_store.file_index.lock().softened.newest(filed.name);
                let (verdict, newest) =
                    memory.judge_file(filed, since, is_page.then_some(since.max(counted)));
                self.file_store.apply_verdict(filed, verdict, newest);
                continue;
            }
            let mut file_index = self.file_store.file_index.lock();
            if file_index.get(filed.name).is_none_or(|now| now.generation != filed.generation) {
                continue;
            }
            let is_news = match purge {
                PurgeKind::Hard => {
                    file_index.doom(filed.name);
                    true
                }
                PurgeKind::Soft => file_index.softened.note(filed.name, number),
            };
            count += usize::from(is_news && is_page);
        }
        count
    }

    /// Returns true if memory has a newer page of the same key and variant that will replace the page in the file.
    /// Purges then count the page in memory, not the one in the file.
    pub(super) fn is_superseded(&self, memory: &dyn MemoryTier, filed: &IndexedFile) -> bool {
        let hash = filed.key_hash();
        if !self.file_store.file_index.lock().writes.has_key(hash) {
            return false;
        }
        memory.holds_newer(filed)
    }

    fn apply_to_key(
        &self,
        memory: &dyn MemoryTier,
        key: u128,
        main: FileName,
        number: u64,
        purge: PurgeKind,
    ) -> usize {
        let (files, is_unknown) = {
            let file_index = self.file_store.file_index.lock();
            let is_known =
                file_index.complete || file_index.find(main).is_some() || file_index.is_doomed(main);
            (file_index.files_of_hash(key).copied().collect::<Vec<_>>(), !is_known)
        };
        // A key's own file is found by its name, even if the recovery has not found it yet.
        let is_found = is_unknown
            && read::open(&self.file_store.files, main).is_ok_and(|file| {
                read::header(&self.file_store.files, &file).is_ok_and(|(header, _)| {
                    header.kind == ContentKind::Object && header.key_hash == key && header.generation < number
                })
            });
        let is_page = |filed: &&IndexedFile| filed.role != FileRole::Marker;
        let pages: Vec<IndexedFile> =
            files.iter().filter(is_page).filter(|filed| filed.generation < number).copied().collect();
        let has_newer = files.iter().filter(is_page).any(|filed| filed.generation >= number);
        let count = self.apply_to_files(memory, &pages, number, purge) + usize::from(is_found);
        if purge == PurgeKind::Hard {
            let mut file_index = self.file_store.file_index.lock();
            if is_found && file_index.find(main).is_none() {
                file_index.doom_unknown(main, key);
            }
            let markers =
                files.iter().filter(|filed| filed.role == FileRole::Marker && filed.generation < number);
            markers.filter(|_| !has_newer).for_each(|filed| file_index.doom(filed.name));
        }
        count
    }

    pub(super) fn recall_book(&self, book: &PurgeSet) {
        let Some(memory) = self.file_store.memory.upgrade() else { return };
        let both = |hard: u64, soft: u64| [(soft, PurgeKind::Soft), (hard, PurgeKind::Hard)];
        for (label, numbers) in &book.labels {
            for (number, purge) in both(numbers.hard, numbers.soft) {
                let count = self.apply_to_label(&*memory, *label, number, purge);
                memory.note_found(None, &[*label], purge, count);
            }
        }
        for (key, numbers) in &book.keys {
            let main = self.file_store.file_index.lock().files_of_hash(*key).next().map(|filed| filed.name);
            for (number, purge) in both(numbers.hard, numbers.soft) {
                let count = main.map_or(0, |main| self.apply_to_key(&*memory, *key, main, number, purge));
                memory.note_found(Some(*key), &[], purge, count);
            }
        }
    }
}
