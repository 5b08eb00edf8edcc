//! Search for the files of keys and labels.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::index::{Book, Count, ExactPurge, Name, Purge};

use super::Purges;
use crate::catalogue::{Filed, Role};
use crate::format::Kind;
use crate::memory_tier::MemoryTier;
use crate::read;

/// Number of files of a label taken in one hold of the catalogue's lock.
const TAKEN: usize = 1024;
/// Maximum time that a purge waits for the first step of the recovery, so that its count is exact for a small folder.
const FIRST_STRETCH: Duration = Duration::from_millis(200);

impl Purges {
    /// Removes the pages of a purge's keys and labels from memory and folder, or makes them stale, and counts them.
    ///
    /// `is_written` is set if the purge is in the log. If the folder cannot be written, waiting for the recovery has no
    /// benefit.
    pub(super) fn take_exact(&self, exact: &ExactPurge, is_written: bool) -> Count {
        let Some(memory) = self.shelf.memory.upgrade() else { return Count::AtLeast(0) };
        Arc::clone(&memory).take_exact(exact);
        // Pages counted in memory are not counted again.
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
        // The file of a key is known without a catalogue.
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
            // For this purge, a page covered by an earlier rule no longer exists, even if no sweep has found it yet.
            let since = filed.generation.max(self.asked());
            if memory.newest_rule_before(number) > since {
                let counted = self.shelf.catalogue.lock().softened.newest(filed.name);
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
                Purge::Soft => catalogue.softened.note(filed.name, number),
            };
            count += usize::from(is_news && is_page);
        }
        count
    }

    /// Returns whether memory has a newer page that waits to be written in the place of a file. That page counts
    /// instead of the file.
    pub(super) fn is_superseded(&self, memory: &dyn MemoryTier, filed: &Filed) -> bool {
        let hash = filed.key_hash();
        if !self.shelf.catalogue.lock().writes.has_key(hash) {
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
        // A key's own file is known by its name before the recovery has reached it.
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

    pub(super) fn recall_book(&self, book: &Book) {
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
}
