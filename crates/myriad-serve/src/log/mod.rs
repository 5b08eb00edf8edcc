//! The access log (nginx's `access_log`, `log_format`).

mod escape;
mod format;
mod open_files;
mod target;

pub(crate) use escape::Escaping;
pub(crate) use format::Format;
pub(crate) use open_files::OpenFiles;
pub(crate) use target::{BufferRules, LogTarget, LogWriter};
