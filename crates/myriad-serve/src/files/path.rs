//! From a URI to a path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use myriad_script::{EvalError, Frame};

use crate::exchange::Request;

/// Bytes as a path.
pub fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Appends `$document_root`.
pub fn root(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    request.place().files.root.eval(request, frame, out)
}

/// Appends the path that `uri` names in the current place: root and URI, or the alias in place of the location.
pub fn of_uri(
    request: &Request,
    uri: &[u8],
    frame: &mut Frame,
    out: &mut Vec<u8>,
) -> Result<(), EvalError> {
    let place = request.place();
    root(request, frame, out)?;
    if place.files.alias {
        if !place.files.alias_whole {
            out.extend_from_slice(uri.get(place.prefix.len()..).unwrap_or_default());
        }
        return Ok(());
    }
    if out.ends_with(b"/") && uri.starts_with(b"/") {
        out.pop();
    }
    out.extend_from_slice(uri);
    Ok(())
}
