//! The log of a zone's purges on disk, beside its sequence number.
//!
//! It has zeros at its end into which records are written, so that making one durable needs no change of the file system's
//! own records: one `fdatasync` for all purges of a moment. When the zeros are used up, or most of the log is of no concern
//! any more, it is written anew.
//!
//! During an upgrade two processes write to one log. Whoever writes holds a lock, and reads first what the other has added.
//! The older of the two gives its purges the last number of the newer one's start, since they cover what that one fetched.
//! So that number does not tell one purge from another: what another process has added is news, whatever its number. Only where
//! the log was written anew is it asked what of it is known; what cannot be told holds once more.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::sequence;
use crate::purge::{Book, Entry};

/// Least bytes of a log, zeros included.
const LEAST: usize = 64 << 10;
/// A log of more bytes was not written by this program.
const MOST: u64 = 1 << 30;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".purges")
}

/// What a start finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Some of the log was set aside.
    pub(crate) is_damaged: bool,
    /// It may have held purges that were answered.
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
    /// Purges of another process that do not hold in this one yet, and those that are about to.
    news: Book,
    adopted: Book,
    /// Keys and labels that another process has purged, under its numbers; those that the log has held since it was last read or
    /// written whole.
    heard: Book,
}

/// Nobody else writes the log while this lives.
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
            // For whoever wants to know what it was; a copy that fails must not keep the zone from starting.
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

    /// Notes purges; they are durable where this succeeds. Where it fails they stay in the book, for the next try.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        // Starts take the lock as well: from here on none can come in between.
        let locked = lock(&self.root);
        let number = self.newer_start().map(|first| first + sequence::EPOCH - 1);
        let entries: Vec<Entry> = entries
            .iter()
            .map(|entry| entry.clone().numbered(number.unwrap_or_else(|| entry.number())))
            .collect();
        for entry in &entries {
            self.book.note(entry);
        }
        let _locked = locked.inspect_err(|_| self.is_behind = true)?;
        self.catch_up()?;
        self.write_entries(&entries)
    }

    fn write_entries(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in entries {
            entry.write(&mut bytes);
        }
        let fits = self.at + bytes.len() as u64 <= self.len;
        let Some(file) = self.file.as_ref().filter(|_| fits && !self.is_behind) else {
            return self.write_whole();
        };
        if let Err(error) = file.write_all_at(&bytes, self.at).and_then(|()| file.sync_data()) {
            // What of it came to the disk, nobody knows.
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

    /// What another process has purged since the last call. It stays in the log until [`Self::adopt`].
    pub(crate) fn take_news(&mut self) -> io::Result<Book> {
        // Looked at without the lock first: this is asked many times a second.
        if self.has_news() {
            let _locked = lock(&self.root)?;
            self.catch_up()?;
        }
        self.adopted.merge(&std::mem::take(&mut self.news));
        Ok(self.adopted.clone())
    }

    /// The news hold in this process from here on, under these numbers.
    pub(crate) fn adopt(&mut self, numbered: &Book) {
        let adopted = std::mem::take(&mut self.adopted);
        // A newer process needs the numbers that were made for it.
        self.book.merge(if self.newer_start().is_some() { &adopted } else { numbered });
    }

    /// Reads what another process has written. To be called under the lock. Where that fails, all that holds is written
    /// anew at the next try.
    fn catch_up(&mut self) -> io::Result<()> {
        if !self.has_news() {
            return Ok(());
        }
        let news = self.read_news().inspect_err(|_| (self.file, self.is_behind) = (None, true));
        let news = news?;
        // From the last number of the newest start on nothing tells two purges apart.
        let last = self.newer_start().unwrap_or(self.epoch).saturating_add(sequence::EPOCH - 1);
        self.heard.merge_marks(&news, last);
        self.news.merge(&news);
        Ok(())
    }

    /// What another process has purged.
    fn read_news(&mut self) -> io::Result<Book> {
        let mut news = Book::default();
        if let Some(file) = self.file.as_ref().filter(|file| self.is_there(file)) {
            let mut bytes = vec![0; usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(0)];
            match file.read_exact_at(&mut bytes, self.at) {
                // Somebody has cut it short.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.is_behind = true,
                read => read?,
            }
            let len = news.read_records(&bytes);
            self.at += len as u64;
            // What was torn as it was written.
            self.is_behind |= bytes[len..].iter().any(|byte| *byte != 0);
        } else if let Some(bytes) = read(&path(&self.root))? {
            let reading = Book::read(&bytes);
            news = reading.book;
            // What is forgotten need not be told from what comes.
            self.heard.keep_marks_of(&news);
            // The purges of this process have borne the last number of a newer one since that started: no number of that one's goes
            // beyond it.
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

    /// Writes all that holds to a new file in place of the old one.
    pub(crate) fn write_anew(&mut self) -> io::Result<()> {
        let _locked = lock(&self.root)?;
        self.catch_up()?;
        self.write_whole()
    }

    fn write_whole(&mut self) -> io::Result<()> {
        (self.file, self.is_behind) = (None, true);
        let aside = self.root.join(".purges.new");
        let mut bytes = if self.news.is_empty() && self.adopted.is_empty() {
            self.heard.keep_marks_of(&self.book);
            self.book.write()
        } else {
            let mut book = self.book.clone();
            book.merge(&self.news);
            book.merge(&self.adopted);
            self.heard.keep_marks_of(&book);
            book.write()
        };
        let at = bytes.len();
        bytes.resize((at * 2).max(LEAST).next_multiple_of(4096), 0);
        let mut open = File::options();
        let file = open.read(true).write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        fs::rename(&aside, path(&self.root))?;
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
mod tests {
    use super::*;
    use crate::Purge;
    use crate::disk::tests::Folder;
    use crate::purge::Ruled;

    fn entry(number: u64) -> Entry {
        Entry::Exact {
            number,
            purge: Purge::Hard,
            keys: [u128::from(number)].into(),
            labels: [number; 3].into(),
        }
    }

    fn reopened(folder: &Folder) -> (Book, Found) {
        let (log, found) = PurgeLog::open(folder.path()).unwrap();
        (log.book, found)
    }

    #[test]
    fn purges_are_found_again_however_many_there_were() {
        let folder = Folder::new();
        let (mut log, found) = PurgeLog::open(folder.path()).unwrap();
        assert_eq!(found, Found::default());
        let mut book = Book::default();
        for number in (1..3000).step_by(3) {
            let entries = [entry(number), entry(number + 1), entry(number + 2)];
            for entry in &entries {
                book.note(entry);
            }
            log.append(&entries).unwrap();
        }
        assert_eq!((reopened(&folder), book.len()), ((book, Found::default()), 6000));
    }

    #[test]
    fn log_that_somebody_removed_is_written_anew() {
        let folder = Folder::new();
        let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
        log.append(&[entry(1)]).unwrap();
        fs::remove_file(path(folder.path())).unwrap();
        log.append(&[entry(2)]).unwrap();
        assert_eq!(reopened(&folder).0.keys.len(), 2);
    }

    #[test]
    fn what_could_not_be_written_is_written_with_what_follows() {
        let folder = Folder::new();
        let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
        let away = folder.path().with_extension("away");
        fs::rename(folder.path(), &away).unwrap();
        assert!(log.append(&[entry(1)]).is_err());
        assert!(log.is_behind());
        fs::rename(&away, folder.path()).unwrap();
        log.append(&[entry(2)]).unwrap();
        assert!(!log.is_behind());
        assert_eq!(reopened(&folder).0.keys.len(), 2);
    }

    #[test]
    fn what_another_process_adds_is_seen_whatever_its_length() {
        let folder = Folder::new();
        let (mut one, _) = PurgeLog::open(folder.path()).unwrap();
        one.append(&[entry(1)]).unwrap();
        let (mut other, _) = PurgeLog::open(folder.path()).unwrap();
        let mut multiples = 0;
        for number in 2..600 {
            let entry = Entry::Ruled(Ruled {
                number,
                purge: Purge::Soft,
                name: "by rule".into(),
                rule: Some([b'r'].repeat(usize::try_from(number).unwrap()).into()),
            });
            let mut record = Vec::new();
            entry.write(&mut record);
            multiples += usize::from(record[0] == 0);
            one.append(&[entry]).unwrap();
            let news = other.take_news().unwrap();
            assert_eq!(news.rules.last().map(|ruled| ruled.number), Some(number));
            other.adopt(&news);
        }
        assert_eq!(multiples, 2, "payloads of 256 and 512 bytes");
        assert_eq!(reopened(&folder).0, one.book);
    }

    /// The logs of two processes on one folder.
    fn older_and_newer(folder: &Folder) -> (PurgeLog, PurgeLog) {
        let epochs = [1, 2].map(|start| start * sequence::EPOCH);
        let logs = epochs.map(|epoch| {
            let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
            sequence::write(folder.path(), epoch).unwrap();
            log.epoch = epoch;
            log
        });
        logs.into()
    }

    fn of_key(number: u64) -> Entry {
        Entry::Exact { number, purge: Purge::Hard, keys: [7].into(), labels: [].into() }
    }

    /// Whether there are news of the key; they hold from here on under this number of the start.
    fn hears(log: &mut PurgeLog, number: u64) -> bool {
        let news = log.take_news().unwrap();
        let mut numbered = Book::default();
        if !news.is_empty() {
            numbered.note(&of_key(log.epoch + number));
        }
        log.adopt(&numbered);
        !news.is_empty()
    }

    #[test]
    fn the_older_of_two_hears_of_a_purge_of_what_it_has_purged_itself() {
        for is_written_anew in [false, true] {
            for is_heard in [false, true] {
                let folder = Folder::new();
                let (mut older, mut newer) = older_and_newer(&folder);
                let mut number = 0;
                for round in 0..3 {
                    older.append(&[of_key(older.epoch + round)]).unwrap();
                    if is_heard {
                        number += 1;
                        assert!(hears(&mut newer, number), "round {round}");
                    }
                    number += 1;
                    newer.append(&[of_key(newer.epoch + number)]).unwrap();
                    if is_written_anew {
                        newer.write_anew().unwrap();
                    }
                    assert!(hears(&mut older, 9), "round {round}");
                    assert!(!hears(&mut older, 9), "it heard of it");
                }
                if is_heard && is_written_anew {
                    newer.write_anew().unwrap();
                    assert!(!hears(&mut older, 9), "it knew all of that");
                }
            }
        }
    }

    #[test]
    fn what_the_newer_of_two_forgets_the_older_does_not_remember_to_have_heard() {
        let folder = Folder::new();
        let (mut older, mut newer) = older_and_newer(&folder);
        for round in 0..5 {
            let entries: Vec<Entry> = (1..100).map(|n| entry(newer.epoch + round * 100 + n)).collect();
            newer.append(&entries).unwrap();
            assert!(!older.take_news().unwrap().is_empty());
            older.adopt(&Book::default());
            assert_eq!(older.heard.len(), 198, "99 keys and as many labels");
            newer.book.drop_through(newer.epoch + round * 100 + 90);
            newer.write_anew().unwrap();
            assert!(older.take_news().unwrap().is_empty(), "it knew what is left");
            assert_eq!(older.heard.len(), 18);
            newer.book.drop_through(newer.epoch + round * 100 + 99);
            newer.write_anew().unwrap();
            assert!(older.take_news().unwrap().is_empty());
            assert_eq!(older.heard.len(), 0);
        }
    }

    #[test]
    fn a_purge_is_news_though_one_of_the_same_number_is_about_to_hold() {
        let folder = Folder::new();
        let (mut older, mut newer) = older_and_newer(&folder);
        older.append(&[of_key(1)]).unwrap();
        let mut numbered = newer.take_news().unwrap();
        assert!(!numbered.is_empty());
        older.append(&[of_key(2)]).unwrap();
        newer.append(&[entry(newer.epoch + 1)]).unwrap();
        numbered.keys.values_mut().for_each(|numbers| numbers.hard = newer.epoch);
        newer.adopt(&numbered);
        assert!(hears(&mut newer, 2), "numbers alone do not tell them apart");
        assert!(!hears(&mut newer, 3));
    }

    #[test]
    fn log_that_was_cut_short_is_written_anew_by_the_purge_that_finds_it_so() {
        for len in [0, 5, 12, 40] {
            let folder = Folder::new();
            let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
            log.append(&[entry(1)]).unwrap();
            log.append(&[entry(2)]).unwrap();
            File::options().write(true).open(path(folder.path())).unwrap().set_len(len).unwrap();
            log.append(&[entry(3)]).unwrap();
            assert!(!log.is_behind());
            assert_eq!(reopened(&folder), (log.book.clone(), Found::default()), "{len} bytes were left");
            assert_eq!(log.book.keys.len(), 3);
        }
    }

    #[test]
    fn purges_of_a_moment_in_which_the_log_could_not_be_read_are_written_later() {
        let folder = Folder::new();
        let (mut log, _) = PurgeLog::open(folder.path()).unwrap();
        log.append(&[entry(1)]).unwrap();
        fs::remove_file(path(folder.path())).unwrap();
        fs::create_dir(path(folder.path())).unwrap();
        assert!(log.append(&[entry(2)]).is_err());
        assert!(log.is_behind(), "somebody must write what is in the book alone");
        fs::remove_dir(path(folder.path())).unwrap();
        log.write_anew().unwrap();
        assert!(!log.is_behind());
        assert_eq!(reopened(&folder).0.keys.len(), 2);
    }

    #[test]
    fn foreign_log_is_lost_and_kept_aside() {
        let folder = Folder::new();
        fs::write(path(folder.path()), b"anything").unwrap();
        let (log, found) = PurgeLog::open(folder.path()).unwrap();
        assert_eq!((found, log.book.len()), (Found { is_damaged: true, is_lost: true }, 0));
        assert!(log.is_behind(), "it says so until all that it could be of is purged");
        assert_eq!(fs::read(folder.path().join(".purges.damaged")).unwrap(), b"anything");
    }
}
