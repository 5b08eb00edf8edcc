//! Check of files against rules, and marking of files as stale.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::index::Verdict;

use super::Purges;
use super::round::Round;
use crate::catalogue::{Filed, Role};
use crate::memory_tier::MemoryTier;
use crate::read;

/// Number of files marked as stale in one step.
const SOFTENED: usize = 512;
/// Maximum number of slots examined, maximum number of files read, and maximum duration of one step.
const LOOKED_AT: u32 = 1 << 16;
const READ: usize = 4096;
const ASKING: Duration = Duration::from_millis(100);

impl Purges {
    /// Checks files against rules. Returns whether more remain.
    pub(super) fn ask_files(&self, round: &mut Round, memory: &dyn MemoryTier) -> bool {
        let asked = self.asked();
        if round.asking.is_none() {
            let newest = memory.newest_rule();
            // Memory is checked first, so that pages in memory and on disk are counted there.
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
                // A soft purge that has counted the page does not count it again.
                old.map(|filed| (*filed, catalogue.softened.newest(filed.name))).collect()
            };
            read += files.len();
            for (filed, counted) in files {
                let since = filed.generation.max(asked);
                let count = (!self.is_superseded(memory, &filed)).then_some(since.max(counted));
                let (verdict, newest) = memory.ask_file(&filed, since, count);
                match verdict {
                    Verdict::Stays => {}
                    // A purge that is counting at this moment must not count it again.
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

    /// Records the pages that soft purges have covered in memory at their files, if these belong to the same fetch.
    pub(super) fn note_softened(&self, memory: &dyn MemoryTier) {
        for softened in memory.take_softened() {
            let mut catalogue = self.shelf.catalogue.lock();
            let mut files = catalogue.of_hash(softened.key).filter(|filed| filed.role != Role::Marker);
            let of_page = files.find(|filed| filed.generation == softened.generation).map(|filed| filed.name);
            drop(files);
            of_page.inspect(|name| _ = catalogue.softened.note(*name, softened.number));
        }
    }

    /// Marks some files as stale. Returns whether more remain.
    pub(super) fn write_softened(&self) -> bool {
        let softened = self.shelf.catalogue.lock().take_softened(SOFTENED);
        for filed in &softened {
            self.expire(filed);
        }
        self.shelf.catalogue.lock().softened.has_unwritten()
    }

    /// Marks the page in a file as stale. On failure, or if another process may write the file, the file is removed.
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
}
