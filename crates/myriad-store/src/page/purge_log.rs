//! Log of a zone's last purges, and of changes that no purge announced, for administrators.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Maximum number of entries in the log shown to administrators, without those of anonymous clients; the oldest are
/// dropped.
const MAX_ENTRIES: usize = 1000;
/// Maximum number of entries that anonymous clients caused. They do not displace others.
const MAX_ANONYMOUS: usize = 100;
/// Maximum length of the description of the purged pages in an entry of the purge log, in bytes.
const MAX_TEXT_LEN: usize = 500;

/// Origin of a purge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeSource {
    /// A PURGE request, or a request with an unsafe method that invalidates a page (RFC 9111 section 4.4).
    Request,
    /// The origin: a header field of its response, or a file of `cache_maintenance`.
    Origin,
    /// An administrator, through the control socket or the API.
    Administrator,
    /// Another node of the cluster.
    Cluster,
    /// A refresh that found a changed page, which no purge had announced (`*_cache_adaptive`).
    Refresh,
}

impl PurgeSource {
    /// Returns the name of the source.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Origin => "origin",
            Self::Administrator => "administrator",
            Self::Cluster => "cluster",
            Self::Refresh => "refresh",
        }
    }
}

/// Entry of the purge log shown to administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeLogEntry {
    /// Time of the purge or change by the system clock, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Kind of the purge: `url`, `wildcard`, `regex`, `tags`, `key` or `all` (also for all pages of a host); `changed`
    /// for a change without a purge.
    pub kind: &'static str,
    /// Readable description of the purged pages. A longer one than 500 bytes is truncated and ends with `...`.
    pub what: String,
    /// Set if the pages become stale instead of being removed.
    pub soft: bool,
    /// Source of the purge request.
    pub by: PurgeSource,
    /// Set if no one with permission to purge requested it: an invalidation after an unsafe method, a response that shows
    /// that a page is no longer valid, or a finding of the leak guard.
    pub is_anonymous: bool,
    /// Number of the purge in the zone's sequence. For a change without a purge, and for a purge that could not be saved,
    /// its time in milliseconds.
    pub number: u64,
    /// Number of pages that the purge covered; `None` while they are still being counted.
    pub pages: Option<u64>,
    /// Set if `pages` is a minimum: more pages may have been covered.
    pub at_least: bool,
    /// Changed text, for a change without a purge; `None` for a purge.
    pub change: Option<Box<TextChange>>,
}

/// First difference between two renderings of a page, for a report to administrators. Texts are on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// Host and target of the page.
    pub page: String,
    /// Text directly before the difference.
    pub near: String,
    /// Text from the difference on, before the change.
    pub before: String,
    /// Text from the difference on, after the change.
    pub after: String,
}

/// Last purges of a zone, and changes without a purge, shown to administrators. Readers refer to an entry by its
/// position among all entries ever recorded, from 1 on. Clones refer to the same log.
#[derive(Clone, Debug, Default)]
pub struct PurgeLog(Arc<Mutex<PurgeLogState>>);

#[derive(Debug, Default)]
struct PurgeLogState {
    /// Number of entries recorded so far, including those that the log has dropped.
    total: u64,
    /// Entries with their positions, in ascending order.
    last: VecDeque<(u64, PurgeLogEntry)>,
    /// Number of entries in `last` that anonymous clients caused.
    anonymous: usize,
}

impl PurgeLogState {
    /// Adds an entry, and drops the oldest of its kind if there are too many.
    fn push(&mut self, entry: PurgeLogEntry) {
        let is_anonymous = entry.is_anonymous;
        let (count, max) = if is_anonymous {
            (self.anonymous, MAX_ANONYMOUS)
        } else {
            (self.last.len() - self.anonymous, MAX_ENTRIES)
        };
        if count == max
            && let Some(oldest) = self.last.iter().position(|(_, other)| other.is_anonymous == is_anonymous)
        {
            self.last.remove(oldest);
        } else {
            self.anonymous += usize::from(is_anonymous);
        }
        self.total += 1;
        self.last.push_back((self.total, entry));
    }
}

impl PurgeLog {
    /// Records a purge, or a change without a purge. If the log is full, drops the oldest entry; of those that anonymous
    /// clients caused, at most 100 remain.
    pub fn note(&self, mut note: PurgeLogEntry) {
        if note.what.len() > MAX_TEXT_LEN {
            let end = (0..=MAX_TEXT_LEN).rev().find(|at| note.what.is_char_boundary(*at)).unwrap_or(0);
            note.what.truncate(end);
            note.what.push_str("...");
        }
        self.0.lock().push(note);
    }

    /// Records the number of pages of a purge, once they are counted, if the log still contains the purge. `number` is
    /// its number in the zone's sequence. Returns true if the log contains the purge.
    pub fn end(&self, number: u64, pages: u64) -> bool {
        let mut notes = self.0.lock();
        let note = notes.last.iter_mut().rev().find(|(_, note)| note.number == number);
        note.map(|(_, note)| note.pages = Some(pages)).is_some()
    }

    /// Returns the time of the last purge by the system clock, in milliseconds since the epoch; `None` if the log contains
    /// none. Changes without a purge do not count.
    pub fn last_at_ms(&self) -> Option<u64> {
        let log = self.0.lock();
        let mut newest = log.last.iter().rev().map(|(_, purge)| purge);
        newest.find(|purge| purge.by != PurgeSource::Refresh).map(|purge| purge.at_ms)
    }

    /// Returns the number of entries recorded so far, and the entries after the first `noted`, oldest first, without
    /// those that the log has dropped.
    pub fn after(&self, noted: u64) -> (u64, Vec<PurgeLogEntry>) {
        let notes = self.0.lock();
        let first = notes.last.partition_point(|(position, _)| *position <= noted);
        (notes.total, notes.last.iter().skip(first).map(|(_, note)| note.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(number: u64) -> PurgeLogEntry {
        PurgeLogEntry {
            at_ms: number,
            kind: "url",
            what: "é".repeat(400),
            soft: false,
            by: PurgeSource::Request,
            is_anonymous: false,
            number,
            pages: None,
            at_least: false,
            change: None,
        }
    }

    #[test]
    fn latest_purges_are_logged_with_their_page_counts() {
        let log = PurgeLog::default();
        assert_eq!(log.after(0), (0, Vec::new()));
        (1..=MAX_ENTRIES as u64 + 5).for_each(|number| log.note(note(number)));
        log.end(1004, 7);
        let (noted, last) = log.after(0);
        assert_eq!((noted, last.len(), last[0].number), (1005, MAX_ENTRIES, 6));
        assert_eq!(last[0].what.len(), MAX_TEXT_LEN + 3);
        let (noted, news) = log.after(1003);
        assert_eq!((noted, news.len(), news[0].pages, news[1].pages), (1005, 2, Some(7), None));
        assert!(log.after(1005).1.is_empty());
        assert_eq!(log.last_at_ms(), Some(1005));
        log.note(PurgeLogEntry { by: PurgeSource::Refresh, ..note(2000) });
        assert_eq!(log.last_at_ms(), Some(1005), "not a purge");
    }

    #[test]
    fn entries_of_anonymous_clients_displace_only_each_other() {
        let log = PurgeLog::default();
        log.note(note(1));
        (2..=3000).for_each(|number| log.note(PurgeLogEntry { is_anonymous: true, ..note(number) }));
        let (noted, last) = log.after(0);
        assert_eq!((noted, last.len(), last[0].number, last[1].number), (3000, 101, 1, 2901));
        (3001..=4000).for_each(|number| log.note(note(number)));
        let (_, last) = log.after(0);
        assert_eq!((last.len(), last[0].number, last[100].number), (1100, 2901, 3001));
        assert_eq!(log.after(2990).1.len(), 1010);
        log.note(PurgeLogEntry { is_anonymous: true, ..note(4001) });
        assert_eq!(log.after(0).1[0].number, 2902);
    }
}
