//! File of the traffic history: creation, locking, reading, writing in place.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use myriad_conf::Model;
use myriad_conf::model::HistoryFile as Said;
use myriad_exchange::ranking::history::{self, History, HistoryWrite};
use myriad_log::{ErrorLog, LogLevel};
use rustix::fs::{FlockOperation, flock};

/// Returns where the history of traffic figures is stored: nowhere with `history off`, or in the configured file; by
/// default in a file next to the folder of the first cache zone, or in memory without cache zones. Relative paths start
/// at `prefix`.
pub fn history_path(model: &Model, prefix: &Path) -> HistoryStorage {
    match &model.main.history {
        Said::Off => HistoryStorage::Off,
        Said::At(path) => HistoryStorage::At(prefix.join(&*path.lossy())),
        Said::BesideZone => {
            let zone = model.http.as_ref().and_then(|http| http.cache_zones.first());
            let Some(zone) = zone else { return HistoryStorage::InMemory };
            let mut path =
                prefix.join(&*zone.path.lossy()).components().collect::<PathBuf>().into_os_string();
            path.push(".history");
            HistoryStorage::At(path.into())
        }
    }
}

/// Storage of the history of traffic figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryStorage {
    /// No history is recorded.
    Off,
    /// In memory, until the process exits.
    InMemory,
    /// In a file.
    At(PathBuf),
}

/// History file that is open and locked by this process.
#[derive(Debug)]
pub(super) struct HistoryFile {
    path: PathBuf,
    file: File,
    /// True if the previous write to the file failed. Only the first error of consecutive failures is logged.
    has_logged_error: bool,
}

impl HistoryFile {
    /// Opens and locks the file and reads the history. Returns `Ok(None)` while another process has locked the file. A
    /// damaged file is renamed to `*.damaged` and replaced by an empty one, or overwritten if it cannot be renamed.
    /// Fails if it cannot be opened, read or written, or is not a regular file.
    pub(super) fn open(path: &Path, log: &ErrorLog) -> io::Result<Option<(Self, History)>> {
        let mut file = open_file(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // Reading one byte more than the maximum detects a file that is too long.
        let mut bytes = Vec::new();
        (&file).take(history::file_bytes() + 1).read_to_end(&mut bytes)?;
        let read = if bytes.is_empty() { None } else { Some(history::read(&bytes)) };
        let history = match read {
            Some(Ok((kept, wrong))) => {
                if wrong > 0 {
                    let text =
                        format_args!("skipped {wrong} invalid records in the history \"{}\"", path.display());
                    log.write(LogLevel::Warn, None, text);
                }
                kept
            }
            Some(Err(damage)) => {
                file = replace_damaged(path, file, &damage, log)?;
                write_head(&mut file)?;
                History::default()
            }
            None => {
                write_head(&mut file)?;
                History::default()
            }
        };
        Ok(Some((Self { path: path.to_owned(), file, has_logged_error: false }, history)))
    }

    /// Writes records of the history at their offsets in the file. An error is logged, unless the previous write failed
    /// too.
    pub(super) fn write(&mut self, written: &[HistoryWrite], log: &ErrorLog) {
        let done = written.iter().try_for_each(|record| self.file.write_all_at(&record.bytes, record.offset));
        if let Err(error) = &done
            && !self.has_logged_error
        {
            let text = format_args!("cannot write the history \"{}\": {error}", self.path.display());
            log.write(LogLevel::Error, None, text);
        }
        self.has_logged_error = done.is_err();
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(nofollow)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it is not a regular file"));
    }
    Ok(file)
}

/// Empties a file, extends it with zeros to its full size (no records), and writes its head.
fn write_head(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.set_len(history::file_bytes())?;
    file.write_all(&history::head())
}

/// Renames a damaged history file, and returns a new locked file. If the file cannot be renamed, returns it, so that
/// its contents are overwritten. Logs an error in both cases.
fn replace_damaged(
    path: &Path,
    file: File,
    damage: &history::HistoryError,
    log: &ErrorLog,
) -> io::Result<File> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let renamed = std::fs::rename(path, &aside).is_ok();
    let what =
        if renamed { "it was renamed to" } else { "it is overwritten, because it cannot be renamed to" };
    let text = format_args!(
        "cannot read the history \"{}\" ({damage}): {what} \"{}\"",
        path.display(),
        Path::new(&aside).display()
    );
    log.write(LogLevel::Error, None, text);
    if !renamed {
        return Ok(file);
    }
    let fresh = open_file(path)?;
    flock(&fresh, FlockOperation::NonBlockingLockExclusive)?;
    Ok(fresh)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::TestFolder;
    use myriad_exchange::ranking::history::Figures;

    fn log() -> ErrorLog {
        ErrorLog::new(Vec::new())
    }

    fn open(path: &Path) -> Option<(HistoryFile, History)> {
        HistoryFile::open(path, &log()).expect("a file")
    }

    fn known(history: &History) -> usize {
        history.steps(0, 10_000, 2_000_000).iter().filter(|(_, figures)| figures.is_some()).count()
    }

    #[test]
    fn what_one_process_has_written_the_next_one_reads() {
        let folder = TestFolder::new("history-file");
        let path = folder.0.join("a.history");
        let (mut file, mut history) = open(&path).expect("no other process has the file open");
        assert!(open(&path).is_none(), "only one process may write");
        let written = history.set(0, 1_000_000, &Figures { requests: 3, ..Figures::default() });
        file.write(&[written], &log());
        drop(file);
        let (_file, history) = open(&path).expect("no other process has the file open");
        assert_eq!(known(&history), 1);
        assert_eq!(fs::metadata(&path).expect("a file").len(), history::file_bytes());
    }

    #[test]
    fn a_damaged_file_is_put_aside() {
        let folder = TestFolder::new("history-damaged");
        let path = folder.0.join("a.history");
        for damaged in [b"none of these".to_vec(), vec![0; history::file_bytes() as usize + 1]] {
            fs::write(&path, &damaged).expect("a file");
            let (_file, history) = open(&path).expect("no other process has the file open");
            assert_eq!(known(&history), 0);
            assert_eq!(
                fs::read(folder.0.join("a.history.damaged")).expect("the damaged file is renamed"),
                damaged
            );
        }
    }
}
