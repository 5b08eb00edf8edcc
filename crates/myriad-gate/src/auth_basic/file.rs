//! The file of users and passwords, as it is now.

use std::path::Path;

use bytes::Bytes;
use myriad_files::{Validity, Walk, as_path};
use myriad_log::Level;

use myriad_exchange::exchange::{Request, Verdict};

/// A changed file counts from the next request on.
const ALWAYS_ASK: Validity = Validity { found_ms: 0, missing_ms: 0, settling_ms: 0 };

/// Reads a file. What was read of it before serves while the file is the same. A verdict where it cannot be read: nobody may
/// come in.
pub(super) fn read(request: &Request, path: &[u8]) -> Result<Bytes, Verdict> {
    if path.contains(&0) {
        return Err(failed(request, path, &std::io::ErrorKind::InvalidInput.into()));
    }
    let entry = request.site.worker.files.look(path, Walk::Free, ALWAYS_ASK, request.received.at_ms);
    if let Some(file) = entry.file().filter(|file| file.is_small()) {
        if let Some(contents) = file.contents() {
            return Ok(contents.clone());
        }
        if file.load(as_path(path)).is_ok()
            && let Some(contents) = file.contents()
        {
            return Ok(contents.clone());
        }
    }
    std::fs::read(as_path(path)).map(Bytes::from).map_err(|error| failed(request, path, &error))
}

fn failed(request: &Request, path: &[u8], error: &std::io::Error) -> Verdict {
    let shown = Path::display(as_path(path));
    if error.kind() == std::io::ErrorKind::NotFound {
        request.log(Level::Error, format_args!("open() \"{shown}\" failed ({error})"));
        return Verdict::Refuse(403);
    }
    request.log(Level::Crit, format_args!("open() \"{shown}\" failed ({error})"));
    Verdict::Fail(500)
}
