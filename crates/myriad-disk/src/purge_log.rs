//! The log of a zone's purges on disk, in the folder of its files.
//!
//! Records are written into zeros at its end, so that making one durable changes no metadata of the file system: one
//! `fdatasync` for all purges of a moment. When the zeros are used up, or most of the log is of no concern
//! any more, it is written anew.
//!
//! During an upgrade two processes write to one log. A process that writes holds a lock, and first reads what the other has
//! added. The older of the two gives its purges the last number of the newer one's start, since they cover what that one
//! fetched. So that number does not tell one purge from another: records that another process has added are news, whatever
//! their number. Only where the log was written anew are known purges left out; one that cannot be told from a known one is
//! applied once more.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use myriad_index::{Book, PurgeRecord};
use rustix::fs::FlockOperation;

use crate::sequence;

/// Least bytes of a log, zeros included.
const LEAST: usize = 64 << 10;
/// A log of more bytes was not written by this program.
const MOST: u64 = 1 << 30;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".purges")
}

/// What a start finds wrong with the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Some of it could not be read; a copy is kept.
    pub(crate) is_damaged: bool,
    /// It may have held purges that were answered, which are lost.
    pub(crate) is_lost: bool,
}

#[derive(Debug)]
pub(crate) struct PurgeLog {
    root: PathBuf,
    /// `None` where the next purge writes it anew.
    file: Option<File>,
    /// Purges are in the book that are not on disk.
    is_behind: bool,
    /// Where the next record goes.
    at: u64,
    /// Bytes, zeros included.
    len: u64,
    pub(crate) book: Book,
    /// The first number of this start; zero until that is known.
    pub(crate) epoch: u64,
    /// Purges of another process that are not in force in this one yet, and those that are about to be.
    news: Book,
    adopted: Book,
    /// Keys and labels that another process has purged, under its numbers, as long as they are in the log: they are no news when
    /// it is written anew.
    heard: Book,
}

/// A lock on the log: no other process writes it while this lives.
pub(crate) struct Locked(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Waits until nobody else writes the log of a folder.
pub(crate) fn lock(root: &Path) -> io::Result<Locked> {
    let mut open = File::options();
    let file = open.write(true).create(true).truncate(false).mode(0o600).open(root.join(".purges.lock"))?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(Locked(file))
}

impl PurgeLog {
    /// Reads the log of the runs before. To be called under the lock.
    pub(crate) fn open(root: &Path) -> io::Result<(Self, Found)> {
        let mut found = Found::default();
        let mut log = Self {
            root: root.to_owned(),
            file: None,
            is_behind: false,
            at: 0,
            len: 0,
            book: Book::default(),
            epoch: 0,
            news: Book::default(),
            adopted: Book::default(),
            heard: Book::default(),
        };
        let Some(bytes) = read(&path(root))? else { return Ok((log, found)) };
        let reading = Book::read(&bytes);
        (found.is_damaged, found.is_lost) = (reading.is_damaged, reading.is_lost);
        log.book = reading.book;
        if found.is_damaged {
            // The copy is for administrators; where it fails, the zone starts nevertheless.
            let _ = fs::write(root.join(".purges.damaged"), &bytes);
            log.is_behind = true;
        } else {
            let file = File::options().read(true).write(true).open(path(root))?;
            (log.at, log.len, log.file) = (reading.len as u64, bytes.len() as u64, Some(file));
        }
        if found.is_damaged && !found.is_lost {
            log.write_whole()?;
        }
        Ok((log, found))
    }

    /// Adds purges; they are durable where this succeeds. Where it fails they stay in the book, for the next try.
    pub(crate) fn append(&mut self, records: &[PurgeRecord]) -> io::Result<()> {
        // Starts take the lock as well: none can come in between.
        let locked = lock(&self.root);
        let number = self.newer_start().map(|first| first + sequence::EPOCH - 1);
        let records: Vec<PurgeRecord> = records
            .iter()
            .map(|entry| entry.clone().numbered(number.unwrap_or_else(|| entry.number())))
            .collect();
        for entry in &records {
            self.book.note(entry);
        }
        let _locked = locked.inspect_err(|_| self.is_behind = true)?;
        self.catch_up()?;
        self.write_records(&records)
    }

    fn write_records(&mut self, records: &[PurgeRecord]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in records {
            entry.write(&mut bytes);
        }
        let fits = self.at + bytes.len() as u64 <= self.len;
        let Some(file) = self.file.as_ref().filter(|_| fits && !self.is_behind) else {
            return self.write_whole();
        };
        if let Err(error) = file.write_all_at(&bytes, self.at).and_then(|()| file.sync_data()) {
            // Some of it may be on the disk.
            (self.file, self.is_behind) = (None, true);
            return Err(error);
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// The first number of a start after this one, whose process uses the folder too.
    pub(crate) fn newer_start(&self) -> Option<u64> {
        sequence::read(&sequence::path(&self.root)).filter(|first| self.epoch > 0 && *first > self.epoch)
    }

    /// Whether another process has added to the log, or done something else to it.
    fn has_news(&self) -> bool {
        let Some(file) = &self.file else { return path(&self.root).exists() };
        // A record begins with its length, and none is without a payload.
        let mut next = [0; 4];
        let has_room = self.at + next.len() as u64 <= self.len;
        !self.is_there(file)
            || has_room && (file.read_exact_at(&mut next, self.at).is_err() || next != [0; 4])
    }

    /// The purges of another process since the last call. They stay in the log until [`Self::adopt`].
    pub(crate) fn take_news(&mut self) -> io::Result<Book> {
        // Asked without the lock first: this is called many times a second.
        if self.has_news() {
            let _locked = lock(&self.root)?;
            self.catch_up()?;
        }
        self.adopted.merge(&std::mem::take(&mut self.news));
        Ok(self.adopted.clone())
    }

    /// The news are in force in this process from now on, under these numbers.
    pub(crate) fn adopt(&mut self, numbered: &Book) {
        let adopted = std::mem::take(&mut self.adopted);
        // A newer process needs the numbers that were made for it.
        self.book.merge(if self.newer_start().is_some() { &adopted } else { numbered });
    }

    /// Reads what another process has written. To be called under the lock. Where that fails, the next try writes the log
    /// anew.
    fn catch_up(&mut self) -> io::Result<()> {
        if !self.has_news() {
            return Ok(());
        }
        let news = self.read_news().inspect_err(|_| (self.file, self.is_behind) = (None, true));
        let news = news?;
        // From the last number of the newest start on, numbers do not tell two purges apart.
        let last = self.newer_start().unwrap_or(self.epoch).saturating_add(sequence::EPOCH - 1);
        self.heard.merge_exact(&news, last);
        self.news.merge(&news);
        Ok(())
    }

    /// The purges that another process has added.
    fn read_news(&mut self) -> io::Result<Book> {
        let mut news = Book::default();
        if let Some(file) = self.file.as_ref().filter(|file| self.is_there(file)) {
            let mut bytes = vec![0; usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(0)];
            match file.read_exact_at(&mut bytes, self.at) {
                // The log was cut short.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.is_behind = true,
                read => read?,
            }
            let len = news.read_records(&bytes);
            self.at += len as u64;
            // A record that was torn as it was written.
            self.is_behind |= bytes[len..].iter().any(|byte| *byte != 0);
        } else if let Some(bytes) = read(&path(&self.root))? {
            let reading = Book::read(&bytes);
            news = reading.book;
            // Purges that the log has forgotten need not be told from new ones.
            self.heard.keep_exact_of(&news);
            // Since a newer process started, purges of this one bear the last number of that start: no number of the newer one is
            // higher.
            let comparable = self.newer_start().unwrap_or(u64::MAX);
            news.drop_known(&self.book, comparable, &self.heard);
            (self.at, self.len) = (reading.len as u64, bytes.len() as u64);
            self.file = Some(File::options().read(true).write(true).open(path(&self.root))?);
            self.is_behind |= reading.is_damaged;
        } else {
            self.file = None;
        }
        Ok(news)
    }

    /// Whether purges are in the book that are not on disk.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Whether the log is still the file of its name: somebody may have removed the folder.
    fn is_there(&self, file: &File) -> bool {
        let same = |known: fs::Metadata| file.metadata().is_ok_and(|own| own.ino() == known.ino());
        fs::symlink_metadata(path(&self.root)).is_ok_and(same)
    }

    /// Writes all purges of the book, and those of other processes, to a new file in place of the old one.
    pub(crate) fn write_anew(&mut self) -> io::Result<()> {
        let _locked = lock(&self.root)?;
        self.catch_up()?;
        self.write_whole()
    }

    fn write_whole(&mut self) -> io::Result<()> {
        (self.file, self.is_behind) = (None, true);
        let unfinished = self.root.join(".purges.new");
        let mut bytes = if self.news.is_empty() && self.adopted.is_empty() {
            self.heard.keep_exact_of(&self.book);
            self.book.write()
        } else {
            let mut book = self.book.clone();
            book.merge(&self.news);
            book.merge(&self.adopted);
            self.heard.keep_exact_of(&book);
            book.write()
        };
        let at = bytes.len();
        bytes.resize((at * 2).max(LEAST).next_multiple_of(4096), 0);
        let mut open = File::options();
        let file = open.read(true).write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        fs::rename(&unfinished, path(&self.root))?;
        File::open(&self.root)?.sync_all()?;
        (self.at, self.len, self.file, self.is_behind) = (at as u64, bytes.len() as u64, Some(file), false);
        Ok(())
    }
}

/// The bytes of the log; `None` where there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
