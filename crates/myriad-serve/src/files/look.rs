//! What is known of a path, as the place where a request is believes it.

use std::sync::Arc;

use myriad_script::Frame;

use super::{Entry, Walk};
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
