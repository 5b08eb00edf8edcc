//! Last purges of a zone, for administrators.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Maximum number of stored purges.
const MAX_ENTRIES: usize = 1000;
/// Maximum length of the text that describes the covered pages, in bytes.
const MAX_TEXT_LEN: usize = 500;

/// Source of a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeSource {
    /// A PURGE request, or a request that changes a page (RFC 9111 section 4.4).
    Request,
    /// A response of the origin.
    Origin,
    /// An administrator, by the control socket or the API.
    Administrator,
}

impl PurgeSource {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Origin => "origin",
            Self::Administrator => "administrator",
        }
    }
}

/// Purge in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeLogEntry {
    /// Time of the purge, in milliseconds since the epoch.
    pub at_ms: u64,
    /// `url`, `tag`, `wildcard`, `regex`, `host`, `key` or `all`.
    pub kind: &'static str,
    /// Readable description of the covered pages, truncated to 500 bytes.
    pub what: String,
    /// Set if the pages are stale rather than removed.
    pub soft: bool,
    /// Source of the purge.
    pub by: PurgeSource,
    /// Number in the zone's sequence.
    pub number: u64,
    /// Number of covered pages; `None` while they are being counted.
    pub pages: Option<u64>,
    /// Set if more pages may have been covered.
    pub at_least: bool,
}

/// Last purges of a zone, each with its position in the log, from 1.
#[derive(Debug, Default)]
pub struct PurgeLog(Mutex<PurgeLogState>);

#[derive(Debug, Default)]
struct PurgeLogState {
    /// Total number of recorded purges.
    total: u64,
    last: VecDeque<PurgeLogEntry>,
}

impl PurgeLog {
    /// Records a purge.
    pub fn note(&self, mut note: PurgeLogEntry) {
        if note.what.len() > MAX_TEXT_LEN {
            let end = (0..=MAX_TEXT_LEN).rev().find(|at| note.what.is_char_boundary(*at)).unwrap_or(0);
            note.what.truncate(end);
            note.what.push_str("...");
        }
        let mut notes = self.0.lock();
        if notes.last.len() == MAX_ENTRIES {
            notes.last.pop_front();
        }
        notes.total += 1;
        notes.last.push_back(note);
    }

    /// Records the number of pages that a purge has covered, once they are counted.
    pub fn end(&self, number: u64, pages: u64) {
        let mut notes = self.0.lock();
        if let Some(note) = notes.last.iter_mut().rev().find(|note| note.number == number) {
            note.pages = Some(pages);
        }
    }

    /// Returns the total number of recorded purges, and the stored purges after the first `noted`, oldest first.
    pub fn after(&self, noted: u64) -> (u64, Vec<PurgeLogEntry>) {
        let notes = self.0.lock();
        let news =
            usize::try_from(notes.total.saturating_sub(noted)).unwrap_or(MAX_ENTRIES).min(notes.last.len());
        (notes.total, notes.last.iter().skip(notes.last.len() - news).cloned().collect())
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
            number,
            pages: None,
            at_least: false,
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
    }
}
