//! What is known of a path, as the place where a request is believes it.

use std::sync::Arc;

use myriad_script::Frame;

use super::{Entry, FileCache, Walk};
use crate::exchange::{Request, scratch};

/// Looks a path up: within the time that the place believes what it knows, by the links that it allows.
pub(crate) fn look(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<Entry> {
    let files = &request.place().files;
    let walk = match &files.symlinks {
        None => Walk::Free,
        Some(symlinks) => scratch::with_buffer(|from| {
            // A part that cannot be told is not trusted.
            if symlinks.from.eval(request, frame, from).is_err() {
                from.clear();
            }
            Walk::to(path, symlinks.rule, from)
        }),
    };
    let entry = request.site.worker.files.look(path, walk, files.validity, request.received_ms);
    request.believes_until(files.validity.until_ms(&entry));
    entry
}

/// As [`look`], for an answer that says that something is not there: it is asked anew, unless the configuration has absence
/// believed.
pub(crate) fn look_for_certain(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<Entry> {
    let entry = look(request, frame, path);
    // Even what was looked at in this same millisecond: the file may have come within it.
    if entry.exists() || !believes_no_absence(request) {
        return entry;
    }
    FileCache::forget(&entry);
    look(request, frame, path)
}

/// Whether the place tells nobody that something is not there without having looked.
pub(crate) fn believes_no_absence(request: &Request) -> bool {
    request.place().files.validity.settling_ms > 0
}
