//! A database as it is in memory, read anew when its file has changed.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use myriad_log::{ErrorLog, Level};
use myriad_net::clock;
use parking_lot::RwLock;

/// Most bytes of a file: eight times what the largest databases have, so that a path to something else does not fill the memory.
const MOST: u64 = 1 << 30;

/// What reads the bytes of a file; an error is for people.
pub(crate) type Parse<T> = fn(Vec<u8>) -> Result<T, String>;

/// A database whose file is looked at again while it is used.
pub(crate) struct DatabaseFile<T> {
    path: PathBuf,
    parse: Parse<T>,
    /// Milliseconds between two looks; 0 for none but the first.
    interval_ms: u64,
    /// Time of the last check of the file, milliseconds of the process clock.
    looked_ms: AtomicU64,
    current: RwLock<Arc<Version<T>>>,
    log: ErrorLog,
}

/// What a file held at a time.
pub(crate) struct Version<T> {
    /// What was read.
    pub(crate) contents: T,
    /// Time at which it was read, milliseconds since the Unix epoch by the system clock.
    pub(crate) read_ms: u64,
    stamp: Stamp,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    size: u64,
}

impl<T: Send + Sync + 'static> DatabaseFile<T> {
    /// Reads a file for the first time. `interval_ms` is how often it is looked at again, 0 for never.
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

    /// What the file holds. Where a look is due, a thread of its own takes it: whoever asks does not wait, and has what was
    /// read before.
    pub(crate) fn current(self: &Arc<Self>) -> Arc<Version<T>> {
        if self.interval_ms > 0 && self.is_due(clock::now_ms()) {
            let file = Arc::clone(self);
            // Where there is no thread to be had, the next look is an interval away.
            let _ = std::thread::Builder::new().name("geoip".into()).spawn(move || file.look());
        }
        Arc::clone(&self.current.read())
    }

    /// Whether a look is due; true once for each time that it is.
    fn is_due(&self, now_ms: u64) -> bool {
        let looked_ms = self.looked_ms.load(Ordering::Relaxed);
        now_ms.saturating_sub(looked_ms) >= self.interval_ms
            && self
                .looked_ms
                .compare_exchange(looked_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Returns the time of the last check of the file, milliseconds since the Unix epoch by the system clock.
    pub(crate) fn looked_ms(&self) -> u64 {
        clock::to_wall_ms(self.looked_ms.load(Ordering::Relaxed))
    }

    /// Reads the file again if it has changed. One that cannot be read leaves what is there, which is logged.
    fn look(&self) {
        let shown = self.path.display();
        let known = self.current.read().stamp;
        if stamp(&self.path).is_ok_and(|(_, stamp)| stamp == known) {
            return;
        }
        match read(&self.path, self.parse) {
            Ok(version) => {
                // What was there before is freed outside of the lock.
                let before = std::mem::replace(&mut *self.current.write(), Arc::new(version));
                drop(before);
                self.log.write(Level::Info, None, format_args!("\"{shown}\" has changed and was read again"));
            }
            Err(error) => {
                let told = format_args!("{error}; what was read of it before is used");
                self.log.write(Level::Error, None, told);
            }
        }
    }
}

impl<T> fmt::Debug for DatabaseFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The bytes of a database that is not looked at again.
pub(crate) fn read_whole(path: &Path) -> Result<Vec<u8>, String> {
    read(path, Ok).map(|version| version.contents)
}

/// A file as it is now.
fn read<T>(path: &Path, parse: Parse<T>) -> Result<Version<T>, String> {
    let shown = path.display();
    let (file, stamp) = stamp(path).map_err(|error| format!("open() \"{shown}\" failed ({error})"))?;
    let mut bytes = Vec::with_capacity(stamp.size as usize);
    file.take(MOST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("read() \"{shown}\" failed ({error})"))?;
    let contents = parse(bytes).map_err(|error| format!("\"{shown}\" is no database: {error}"))?;
    Ok(Version { contents, read_ms: clock::wall_ms(), stamp })
}

/// A regular file that is not too large, and what it is known by.
fn stamp(path: &Path) -> io::Result<(std::fs::File, Stamp)> {
    // Asked before it is opened: opening a named pipe would wait for somebody to write into it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = std::fs::File::open(path)?;
    let found = file.metadata()?;
    if found.len() > MOST {
        return Err(io::Error::other("it has more than 1 GB"));
    }
    Ok((file, Stamp { changed: found.modified().ok(), size: found.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_serve::testing::TestFolder;

    fn parse(bytes: Vec<u8>) -> Result<String, String> {
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }

    fn open(folder: &TestFolder, interval_ms: u64) -> Arc<DatabaseFile<String>> {
        let log = ErrorLog::new(Vec::new());
        DatabaseFile::open(folder.0.join("file"), parse, interval_ms, log).expect("a file")
    }

    #[test]
    fn changed_file_is_read_again_and_a_damaged_one_is_not_used() {
        let folder = TestFolder::new("geoip-file-changes");
        folder.write("file", "one");
        let file = open(&folder, 1);
        assert_eq!(file.current.read().contents, "one");
        folder.write("file", "three");
        file.look();
        assert_eq!(file.current.read().contents, "three");
        std::fs::write(folder.0.join("file"), [0xff; 7]).unwrap();
        file.look();
        assert_eq!(file.current.read().contents, "three");
        std::fs::remove_file(folder.0.join("file")).unwrap();
        file.look();
        assert_eq!(file.current.read().contents, "three");
    }

    #[test]
    fn file_is_looked_at_once_an_interval_and_not_at_all_without_one() {
        let folder = TestFolder::new("geoip-file-interval");
        folder.write("file", "one");
        let file = open(&folder, 60_000);
        let looked_ms = file.looked_ms.load(Ordering::Relaxed);
        assert!(!file.is_due(looked_ms + 59_999));
        assert!(file.is_due(looked_ms + 60_000));
        assert!(!file.is_due(looked_ms + 60_001), "the look was taken");
        assert!(!file.is_due(0), "a clock that goes back");
    }

    #[test]
    fn asking_takes_the_look_that_is_due() {
        let folder = TestFolder::new("geoip-file-asked");
        folder.write("file", "one");
        let file = open(&folder, 1);
        folder.write("file", "three");
        while file.current().contents != "three" {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_no_file_is_told() {
        let folder = TestFolder::new("geoip-file-none");
        let log = || ErrorLog::new(Vec::new());
        let error = DatabaseFile::open(folder.0.join("file"), parse, 0, log()).expect_err("no file");
        assert!(error.contains("No such file"), "{error}");
        let error = DatabaseFile::open(folder.0.clone(), parse, 0, log()).expect_err("a folder");
        assert!(error.contains("no regular file"), "{error}");
    }
}
