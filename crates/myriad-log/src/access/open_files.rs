//! Logs whose path contains variables. They are opened for each line, or remain open with `open_log_file_cache`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use myriad_base::bounded::Lru;
use myriad_conf::settings::OpenLogFileCache;

use crate::MODE;

/// Cache of open log files whose paths contain variables (`open_log_file_cache`).
pub(crate) struct OpenLogs {
    /// Files by path. The maximum number of files is `max=` of the log to which a file was added last.
    files: Lru<PathBuf, OpenLogFile>,
}

impl Default for OpenLogs {
    fn default() -> Self {
        Self { files: Lru::new(1) }
    }
}

struct OpenLogFile {
    /// Open file; `None` before the path has been used `min_uses` times, and after a check has shown that the path
    /// names another file.
    file: Option<File>,
    /// Number of uses of the path since `first_ms`.
    uses: u64,
    /// Start of the interval in which the uses are counted, in milliseconds since boot.
    first_ms: u64,
    /// Time of the last use, in milliseconds since boot.
    used_ms: u64,
    /// Time of the last check that the path still names the open file, in milliseconds since boot.
    checked_ms: u64,
}

impl OpenLogs {
    /// Appends a line to the file at `path`, which is created if necessary. Without `rules` the file is closed again;
    /// otherwise it remains open once the path has been used `min_uses` times within `inactive`. Fails if the file
    /// cannot be opened or written.
    pub(crate) fn append(
        &mut self,
        path: &Path,
        rules: Option<&OpenLogFileCache>,
        now: u64,
        line: &[u8],
    ) -> io::Result<()> {
        let Some(rules) = rules else { return open(path)?.write_all(line) };
        // Opened before any eviction, so that a path that cannot be opened does not close another file.
        let mut opened = None;
        if self.files.get(path).is_none() {
            opened = Some(open(path)?);
            self.make_room(rules, now);
            let entry = OpenLogFile { file: None, uses: 0, first_ms: now, used_ms: now, checked_ms: now };
            self.files.insert(path.to_owned(), entry, 1);
        }
        let Some(entry) = self.files.get_mut(path) else { return Ok(()) };
        if now.saturating_sub(entry.first_ms) > rules.inactive && entry.file.is_none() {
            (entry.first_ms, entry.uses) = (now, 0);
        }
        entry.uses += 1;
        entry.used_ms = now;
        if now.saturating_sub(entry.checked_ms) >= rules.valid {
            entry.checked_ms = now;
            if entry.file.as_ref().is_some_and(|file| !is_same_file(file, path)) {
                entry.file = None;
            }
        }
        if let Some(file) = &mut entry.file {
            return file.write_all(line);
        }
        let mut file = opened.map_or_else(|| open(path), Ok)?;
        file.write_all(line)?;
        if entry.uses >= rules.min_uses {
            entry.file = Some(file);
            entry.checked_ms = now;
        }
        Ok(())
    }

    /// Closes files that were not used for `inactive=`, and applies the maximum `max=`, beyond which the least recently
    /// used file is closed.
    fn make_room(&mut self, rules: &OpenLogFileCache, now: u64) {
        while self.files.remove_oldest_if(|kept| now.saturating_sub(kept.used_ms) > rules.inactive) {}
        self.files.set_max_weight(rules.max.max(1));
    }

    /// Closes all files and forgets their uses, because the files may have been renamed.
    pub(crate) fn close(&mut self) {
        self.files.clear();
    }
}

fn open(path: &Path) -> io::Result<File> {
    // `O_NONBLOCK`: opening a named pipe without a reader fails instead of waiting, which would stop all logs
    // with variables in their path.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().append(true).create(true).mode(MODE).custom_flags(nonblocking).open(path)
}

/// Returns true if the path still refers to the open file; false if it refers to another file, or cannot be examined.
fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::LogTestFolder;

    const RULES: OpenLogFileCache = OpenLogFileCache { max: 2, inactive: 1000, min_uses: 2, valid: 500 };

    #[test]
    fn a_log_stays_open_after_enough_lines_and_follows_its_name_once_asked_again() {
        let folder = std::env::temp_dir().join(format!("myriad-open-logs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, moved) = (folder.join("a.log"), folder.join("a.log.1"));
        let mut logs = OpenLogs::default();
        let mut write = |now, line: &str| logs.append(&path, Some(&RULES), now, line.as_bytes()).unwrap();
        write(0, "1");
        std::fs::rename(&path, &moved).unwrap();
        write(10, "2");
        std::fs::rename(&path, &moved).unwrap();
        write(20, "3");
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "23");
        write(600, "4");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "4");
        for (now, name) in (700..).zip(["b", "c", "d"]) {
            logs.append(&folder.join(name), Some(&RULES), now, b"x").unwrap();
        }
        assert_eq!(logs.files.len(), 2);
        assert!(logs.append(&folder.join("none/e"), Some(&RULES), 703, b"x").is_err());
        assert!(logs.files.get(&folder.join("c")).is_some(), "a path that cannot be opened evicted a file");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn open_count(logs: &OpenLogs) -> usize {
        logs.files.values().filter(|kept| kept.file.is_some()).count()
    }

    #[test]
    fn uses_with_long_gaps_do_not_reach_min_uses() {
        let folder = LogTestFolder::new("apart");
        let (path, mut logs) = (folder.path("a.log"), OpenLogs::default());
        for now in [0, 1001, 2002] {
            logs.append(&path, Some(&RULES), now, b"x").unwrap();
            assert_eq!(open_count(&logs), 0, "at {now}");
        }
        logs.append(&path, Some(&RULES), 2003, b"x").unwrap();
        assert_eq!(open_count(&logs), 1);
        assert_eq!(folder.read("a.log"), "xxxx");
    }

    #[test]
    fn another_log_makes_room_of_those_unused() {
        let folder = LogTestFolder::new("room");
        let mut logs = OpenLogs::default();
        let rules = OpenLogFileCache { max: 9, ..RULES };
        for (name, now) in [("a", 0), ("b", 500), ("c", 1001)] {
            logs.append(&folder.path(name), Some(&rules), now, b"x").unwrap();
        }
        assert!(logs.files.get(&folder.path("a")).is_none() && logs.files.len() == 2);
    }

    #[test]
    fn a_log_that_was_removed_is_made_again_once_asked() {
        let folder = LogTestFolder::new("removed");
        let (path, mut logs) = (folder.path("a.log"), OpenLogs::default());
        for now in [0, 1] {
            logs.append(&path, Some(&RULES), now, b"x").unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        logs.append(&path, Some(&RULES), 500, b"lost").unwrap();
        assert!(!path.exists(), "the file was checked before `valid` had elapsed");
        logs.append(&path, Some(&RULES), 501, b"kept").unwrap();
        assert_eq!(folder.read("a.log"), "kept");
    }

    #[test]
    fn nothing_stays_open_without_rules() {
        let folder = LogTestFolder::new("closed");
        let mut logs = OpenLogs::default();
        for now in 0..3 {
            logs.append(&folder.path("a.log"), None, now, b"x").unwrap();
        }
        assert!(logs.files.is_empty());
        assert_eq!(folder.read("a.log"), "xxx");
    }

    #[test]
    fn a_log_is_readable_by_its_owner_and_group_alone() {
        let folder = LogTestFolder::new("mode");
        OpenLogs::default().append(&folder.path("a.log"), None, 0, b"x").unwrap();
        let mode = std::fs::metadata(folder.path("a.log")).unwrap().mode();
        assert_eq!(mode & 0o777 & !0o640, 0, "{mode:o}");
    }
}
