//! Writes what became of an exchange to the access logs of its place.

use std::path::PathBuf;

use myriad_log::LogTarget;
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

/// The path of a target that holds variables, for this request; none for another target, or where there is to be no log.
fn path_of(target: &LogTarget, request: &Request, frame: &mut Frame) -> Option<PathBuf> {
    let LogTarget::Variable(..) = target else { return None };
    let has_root = scratch::with_buffer(|root| {
        paths::root(request, frame, root).is_ok() && paths::look(request, frame, root).is_directory()
    });
    // A name that a client made up, `$host` for instance, must not fill the disk: nginx demands the same.
    if has_root { target.path(request, frame, &request.runtime().prefix) } else { None }
}
