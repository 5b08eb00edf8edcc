//! Writes what became of an exchange to the access logs of its place.

use std::path::PathBuf;

use myriad_files::SystemError;
use myriad_log::{Level, LogTarget};
use myriad_script::Frame;

use crate::exchange::{Exchange, Request, paths, scratch};

/// Writes a finished exchange to the logs of the place that answered it.
pub fn write(exchange: &mut Exchange) {
    if exchange.request.place().logs.access.is_empty() {
        return;
    }
    // `$http_host` of a log is what came; all others are told the host in its one spelling.
    exchange.request.received.head.restore_host();
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    for log in &place.logs.access {
        if log.admits(&exchange.request, &mut exchange.frame) {
            scratch::with_buffer(|line| {
                let format = &site.runtime.formats[log.format];
                if format.write_line(&exchange.request, &mut exchange.frame, line).is_ok() {
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

/// The path of a target that holds variables, for this request; none for another target, or where there is to be no log.
fn path_of(target: &LogTarget, request: &Request, frame: &mut Frame) -> Option<PathBuf> {
    let LogTarget::Variable(..) = target else { return None };
    let has_root = scratch::with_buffer(|root| {
        paths::root(request, frame, root).is_ok() && paths::look(request, frame, root).is_directory()
    });
    // A name that a client made up, `$host` for instance, must not fill the disk: nginx demands the same.
    if has_root { target.path(request, frame, &request.runtime().prefix) } else { None }
}
