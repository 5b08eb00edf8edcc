//! Access log lines of finished exchanges.

use std::path::PathBuf;

use myriad_log::LogTarget;
use myriad_script::Frame;

use crate::exchange::{Exchange, Request, exchange_buffers, paths};

/// Writes a line for a finished exchange to each access log of the location that answered it, unless the log's `if=`
/// condition or `sample=` excludes it, or its path or line cannot be evaluated. If the location has access logs, first
/// restores the `Host` field of the request head to the value that the client sent.
pub fn write(exchange: &mut Exchange) {
    if exchange.request.place().logs.access.is_empty() {
        return;
    }
    // `$http_host` in a log is the `Host` field as received; everywhere else it is normalized.
    exchange.request.received.head.restore_host();
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    for log in &place.logs.access {
        let status = exchange.request.status();
        if !log.admits(status, &exchange.request, &mut exchange.frame) {
            continue;
        }
        let path = path_of(&log.target, &exchange.request, &mut exchange.frame);
        let format = &site.runtime.formats[log.format];
        site.worker.logs.line(&log.target, path, |line| {
            format.write_line(&exchange.request, &mut exchange.frame, line).is_ok()
        });
    }
}

/// Returns the file path of an access log whose path contains variables, evaluated for this request. Returns `None` for
/// logs without variables, if the document root of the request is not an existing directory, and if the path is
/// unusable ([`LogTarget::path`]).
fn path_of(target: &LogTarget, request: &Request, frame: &mut Frame) -> Option<PathBuf> {
    let LogTarget::Variable(..) = target else { return None };
    let has_root = exchange_buffers::with_buffer(|root| {
        paths::root(request, frame, root).is_ok() && paths::look_up(request, frame, root).is_directory()
    });
    // Like nginx, requires an existing root, so that names chosen by clients (e.g. `$host`) cannot fill the disk.
    if has_root { target.path(request, frame, &request.runtime().prefix) } else { None }
}
