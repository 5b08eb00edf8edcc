//! Access logs (`access_log`, `log_format`).
//!
//! | file | content |
//! |---|---|
//! | `format`, `escape` | log formats, and escaping of values |
//! | `target` | destinations of lines, and conditions for logging a request |
//! | `writer` | lines of one worker, gathered in buffers |
//! | `threads` | threads that write the lines of all workers |
//! | `open_files` | logs whose path contains variables |
//! | `losses` | lines that could not be written |

mod escape;
mod format;
mod losses;
mod open_files;
mod target;
#[cfg(test)]
mod testing;
mod threads;
mod writer;

pub use escape::write_escaped;
pub use format::LogFormat;
pub use losses::Loss;
pub use target::{AccessLog, LogBuffering, LogTarget};
pub use threads::LogThreads;
pub use writer::LogWriter;
