//! Files that are not what they should be, kept for whoever wants to know what happened to them: a few, the oldest go first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::body_file::Damage;
use super::files::{Files, make_folder};

/// Most files that are kept.
const MOST: usize = 100;
/// Most bytes of them, and the part of `max_size` that is the most where that is less. They come beside `max_size`.
const MOST_BYTES: u64 = 64 << 20;
const PART: u64 = 16;
/// Files that are looked at of those that former runs kept; who put more there may keep them.
const FORMER: usize = 1000;

/// The files that are kept, and those that were found damaged and are looked at again before they come here.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// The oldest first, with their bytes; `None` until those of former runs are known.
    kept: Mutex<Option<VecDeque<(PathBuf, u64)>>>,
    /// Found by those who read a body piece by piece.
    suspected: Mutex<Vec<Damage>>,
}

impl Quarantine {
    pub(crate) fn suspect(&self, damage: Damage) {
        self.suspected.lock().push(damage);
    }

    pub(crate) fn take_suspected(&self) -> Vec<Damage> {
        std::mem::take(&mut *self.suspected.lock())
    }

    /// Moves a file to those that are kept; `None` where it cannot be kept, or is too long. `max_bytes` are those of all the
    /// zone's files.
    pub(crate) fn keep(&self, files: &Files, path: &Path, max_bytes: u64) -> Option<()> {
        let most = MOST_BYTES.min(max_bytes / PART);
        let known = fs::symlink_metadata(path).ok().filter(|known| known.is_file() && known.len() <= most)?;
        let folder = files.root.join(".damaged");
        let mut kept = self.kept.lock();
        let kept = kept.get_or_insert_with(|| former(&folder));
        let mut bytes: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        while kept.len() >= MOST || bytes + known.len() > most {
            let (oldest, freed) = kept.pop_front()?;
            let _ = fs::remove_file(oldest);
            bytes -= freed;
        }
        let name = path.file_name()?.to_string_lossy();
        // What is kept of one name at different times has different names.
        let aside = folder.join(format!("{name}-{:x}", files.next_number()));
        rename(path, &aside, &folder).ok()?;
        kept.push_back((aside, known.len()));
        Some(())
    }
}

fn rename(path: &Path, aside: &Path, folder: &Path) -> io::Result<()> {
    match fs::rename(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(folder)?;
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
