//! Pages on disk that are covered by soft purges.

use std::collections::HashMap;

use crate::index::FileName;

/// Soft-purged pages, by file. Entries exist until the soft purges are forgotten.
#[derive(Debug, Default)]
pub(crate) struct SoftPurgedPages {
    /// Number of the newest soft purge that covers the page of a file.
    newest: HashMap<FileName, u64>,
    /// Files that are to be marked as stale on disk (`fresh_until` 0) because of a soft purge, but are not yet.
    unwritten: Vec<FileName>,
}

impl SoftPurgedPages {
    /// Records that soft purge `number` covers the page in a file. Returns true if no purge with this or a higher
    /// number was recorded for it.
    pub(crate) fn note(&mut self, name: FileName, number: u64) -> bool {
        let former = self.newest.insert(name, number).unwrap_or(0);
        if former == 0 {
            self.unwritten.push(name);
        }
        if former > number {
            self.newest.insert(name, former);
        }
        former < number
    }

    /// Returns the number of the newest soft purge known to cover the page in a file, or 0.
    pub(crate) fn newest(&self, name: FileName) -> u64 {
        self.newest.get(&name).copied().unwrap_or(0)
    }

    /// Removes up to `most` files from the list of files to mark as stale, and returns those that are still
    /// soft-purged.
    pub(crate) fn take_unwritten(&mut self, most: usize) -> Vec<FileName> {
        let rest = self.unwritten.len().saturating_sub(most);
        let mut names = self.unwritten.split_off(rest);
        names.retain(|name| self.newest.contains_key(name));
        names
    }

    /// Returns true if files remain to be marked as stale on disk.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Removes the records about a file that is removed or now contains another page.
    pub(crate) fn remove(&mut self, name: FileName) {
        self.newest.remove(&name);
    }

    /// Removes pages whose newest soft purge is `number` or older, because such purges are complete and count no page
    /// any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.newest.retain(|_, newest| *newest > number);
    }
}
