//! From a URI to a path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use myriad_script::{EvalError, Frame};

use crate::exchange::Request;
use crate::runtime::Rooting;

/// Bytes as a path.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Appends `$document_root`.
pub(crate) fn root(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    request.place().files.root.eval(request, frame, out)
}

/// Appends the path that `uri` names in the current place: root and URI, or the alias in place of the location.
pub(crate) fn of_uri(
    request: &Request,
    uri: &[u8],
    frame: &mut Frame,
    out: &mut Vec<u8>,
) -> Result<(), EvalError> {
    let place = request.place();
    root(request, frame, out)?;
    match place.files.rooting {
        Rooting::Whole => return Ok(()),
        Rooting::Alias(prefix) => {
            below_alias(uri.get(prefix..).unwrap_or_default(), out);
            return Ok(());
        }
        Rooting::Root => {}
    }
    if out.ends_with(b"/") && uri.starts_with(b"/") {
        out.pop();
    }
    out.extend_from_slice(uri);
    Ok(())
}

/// Appends what is left of the URI behind an alias. `location /a { alias /b/; }` would make `/b/../c` of `/a../c`: a path
/// that climbs becomes one that no file can have.
fn below_alias(rest: &[u8], out: &mut Vec<u8>) {
    if rest.split(|byte| *byte == b'/').any(|part| part == b"..") {
        out.push(0);
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_climbs_out_of_an_alias() {
        let path = |rest: &[u8]| {
            let mut out = b"/data/".to_vec();
            below_alias(rest, &mut out);
            out
        };
        assert_eq!(path(b"a/b.css"), b"/data/a/b.css");
        assert!(path(b"../etc/passwd").contains(&0));
        assert!(path(b"..").contains(&0));
        assert_eq!(path(b"..a/b"), b"/data/..a/b");
    }
}
