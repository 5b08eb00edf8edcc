//! Files under the roots: paths, what is known of them, and the small ones in memory.

mod cache;
mod entry;
pub(crate) mod path;
mod symlinks;
mod system_error;
mod temp_file;

pub(crate) use cache::{FileCache, Validity};
pub(crate) use entry::{Entry, FileEntry, Kind};
pub(crate) use symlinks::{LinkRule, Walk};
pub(crate) use system_error::SystemError;
pub(crate) use temp_file::{FileBody, Naming, Reading, TempFile, TempFolder};
