//! Files under the roots: paths, what is known of them, and the small ones in memory.

mod cache;
mod entry;
mod look;
pub(crate) mod path;
mod symlinks;
mod system_error;

pub(crate) use cache::{FileCache, Validity};
pub(crate) use entry::{Entry, FileEntry, Kind};
pub(crate) use look::{believes_no_absence, look, look_for_certain};
pub(crate) use symlinks::{LinkRule, Walk};
pub(crate) use system_error::SystemError;
