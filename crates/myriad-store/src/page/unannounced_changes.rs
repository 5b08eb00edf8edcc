//! Changes of pages that no purge announced, for administrators.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Maximum number of changes in the list; the oldest are dropped.
const MAX_ENTRIES: usize = 100;

/// Change of a page that was found when the page was refreshed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnannouncedChange {
    /// Time at which the change was found, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Host and target of the page.
    pub page: String,
    /// Tags of the page, separated by spaces: the change concerns one of these, or something that is not recorded.
    pub tags: String,
    /// Text of the page at the first difference, before the change.
    pub before: String,
    /// Text of the page at the first difference, after the change.
    pub after: String,
}

/// Last changes in a zone that no purge announced.
#[derive(Debug, Default)]
pub struct UnannouncedChanges(Mutex<ChangeList>);

#[derive(Debug, Default)]
struct ChangeList {
    /// Number of changes since the start.
    total: u64,
    last: VecDeque<UnannouncedChange>,
}

impl UnannouncedChanges {
    /// Adds a change. A page is listed once, with its last change.
    pub fn add(&self, change: UnannouncedChange) {
        let mut list = self.0.lock();
        list.total += 1;
        list.last.retain(|other| other.page != change.page);
        if list.last.len() == MAX_ENTRIES {
            list.last.pop_front();
        }
        list.last.push_back(change);
    }

    /// Returns the number of changes since the start, and the last ones, oldest first.
    pub fn get(&self) -> (u64, Vec<UnannouncedChange>) {
        let list = self.0.lock();
        (list.total, list.last.iter().cloned().collect())
    }
}
