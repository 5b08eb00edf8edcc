//! Access to files: cached path states, contents of small files, symbolic links, temporary files.
//!
//! | module | contents |
//! |---|---|
//! | `cache` | cache of path states for all workers (nginx's `open_file_cache`) |
//! | `entry` | state of one path: a file with its contents or its descriptor, a directory, or an error |
//! | `symlinks` | rules for symbolic links (`disable_symlinks` of nginx) |
//! | `draft` | atomic creation of files |
//! | `temp_file` | temporary files, written and read on the blocking thread pool |
//! | `system_error` | system errors in the log format of nginx |
//! | `path` | conversion of bytes to paths |

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
pub use entry::{FileEntry, PathEntry, PathKind};
pub use path::as_path;
pub use symlinks::{LinkRule, PathResolution, read_at, split};
pub use system_error::SystemError;
pub use temp_file::{FileBody, Naming, PendingRead, TempFile, TempFolder};
