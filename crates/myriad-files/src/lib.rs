//! Files under the roots of a site: what is known of paths, small files in memory, symbolic links, temporary files.
//!
//! | module | what |
//! |---|---|
//! | `cache` | what is known of paths, for all workers, bounded and believed for a time (nginx's `open_file_cache`) |
//! | `entry` | one path: a file with its contents or its descriptor, a directory, or the reason why there is nothing |
//! | `symlinks` | how symbolic links are followed (nginx's `disable_symlinks`) |
//! | `draft` | files that come to their place when they are whole |
//! | `temp_file` | temporary files, written and read on the pool of blocking work |
//! | `system_error` | errors of the system as nginx's log writes them |
//! | `path` | bytes as paths |

#![forbid(unsafe_code)]

mod cache;
mod draft;
mod entry;
mod path;
mod symlinks;
mod system_error;
mod temp_file;

pub use cache::{FileCache, Validity};
pub use draft::Draft;
pub use entry::{Entry, FileEntry, Kind};
pub use path::as_path;
pub use symlinks::{LinkRule, Walk, read_at, split};
pub use system_error::SystemError;
pub use temp_file::{FileBody, Naming, Reading, TempFile, TempFolder};
