//! Purge log of a zone, in the folder of its files.
//!
//! Records are written into zeros at its end, so that syncing them changes no metadata of the file system. One
//! `fdatasync` serves all concurrent purges. When the zeros are used up, the log is rewritten with the current purges.
//!
//! During an upgrade two processes write to one log. A process locks the log to write, and first reads the records that
//! the other process has added. The older process gives its purges the last number of the newer process's start,
//! because they cover pages that the newer process fetched. Many purges therefore have this number, so records added by
//! another process count as new regardless of their numbers. Only after the other process has rewritten the log, known
//! purges are skipped; a purge that cannot be distinguished from a known one is applied again.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::index::{PurgeRecord, PurgeSet};
use rustix::fs::FlockOperation;

use crate::sequence;

/// Minimum length of a purge log file including the zeros at its end, in bytes.
const MIN_LEN: usize = 64 << 10;
/// Maximum length of a purge log that is read, in bytes. A longer file was not written by this program.
const MAX_LEN: u64 = 1 << 30;

/// Returns the path of the purge log, hidden so that `rm -rf cache/*` does not match it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".purges")
}

/// Damage of the purge log found at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogDefects {
    /// Set if part of the purge log could not be read. A copy of the log is stored.
    pub(crate) is_damaged: bool,
    /// Set if completed purges may have been lost.
    pub(crate) is_lost: bool,
}

#[derive(Debug)]
pub(crate) struct PurgeLog {
    root: PathBuf,
    /// Open purge log; `None` if the next purge must rewrite the log.
    file: Option<File>,
    /// Set if `book` may contain purges that are not on disk, so that the log must be rewritten.
    has_unwritten: bool,
    /// Offset in the log file at which the next record is written.
    at: u64,
    /// Length of the log file in bytes, including the zeros at its end.
    len: u64,
    /// Purges active in this process (its own, of former runs and of other processes) that must survive a restart.
    pub(crate) book: PurgeSet,
    /// First sequence number of this start; 0 until it is known.
    pub(crate) epoch: u64,
    /// Purges of another process that [`Self::take_news`] has not returned yet.
    news: PurgeSet,
    /// Purges of another process that [`Self::take_news`] has returned, and [`Self::adopt`] has not confirmed yet.
    adopted: PurgeSet,
    /// Keys and labels purged by another process, with the numbers in the log, as long as the log contains them. They
    /// distinguish new purges from known ones after a rewrite.
    received: PurgeSet,
}

/// Lock of the purge log: no other process writes the log until this is dropped.
pub(crate) struct LogLock(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Waits until no other process writes the log of a folder, and locks it.
pub(crate) fn lock(root: &Path) -> io::Result<LogLock> {
    let mut open = File::options();
    let file = open.write(true).create(true).truncate(false).mode(0o600).open(root.join(".purges.lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(LogLock(file))
}

impl PurgeLog {
    /// Reads the log of former runs; an empty log if there is none. Stores a copy of a damaged log, and rewrites it at
    /// once if no completed purge may have been lost. The caller must hold [`lock`].
    pub(crate) fn open(root: &Path) -> io::Result<(Self, LogDefects)> {
        let mut found = LogDefects::default();
        let mut log = Self {
            root: root.to_owned(),
            file: None,
            has_unwritten: false,
            at: 0,
            len: 0,
            book: PurgeSet::default(),
            epoch: 0,
            news: PurgeSet::default(),
            adopted: PurgeSet::default(),
            received: PurgeSet::default(),
        };
        let Some(bytes) = read(&path(root))? else { return Ok((log, found)) };
        let reading = PurgeSet::read(&bytes);
        (found.is_damaged, found.is_lost) = (reading.is_damaged, reading.is_lost);
        log.book = reading.book;
        if found.is_damaged {
            // The copy is for administrators. If it fails, the zone starts nevertheless.
            let _ = fs::write(root.join(".purges.damaged"), &bytes);
            log.has_unwritten = true;
        } else {
            let file = File::options().read(true).write(true).open(path(root))?;
            (log.at, log.len, log.file) = (reading.len as u64, bytes.len() as u64, Some(file));
        }
        if found.is_damaged && !found.is_lost {
            log.write_whole()?;
        }
        Ok((log, found))
    }

    /// Adds purges to the log; they are durable on success. After a failure they remain in `book`, and are written with
    /// the next attempt. If a newer process has started, the purges get the last number of its start.
    pub(crate) fn append(&mut self, records: &[PurgeRecord]) -> io::Result<()> {
        // Starting processes take the lock as well, so the number of the newest start cannot change meanwhile.
        let locked = lock(&self.root);
        let number = self.newer_start().map(|first| first + sequence::EPOCH - 1);
        let records: Vec<PurgeRecord> = records
            .iter()
            .map(|entry| entry.clone().numbered(number.unwrap_or_else(|| entry.number())))
            .collect();
        for entry in &records {
            self.book.note(entry);
        }
        let _locked = locked.inspect_err(|_| self.has_unwritten = true)?;
        self.catch_up()?;
        self.write_records(&records)
    }

    fn write_records(&mut self, records: &[PurgeRecord]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in records {
            entry.write(&mut bytes);
        }
        let fits = self.at + bytes.len() as u64 <= self.len;
        let Some(file) = self.file.as_ref().filter(|_| fits && !self.has_unwritten) else {
            return self.write_whole();
        };
        if let Err(error) = file.write_all_at(&bytes, self.at).and_then(|()| file.sync_data()) {
            // Part of the records may be on disk, so the next attempt rewrites the log.
            (self.file, self.has_unwritten) = (None, true);
            return Err(error);
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Returns the first sequence number of a newer process start, if another process has started on this folder since;
    /// otherwise `None`.
    pub(crate) fn newer_start(&self) -> Option<u64> {
        sequence::read(&sequence::path(&self.root)).filter(|first| self.epoch > 0 && *first > self.epoch)
    }

    /// Returns true if another process has added records, or has rewritten or removed the log, or if the log cannot be
    /// read. If this process has no open log, returns true if a log exists.
    fn has_news(&self) -> bool {
        let Some(file) = &self.file else { return path(&self.root).exists() };
        // A record begins with its length, which is never zero.
        let mut next = [0; 4];
        let has_room = self.at + next.len() as u64 <= self.len;
        !self.is_there(file)
            || has_room && (file.read_exact_at(&mut next, self.at).is_err() || next != [0; 4])
    }

    /// Reads the log and returns all purges that another process has added and [`Self::adopt`] has not confirmed yet.
    pub(crate) fn take_news(&mut self) -> io::Result<PurgeSet> {
        // Checked without the lock first, because this is called many times a second.
        if self.has_news() {
            let _locked = lock(&self.root)?;
            self.catch_up()?;
        }
        self.adopted.merge(&std::mem::take(&mut self.news));
        Ok(self.adopted.clone())
    }

    /// Records that the purges returned by [`Self::take_news`] are active in this process, with the numbers in
    /// `numbered`.
    pub(crate) fn adopt(&mut self, numbered: &PurgeSet) {
        let adopted = std::mem::take(&mut self.adopted);
        // A newer process needs the numbers that were given for it.
        self.book.merge(if self.newer_start().is_some() { &adopted } else { numbered });
    }

    /// Reads the records that another process has added. The caller must hold [`lock`]. After a failure, the next
    /// attempt rewrites the log.
    fn catch_up(&mut self) -> io::Result<()> {
        if !self.has_news() {
            return Ok(());
        }
        let news = self.read_news().inspect_err(|_| (self.file, self.has_unwritten) = (None, true));
        let news = news?;
        // From the last number of the newest start on, numbers do not distinguish two purges.
        let last = self.newer_start().unwrap_or(self.epoch).saturating_add(sequence::EPOCH - 1);
        self.received.merge_exact(&news, last);
        self.news.merge(&news);
        Ok(())
    }

    /// Returns the purges that another process has added, and updates the position in the log.
    fn read_news(&mut self) -> io::Result<PurgeSet> {
        let mut news = PurgeSet::default();
        if let Some(file) = self.file.as_ref().filter(|file| self.is_there(file)) {
            let mut bytes = vec![0; usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(0)];
            match file.read_exact_at(&mut bytes, self.at) {
                // The log was truncated.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.has_unwritten = true,
                read => read?,
            }
            let len = news.read_records(&bytes);
            self.at += len as u64;
            // Bytes other than zero after the last intact record are a record that was not written completely.
            self.has_unwritten |= bytes[len..].iter().any(|byte| *byte != 0);
        } else if let Some(bytes) = read(&path(&self.root))? {
            let reading = PurgeSet::read(&bytes);
            news = reading.book;
            // Purges that are no longer in the log need not be distinguished from new purges.
            self.received.retain_exact_of(&news);
            // After a newer process has started, purges of this process have the last number of that start, which is
            // not below any number of the newer process.
            let comparable = self.newer_start().unwrap_or(u64::MAX);
            news.drop_known(&self.book, comparable, &self.received);
            (self.at, self.len) = (reading.len as u64, bytes.len() as u64);
            self.file = Some(File::options().read(true).write(true).open(path(&self.root))?);
            self.has_unwritten |= reading.is_damaged;
        } else {
            self.file = None;
        }
        Ok(news)
    }

    /// Returns true if purges remain that could not be written to the log yet.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.has_unwritten
    }

    /// Returns true if the path of the log still refers to the open file. False if the folder was removed or the log
    /// rewritten.
    fn is_there(&self, file: &File) -> bool {
        let same = |known: fs::Metadata| file.metadata().is_ok_and(|own| own.ino() == known.ino());
        fs::symlink_metadata(path(&self.root)).is_ok_and(same)
    }

    /// Rewrites the log: writes the purges of this and of other processes to a new file, which replaces the log.
    pub(crate) fn rewrite(&mut self) -> io::Result<()> {
        let _locked = lock(&self.root)?;
        self.catch_up()?;
        self.write_whole()
    }

    fn write_whole(&mut self) -> io::Result<()> {
        (self.file, self.has_unwritten) = (None, true);
        let unfinished = self.root.join(".purges.new");
        let mut bytes = if self.news.is_empty() && self.adopted.is_empty() {
            self.received.retain_exact_of(&self.book);
            self.book.write()
        } else {
            let mut book = self.book.clone();
            book.merge(&self.news);
            book.merge(&self.adopted);
            self.received.retain_exact_of(&book);
            book.write()
        };
        let at = bytes.len();
        bytes.resize((at * 2).max(MIN_LEN).next_multiple_of(4096), 0);
        let mut open = File::options();
        let file = open.read(true).write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        fs::rename(&unfinished, path(&self.root))?;
        File::open(&self.root)?.sync_all()?;
        (self.at, self.len, self.file, self.has_unwritten) =
            (at as u64, bytes.len() as u64, Some(file), false);
        Ok(())
    }
}

/// Returns the contents of the log file at `path`, at most [`MAX_LEN`] bytes; `None` if it does not exist.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
