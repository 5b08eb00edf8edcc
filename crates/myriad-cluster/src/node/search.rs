//! State of a search in the log.

use super::{ClockMs, LogTail};
use crate::record::{EntryId, LogPosition};

/// State of reading that is not part of the position.
#[derive(Debug, Default)]
pub(super) struct SearchState {
    /// Entries from this ID on were searched.
    pub(super) before: Option<EntryId>,
    /// Newest valid record and its predecessor.
    pub(super) newest: Option<(LogPosition, LogPosition)>,
    /// Newest entry, valid or not.
    pub(super) tail: Option<LogTail>,
    pub(super) has_invalid: bool,
    /// True if the next read continues after a common record, which need not be in the log itself.
    pub(super) is_catching_up: bool,
    pub(super) failures: u32,
    /// Time before which nothing is read.
    pub(super) not_before: ClockMs,
    /// Largest ID that the log is known to have had.
    pub(super) last_id: EntryId,
    /// Largest ID of an entry that was reported as invalid.
    pub(super) reported: EntryId,
}
