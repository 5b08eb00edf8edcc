//! Files that are not what they should be, kept for whoever wants to know what happened to them: a few, the oldest go first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

use super::FormatError;
use super::name::Name;
use super::options::DiskEvent;
use super::shelf::Shelf;

/// Most files that are kept.
const MOST: usize = 100;
/// Most bytes of them, and the part of `max_size` that is the most where that is less. They come beside `max_size`.
const MOST_BYTES: u64 = 64 << 20;
const PART: u64 = 16;
/// Files that are looked at of those that former runs kept; who put more there may keep them.
const FORMER: usize = 1000;

/// The files that are kept, the oldest first, with their bytes; `None` until those of former runs are known.
#[derive(Debug, Default)]
pub(crate) struct Aside(Mutex<Option<VecDeque<(PathBuf, u64)>>>);

impl Shelf {
    /// A file is not what it should be: it is put where no look-up comes, or removed, and counted. The stripe of its key must be held.
    pub(crate) fn set_aside(&self, name: Name, why: FormatError) {
        let path = self.path(name);
        self.catalogue.lock().forget(name);
        // A newer binary may write what an older one cannot read.
        let Some(_turn) = self.turn.hold() else { return };
        let is_kept = self.keep_aside(&path).is_some();
        if !is_kept {
            let _ = fs::remove_file(&path);
        }
        let count = self.counts.set_aside.fetch_add(1, Relaxed) + 1;
        if count == 1 || count.is_multiple_of(1000) {
            self.tell(&DiskEvent::SetAside { path, is_kept, why, count });
        }
    }

    /// Where such files are.
    fn damaged_files(&self) -> PathBuf {
        self.root.join(".damaged")
    }

    /// Keeps a file; `None` where it cannot be kept, or is too long.
    fn keep_aside(&self, path: &Path) -> Option<()> {
        let limits = *self.limits.read();
        let most = MOST_BYTES.min(limits.max_bytes / PART);
        let known = fs::symlink_metadata(path).ok().filter(|known| known.is_file() && known.len() <= most)?;
        if !self.leaves_free(0, limits) {
            return None;
        }
        let folder = self.damaged_files();
        let mut kept = self.aside.0.lock();
        let kept = kept.get_or_insert_with(|| former(&folder));
        let mut bytes: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        while kept.len() >= MOST || bytes + known.len() > most {
            let (oldest, freed) = kept.pop_front()?;
            let _ = fs::remove_file(oldest);
            bytes -= freed;
        }
        let number = self.next_temporary.fetch_add(1, Relaxed);
        let name = path.file_name()?.to_string_lossy();
        // What is kept of one name at different times has different names.
        let aside = folder.join(format!("{name}-{number:x}"));
        rename(path, &aside, &folder).ok()?;
        kept.push_back((aside, known.len()));
        Some(())
    }
}

fn rename(path: &Path, aside: &Path, folder: &Path) -> io::Result<()> {
    match fs::rename(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Shelf::make_folder(folder)?;
            fs::rename(path, aside)
        }
        renamed => renamed,
    }
}

/// What former runs kept, the oldest first.
fn former(folder: &Path) -> VecDeque<(PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FORMER);
    let known = entries.filter_map(|entry| {
        let known = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((known.modified().ok()?, entry.path(), known.len()))
    });
    let mut known: Vec<_> = known.collect();
    known.sort();
    known.into_iter().map(|(_, path, bytes)| (path, bytes)).collect()
}
