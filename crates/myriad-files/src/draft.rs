//! A file that has no place yet: it is written under a name of its own beside its place, and renamed when it is whole.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, openat, renameat, unlinkat};

use crate::path::as_path;

/// A file that is written and not at its place yet; removed where it does not come there.
#[derive(Debug)]
pub struct Draft {
    file: File,
    folder: OwnedFd,
    name: String,
    placed: bool,
}

impl Draft {
    /// Makes the file in the folder of the place that it is to have. Its name begins with a dot and holds 64 random bits: nobody lists
    /// it, or asks for it by chance.
    ///
    /// # Errors
    /// Those of the system.
    pub fn begin(folder: &OwnedFd) -> io::Result<Self> {
        let name = format!(".myriad-{:016x}", RandomState::new().hash_one(0));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
        let folder = folder.try_clone()?;
        Ok(Self { file: File::from(file), folder, name, placed: false })
    }

    /// The file, to be written.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file these permissions, a time of change where there is one, and its name in the folder, in place of what is there.
    ///
    /// # Errors
    /// Those of the system; the file is removed then.
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
