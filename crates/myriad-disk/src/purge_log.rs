//! Log of a zone's purges on disk, in the folder of its files.
//!
//! Records are written into zeros at its end, so that syncing them changes no metadata of the file system: one
//! `fdatasync` for all concurrent purges. When the zeros are used up, or most of the log is obsolete, the log is
//! rewritten.
//!
//! During an upgrade two processes write to one log. A process that writes holds a lock, and first reads the records
//! that the other process has added. The older process gives its purges the last number of the newer process's start,
//! because they cover the pages that the newer process fetched. This number therefore does not distinguish purges:
//! records added by another process are new, whatever their number is. Only after a rewrite of the log, known purges
//! are skipped; a purge that cannot be distinguished from a known purge is applied once more.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::index::{PurgeRecord, PurgeSet};
use rustix::fs::FlockOperation;

use crate::sequence;

/// Minimum length of a log including zeros, in bytes.
const MIN_LEN: usize = 64 << 10;
/// Maximum length of a log, in bytes. A longer log was not written by this program.
const MAX_LEN: u64 = 1 << 30;

/// Returns the path of the log. `rm -rf cache/*` does not match it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".purges")
}

/// Defects of the log found at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogDefects {
    /// Some of it could not be read; a copy is stored.
    pub(crate) is_damaged: bool,
    /// Completed purges may have been lost.
    pub(crate) is_lost: bool,
}

#[derive(Debug)]
pub(crate) struct PurgeLog {
    root: PathBuf,
    /// `None` if the next purge rewrites the log.
    file: Option<File>,
    /// Set if the book has purges that are not on disk.
    has_unwritten: bool,
    /// Offset of the next record.
    at: u64,
    /// Length in bytes, including zeros.
    len: u64,
    pub(crate) book: PurgeSet,
    /// First number of this start; zero until it is known.
    pub(crate) epoch: u64,
    /// Purges of another process that are not in force in this process yet, and those that are being put in force.
    news: PurgeSet,
    adopted: PurgeSet,
    /// Keys and labels purged by another process, under its numbers, while they are in the log. They are not new after
    /// a rewrite.
    received: PurgeSet,
}

/// Lock on the log: no other process writes the log while this lives.
pub(crate) struct LogLock(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Waits until no other process writes the log of a folder.
pub(crate) fn lock(root: &Path) -> io::Result<LogLock> {
    let mut open = File::options();
    let file = open.write(true).create(true).truncate(false).mode(0o600).open(root.join(".purges.lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(LogLock(file))
}

impl PurgeLog {
    /// Reads the log of former runs. Must be called under the lock.
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

    /// Adds purges, which are durable on success. After a failure they remain in the book for the next attempt.
    pub(crate) fn append(&mut self, records: &[PurgeRecord]) -> io::Result<()> {
        // Starts take the lock as well, so none can intervene.
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
            // Some of it may be on the disk.
            (self.file, self.has_unwritten) = (None, true);
            return Err(error);
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Returns the first number of a later start, whose process uses the folder too.
    pub(crate) fn newer_start(&self) -> Option<u64> {
        sequence::read(&sequence::path(&self.root)).filter(|first| self.epoch > 0 && *first > self.epoch)
    }

    /// Returns whether another process has added to the log, or has changed it in another way.
    fn has_news(&self) -> bool {
        let Some(file) = &self.file else { return path(&self.root).exists() };
        // A record begins with its length, which is never zero.
        let mut next = [0; 4];
        let has_room = self.at + next.len() as u64 <= self.len;
        !self.is_there(file)
            || has_room && (file.read_exact_at(&mut next, self.at).is_err() || next != [0; 4])
    }

    /// Returns the purges of another process since the last call. They remain in the log until [`Self::adopt`].
    pub(crate) fn take_news(&mut self) -> io::Result<PurgeSet> {
        // Checked without the lock first, because this is called many times a second.
        if self.has_news() {
            let _locked = lock(&self.root)?;
            self.catch_up()?;
        }
        self.adopted.merge(&std::mem::take(&mut self.news));
        Ok(self.adopted.clone())
    }

    /// Records that the new purges are in force in this process, under these numbers.
    pub(crate) fn adopt(&mut self, numbered: &PurgeSet) {
        let adopted = std::mem::take(&mut self.adopted);
        // A newer process needs the numbers that were made for it.
        self.book.merge(if self.newer_start().is_some() { &adopted } else { numbered });
    }

    /// Reads the records of another process. Must be called under the lock. After a failure, the next attempt rewrites
    /// the log.
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

    /// Returns the purges that another process has added.
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
            // A torn record.
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

    /// Returns whether the book has purges that are not on disk.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.has_unwritten
    }

    /// Returns whether the path still refers to the open log: the folder may have been removed.
    fn is_there(&self, file: &File) -> bool {
        let same = |known: fs::Metadata| file.metadata().is_ok_and(|own| own.ino() == known.ino());
        fs::symlink_metadata(path(&self.root)).is_ok_and(same)
    }

    /// Rewrites the log: writes all purges of the book, and those of other processes, to a new file that replaces the
    /// old file.
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

/// Returns the bytes of the log; `None` if it does not exist.
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
