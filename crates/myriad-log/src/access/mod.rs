//! The access log (nginx's `access_log`, `log_format`).

mod escape;
mod format;
mod open_files;
mod target;
#[cfg(test)]
mod testing;
mod writer;

pub use escape::write_escaped;
pub use format::Format;
pub use target::{AccessLog, BufferRules, LogTarget};
pub use writer::LogWriter;
