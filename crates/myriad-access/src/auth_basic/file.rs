//! Reading of the password file.

use std::path::Path;

use bytes::Bytes;
use myriad_files::{Validity, as_path};
use myriad_log::LogLevel;

use myriad_exchange::exchange::paths::walk_to_named;
use myriad_exchange::exchange::{CheckVerdict, Exchange, Request};

/// Maximum size of a password file, in bytes. Only small files are cached.
const MAX_BYTES: u64 = 64 << 20;
/// Cache validity of 0: the file is checked for changes at each request.
const ALWAYS_ASK: Validity = Validity { found_ms: 0, missing_ms: 0, settling_ms: 0 };

/// Returns the contents of a password file, from the cache if the file is small and unchanged. If it cannot be read,
/// returns a verdict that rejects the request: 403 if the file does not exist, otherwise 500.
///
/// The owner of a site may have replaced a file below its root by a symbolic link or a pipe. Links are therefore
/// followed according to `disable_symlinks`, and only regular files are opened.
pub(super) fn read(exchange: &mut Exchange, path: &[u8]) -> Result<Bytes, CheckVerdict> {
    let Exchange { request, frame } = exchange;
    if path.contains(&0) {
        return Err(failed(request, path, &std::io::ErrorKind::InvalidInput.into()));
    }
    let walk = walk_to_named(request, frame, path);
    let entry = request.site.worker.files.lookup(path, walk, ALWAYS_ASK, request.received.at_ms);
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
    walk.read(path, MAX_BYTES).map(Bytes::from).map_err(|error| failed(request, path, &error))
}

fn failed(request: &Request, path: &[u8], error: &std::io::Error) -> CheckVerdict {
    let shown = Path::display(as_path(path));
    if error.kind() == std::io::ErrorKind::NotFound {
        request.log(LogLevel::Error, format_args!("open() \"{shown}\" failed ({error})"));
        return CheckVerdict::Refuse(403);
    }
    request.log(LogLevel::Crit, format_args!("open() \"{shown}\" failed ({error})"));
    CheckVerdict::Fail(500)
}
