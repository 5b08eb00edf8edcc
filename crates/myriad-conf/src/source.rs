//! Access to configuration files through a trait: this crate itself opens no files.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// Source of file contents and folder listings. The parser needs no other file access.
pub trait Loader {
    /// Returns the content of the file `path`, or an error if it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Returns the names in a folder, in any order, for `include` with `*`, `?` or `[…]`; an error if it cannot be
    /// read.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;
}

/// Loader of files in memory, for tests and presets.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemoryLoader {
    /// Creates a loader with one file.
    pub fn with(path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        Self::default().and(path, text)
    }

    /// Adds a file, replacing one with the same path.
    #[must_use]
    pub fn and(mut self, path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Loader for MemoryLoader {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let below = self.files.keys().filter_map(|path| path.strip_prefix(folder).ok());
        let mut names: Vec<OsString> =
            below.filter_map(|rest| Some(rest.iter().next()?.to_owned())).collect();
        names.dedup();
        Ok(names)
    }
}
