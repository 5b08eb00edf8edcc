//! Atomic creation of files: a file is written under a temporary name in its destination folder and renamed when
//! complete.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, openat, renameat, unlinkat};

use crate::path::as_path;

/// File under a temporary name. Dropping it removes the file unless [`Self::place`] has succeeded.
#[derive(Debug)]
pub struct Draft {
    file: File,
    folder: OwnedFd,
    name: String,
    placed: bool,
}

impl Draft {
    /// Creates the file in its destination folder. The temporary name starts with a dot and contains 64 random bits, so
    /// that it is neither listed nor guessed.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn begin(folder: &OwnedFd) -> io::Result<Self> {
        let name = format!(".myriad-{:016x}", RandomState::new().hash_one(0));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
        let folder = folder.try_clone()?;
        Ok(Self { file: File::from(file), folder, name, placed: false })
    }

    /// Returns the file, to write its contents.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Sets the permissions and the modification time (if given), and renames the file to `name`, replacing an existing
    /// file.
    ///
    /// # Errors
    ///
    /// Errors of the system; the file is then removed.
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
