//! Database file in memory, reloaded after a change of the file.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use myriad_log::{ErrorLog, LogLevel};
use myriad_net::clock;
use parking_lot::RwLock;

/// Maximum size of a database file, in bytes. With the limit, a wrong path cannot exhaust the memory.
const MOST: u64 = 1 << 30;

/// Parser of the bytes of a database file; the error is a text for a message.
pub(crate) type Parse<T> = fn(Vec<u8>) -> Result<T, String>;

/// Parsed database file that is checked for changes while it is used.
pub(crate) struct DatabaseFile<T> {
    path: PathBuf,
    parse: Parse<T>,
    /// Minimum interval between two checks of the file, in milliseconds; 0 disables checks.
    interval_ms: u64,
    /// Time of the last check, at first of the opening, in milliseconds of the process clock.
    looked_ms: AtomicU64,
    current: RwLock<Arc<FileVersion<T>>>,
    log: ErrorLog,
}

/// Contents of a database file as they were when it was read.
pub(crate) struct FileVersion<T> {
    /// Result of the parser.
    pub(crate) contents: T,
    /// Time at which the file was read, in milliseconds since the Unix epoch by the system clock.
    pub(crate) read_ms: u64,
    stamp: FileStamp,
}

/// Modification time and size, by which a change of the file is recognized.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    changed: Option<SystemTime>,
    size: u64,
}

impl<T: Send + Sync + 'static> DatabaseFile<T> {
    /// Reads and parses a file. `interval_ms` is the minimum interval between checks for changes; 0 disables them. The
    /// error is a text for a message.
    pub(crate) fn open(
        path: PathBuf,
        parse: Parse<T>,
        interval_ms: u64,
        log: ErrorLog,
    ) -> Result<Arc<Self>, String> {
        let now_ms = clock::now_ms();
        let version = read(&path, parse)?;
        let current = RwLock::new(Arc::new(version));
        Ok(Arc::new(Self { path, parse, interval_ms, looked_ms: AtomicU64::new(now_ms), current, log }))
    }

    /// Returns the current contents without blocking. If a check for changes is due, a separate thread performs it, and
    /// later calls return the new contents.
    pub(crate) fn current(self: &Arc<Self>) -> Arc<FileVersion<T>> {
        if self.interval_ms > 0 && self.claim_check(clock::now_ms()) {
            let file = Arc::clone(self);
            // If no thread can be created, the next check is due after another interval.
            let _ = std::thread::Builder::new().name("geoip".into()).spawn(move || file.reload_if_changed());
        }
        Arc::clone(&self.current.read())
    }

    /// Returns true if a check of the file for changes is due; only one caller per interval gets true.
    fn claim_check(&self, now_ms: u64) -> bool {
        let looked_ms = self.looked_ms.load(Ordering::Relaxed);
        now_ms.saturating_sub(looked_ms) >= self.interval_ms
            && self
                .looked_ms
                .compare_exchange(looked_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Returns the time of the last check for changes (of the opening, before the first check), in milliseconds since
    /// the Unix epoch by the system clock.
    pub(crate) fn last_check_ms(&self) -> u64 {
        clock::to_wall_ms(self.looked_ms.load(Ordering::Relaxed))
    }

    /// Reads the file again if its stamp has changed. If it cannot be read or parsed, logs the error and keeps the
    /// current contents.
    fn reload_if_changed(&self) {
        let shown = self.path.display();
        let known = self.current.read().stamp;
        if open_with_stamp(&self.path).is_ok_and(|(_, stamp)| stamp == known) {
            return;
        }
        match read(&self.path, self.parse) {
            Ok(version) => {
                // The previous version is freed after the lock has been released.
                let before = std::mem::replace(&mut *self.current.write(), Arc::new(version));
                drop(before);
                self.log.write(LogLevel::Info, None, format_args!("reloaded \"{shown}\" after a change"));
            }
            Err(error) => {
                let message = format_args!("{error}; the data read earlier remains in use");
                self.log.write(LogLevel::Error, None, message);
            }
        }
    }
}

impl<T> fmt::Debug for DatabaseFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Reads the bytes of a database file that is never reloaded. The error is a text for a message.
pub(crate) fn read_whole(path: &Path) -> Result<Vec<u8>, String> {
    read(path, Ok).map(|version| version.contents)
}

/// Reads and parses a database file. The error is a text for a message.
fn read<T>(path: &Path, parse: Parse<T>) -> Result<FileVersion<T>, String> {
    let shown = path.display();
    let (file, stamp) =
        open_with_stamp(path).map_err(|error| format!("open() \"{shown}\" failed ({error})"))?;
    let mut bytes = Vec::with_capacity(stamp.size as usize);
    file.take(MOST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("read() \"{shown}\" failed ({error})"))?;
    let contents = parse(bytes).map_err(|error| format!("\"{shown}\" is not a valid database: {error}"))?;
    Ok(FileVersion { contents, read_ms: clock::wall_ms(), stamp })
}

/// Opens a regular file of at most [`MOST`] bytes, and returns it with its stamp. Other kinds of files and larger
/// files are errors.
fn open_with_stamp(path: &Path) -> io::Result<(std::fs::File, FileStamp)> {
    // The check precedes the open, because opening a named pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = std::fs::File::open(path)?;
    let found = file.metadata()?;
    if found.len() > MOST {
        return Err(io::Error::other("it is larger than 1 GB"));
    }
    Ok((file, FileStamp { changed: found.modified().ok(), size: found.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Temporary folder of a test, removed when dropped.
    struct TemporaryFolder(PathBuf);

    impl TemporaryFolder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }
    }

    impl Drop for TemporaryFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn parse(bytes: Vec<u8>) -> Result<String, String> {
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }

    fn open(folder: &TemporaryFolder, interval_ms: u64) -> Arc<DatabaseFile<String>> {
        let log = ErrorLog::new(Vec::new());
        DatabaseFile::open(folder.0.join("file"), parse, interval_ms, log).expect("a file")
    }

    #[test]
    fn changed_file_is_read_again_and_a_damaged_one_is_not_used() {
        let folder = TemporaryFolder::new("geoip-file-changes");
        folder.write("file", "one");
        let file = open(&folder, 1);
        assert_eq!(file.current.read().contents, "one");
        folder.write("file", "three");
        file.reload_if_changed();
        assert_eq!(file.current.read().contents, "three");
        std::fs::write(folder.0.join("file"), [0xff; 7]).unwrap();
        file.reload_if_changed();
        assert_eq!(file.current.read().contents, "three");
        std::fs::remove_file(folder.0.join("file")).unwrap();
        file.reload_if_changed();
        assert_eq!(file.current.read().contents, "three");
    }

    #[test]
    fn file_is_looked_at_once_an_interval_and_not_at_all_without_one() {
        let folder = TemporaryFolder::new("geoip-file-interval");
        folder.write("file", "one");
        let file = open(&folder, 60_000);
        let looked_ms = file.looked_ms.load(Ordering::Relaxed);
        assert!(!file.claim_check(looked_ms + 59_999));
        assert!(file.claim_check(looked_ms + 60_000));
        assert!(!file.claim_check(looked_ms + 60_001), "the check was claimed already");
        assert!(!file.claim_check(0), "a clock that was set back");
    }

    #[test]
    fn asking_takes_the_look_that_is_due() {
        let folder = TemporaryFolder::new("geoip-file-asked");
        folder.write("file", "one");
        let file = open(&folder, 1);
        folder.write("file", "three");
        while file.current().contents != "three" {
            std::thread::yield_now();
        }
    }

    #[test]
    fn opening_missing_or_irregular_file_fails_with_reason() {
        let folder = TemporaryFolder::new("geoip-file-none");
        let log = || ErrorLog::new(Vec::new());
        let error =
            DatabaseFile::open(folder.0.join("file"), parse, 0, log()).expect_err("the file is missing");
        assert!(error.contains("No such file"), "{error}");
        let error = DatabaseFile::open(folder.0.clone(), parse, 0, log()).expect_err("a folder");
        assert!(error.contains("not a regular file"), "{error}");
    }
}
