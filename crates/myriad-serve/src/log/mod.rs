//! The access log (nginx's `access_log`, `log_format`).

mod escape;
mod format;
mod open_files;
mod target;

pub(crate) use escape::Escaping;
pub(crate) use format::Format;
pub(crate) use open_files::OpenFiles;
pub(crate) use target::{BufferRules, LogTarget, LogWriter};

use myriad_script::EvalError;

use crate::error_log::Level;
use crate::exchange::{Exchange, scratch};
use crate::files::SystemError;

/// Writes a finished exchange to the logs of the place that answered it.
pub(crate) fn write(exchange: &mut Exchange) {
    if exchange.request.place().access_logs.is_empty() {
        return;
    }
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    for log in &place.access_logs {
        let wanted = match &log.condition {
            Some(condition) => condition.any_true(&exchange.request, &mut exchange.frame).unwrap_or(true),
            None => true,
        };
        if wanted {
            scratch::with_buffer(|line| {
                if line_of(exchange, &site.runtime.formats[log.format], line).is_ok() {
                    let path = log.target.path(&exchange.request, &mut exchange.frame);
                    let written = site.worker.logs.write(&log.target, path.as_deref(), line);
                    if let (Err(error), Some(path)) = (written, path) {
                        let (path, error) = (path.display(), SystemError::of(&error));
                        let message =
                            format_args!("open() \"{path}\" failed ({error}) while logging request");
                        exchange.request.log(Level::Crit, message);
                    }
                }
            });
        }
    }
}

fn line_of(exchange: &mut Exchange, format: &Format, line: &mut Vec<u8>) -> Result<(), EvalError> {
    format.write(&exchange.request, &mut exchange.frame, line)?;
    line.push(b'\n');
    Ok(())
}
