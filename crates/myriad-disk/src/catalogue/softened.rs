//! Pages on disk that soft purges cover.

use std::collections::HashMap;

use myriad_index::Name;

/// Pages that soft purges cover, by their files, until no purge counts them any more.
#[derive(Debug, Default)]
pub(crate) struct SoftenedPages {
    /// The newest soft purge that covers each.
    newest: HashMap<Name, u64>,
    /// Files that have yet to say that their pages are stale.
    unwritten: Vec<Name>,
}

impl SoftenedPages {
    /// Notes that a soft purge covers a page; whether no purge as new was known to.
    pub(crate) fn note(&mut self, name: Name, number: u64) -> bool {
        let former = self.newest.insert(name, number).unwrap_or(0);
        if former == 0 {
            self.unwritten.push(name);
        }
        if former > number {
            self.newest.insert(name, former);
        }
        former < number
    }

    /// The newest soft purge that is known to cover a page; zero where none is.
    pub(crate) fn newest(&self, name: Name) -> u64 {
        self.newest.get(&name).copied().unwrap_or(0)
    }

    /// Takes up to `most` files that have yet to say that their pages are stale.
    pub(crate) fn take_unwritten(&mut self, most: usize) -> Vec<Name> {
        let rest = self.unwritten.len().saturating_sub(most);
        let mut names = self.unwritten.split_off(rest);
        names.retain(|name| self.newest.contains_key(name));
        names
    }

    /// Whether files have yet to say that their pages are stale.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// The file holds another page from now on, or none.
    pub(crate) fn remove(&mut self, name: Name) {
        self.newest.remove(&name);
    }

    /// Forgets pages that no purge after `number` covers: nobody counts them any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.newest.retain(|_, newest| *newest > number);
    }
}
