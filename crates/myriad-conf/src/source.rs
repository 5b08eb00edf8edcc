//! Loading of configuration text: a trait, so that this crate opens no file itself.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// Gives the bytes of files and the names in folders; `include` needs nothing else.
pub trait Loader {
    /// The whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in a folder, in any order, for `include` with `*`, `?` or `[…]`.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;
}

/// Files held in memory: tests, presets.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemoryLoader {
    /// A loader with one file.
    pub fn with(path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        Self::default().and(path, text)
    }

    /// This loader with one file more.
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
