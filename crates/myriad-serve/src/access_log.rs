//! Writes what became of an exchange to the access logs of its place.

use std::path::PathBuf;

use myriad_log::{Format, Level, LogTarget};
use myriad_script::{EvalError, Frame};

use crate::exchange::{Exchange, Request, paths, scratch};
use crate::files::SystemError;
use crate::files::path::as_path;

/// Writes a finished exchange to the logs of the place that answered it.
pub(crate) fn write(exchange: &mut Exchange) {
    if exchange.request.place().access_logs.is_empty() {
        return;
    }
    // `$http_host` of a log is what came; all others are told the host in its one spelling.
    exchange.request.head.restore_host();
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
                    let path = path_of(&log.target, &exchange.request, &mut exchange.frame);
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

/// The path of a target that holds variables, for this request; none for another target, or where there is to be no log.
fn path_of(target: &LogTarget, request: &Request, frame: &mut Frame) -> Option<PathBuf> {
    let LogTarget::Variable(template, _) = target else { return None };
    let has_root = scratch::with_buffer(|root| {
        paths::root(request, frame, root).is_ok() && paths::look(request, frame, root).is_directory()
    });
    if !has_root {
        // As nginx: a name that a client made up, `$host` for instance, must not fill the disk.
        return None;
    }
    let mut path = Vec::new();
    template.eval(request, frame, &mut path).ok()?;
    // What a client sent may be part of the path: it must not climb.
    let climbs = path.split(|byte| *byte == b'/').any(|part| part == b"..") || path.contains(&0);
    (!climbs && !path.is_empty()).then(|| request.runtime().prefix.join(as_path(&path)))
}
