//! Pages on disk that soft purges cover.

use std::collections::HashMap;

use crate::index::FileName;

/// Pages covered by soft purges, by their files, until no purge counts them any more.
#[derive(Debug, Default)]
pub(crate) struct SoftPurgedPages {
    /// Newest soft purge that covers each.
    newest: HashMap<FileName, u64>,
    /// Files that are not marked as stale yet.
    unwritten: Vec<FileName>,
}

impl SoftPurgedPages {
    /// Records that a soft purge covers a page. Returns whether it is newer than the recorded purge.
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

    /// Returns the newest soft purge known to cover a page, or zero.
    pub(crate) fn newest(&self, name: FileName) -> u64 {
        self.newest.get(&name).copied().unwrap_or(0)
    }

    /// Takes up to `most` files that are not marked as stale yet.
    pub(crate) fn take_unwritten(&mut self, most: usize) -> Vec<FileName> {
        let rest = self.unwritten.len().saturating_sub(most);
        let mut names = self.unwritten.split_off(rest);
        names.retain(|name| self.newest.contains_key(name));
        names
    }

    /// Returns whether files remain to be marked as stale.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Removes a file that contains another page from now on, or none.
    pub(crate) fn remove(&mut self, name: FileName) {
        self.newest.remove(&name);
    }

    /// Removes pages that no purge after `number` covers, because no purge counts them any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.newest.retain(|_, newest| *newest > number);
    }
}
