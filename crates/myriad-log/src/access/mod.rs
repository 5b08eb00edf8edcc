//! The access log (nginx's `access_log`, `log_format`).

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
