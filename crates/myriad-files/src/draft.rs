//! Atomic creation of a file: it is written under a temporary name in the destination folder, and renamed when it is
//! complete.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, openat, renameat, unlinkat};

use crate::path::as_path;

/// File that is not yet at its destination; removed on drop unless it was placed.
#[derive(Debug)]
pub struct Draft {
    file: File,
    folder: OwnedFd,
    name: String,
    placed: bool,
}

impl Draft {
    /// Creates the file in its destination folder. The temporary name begins with a dot and contains 64 random bits, so
    /// that it is neither listed nor guessed.
    ///
    /// # Errors
    /// Returns errors of the system.
    pub fn begin(folder: &OwnedFd) -> io::Result<Self> {
        let name = format!(".myriad-{:016x}", RandomState::new().hash_one(0));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
        let folder = folder.try_clone()?;
        Ok(Self { file: File::from(file), folder, name, placed: false })
    }

    /// Returns the file for writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Sets the permissions and, if given, the modification time, and renames the file in the folder, replacing an
    /// existing file.
    ///
    /// # Errors
    /// Returns errors of the system; the file is then removed.
    pub fn place(mut self, name: &[u8], mode: u32, modified: Option<Timespec>) -> io::Result<()> {
        fchmod(&self.file, Mode::from_raw_mode(mode))?;
        if let Some(modified) = modified {
            futimens(&self.file, &Timestamps { last_access: modified, last_modification: modified })?;
        }
        renameat(&self.folder, self.name.as_str(), &self.folder, as_path(name))?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            let _ = unlinkat(&self.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}
