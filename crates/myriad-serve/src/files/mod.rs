//! Files under the roots: paths, what is known of them, and the small ones in memory.

mod cache;
mod entry;
pub mod path;

pub use cache::{FileCache, Validity};
pub use entry::{Entry, FileEntry, Kind};
