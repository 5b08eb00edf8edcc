//! Files under the roots: paths, what is known of them, and the small ones in memory.

mod cache;
mod entry;
pub(crate) mod path;
mod system_error;

pub(crate) use cache::{FileCache, Validity};
pub(crate) use entry::{Entry, FileEntry, Kind};
pub(crate) use system_error::SystemError;
