//! The paths that a request stands for, and what is known of them as its place believes it.

use std::sync::Arc;

use myriad_files::{Entry, FileCache, Walk};
use myriad_script::{EvalError, Frame};

use super::{Request, scratch};
use crate::runtime::Rooting;

/// Appends `$document_root`.
pub fn root(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    request.place().files.root.eval(request, frame, out)
}

/// Appends the path that `uri` names in the current place: root and URI, or the alias in place of the location. The alias of
/// a regular expression is the whole path, unless `try_files` has found a name behind it.
pub fn of_uri(request: &Request, uri: &[u8], frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    let place = request.place();
    root(request, frame, out)?;
    match place.files.rooting {
        Rooting::Whole => {
            if request.route.form.behind_alias {
                below_alias(uri, out);
            }
            return Ok(());
        }
        Rooting::Alias(prefix) => {
            below_alias(uri.get(prefix..).unwrap_or_default(), out);
            return Ok(());
        }
        Rooting::Root => {}
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

/// How the place lets a path be reached, by the links that it allows.
pub fn walk(request: &Request, frame: &mut Frame, path: &[u8]) -> Walk {
    match &request.place().files.symlinks {
        None => Walk::Free,
        Some(symlinks) if let Some(from) = symlinks.from.as_static() => Walk::to(path, symlinks.rule, from),
        Some(symlinks) => scratch::with_buffer(|from| {
            // A part that cannot be told is not trusted.
            if symlinks.from.eval(request, frame, from).is_err() {
                from.clear();
            }
            Walk::to(path, symlinks.rule, from)
        }),
    }
}

/// How links are followed on the way to a file that the configuration names: as the place follows them below the part that it trusts
/// (`disable_symlinks from=`), since the owner of a site can replace the file there; elsewhere as the system does.
pub fn walk_to_named(request: &Request, frame: &mut Frame, path: &[u8]) -> Walk {
    let Some(symlinks) = &request.place().files.symlinks else { return Walk::Free };
    scratch::with_buffer(|from| match symlinks.from.eval(request, frame, from) {
        Ok(()) if !from.is_empty() && path.starts_with(from) => Walk::to(path, symlinks.rule, from),
        _ => Walk::Free,
    })
}

/// Looks a path up: within the time that the place believes what it knows, by the links that it allows.
pub fn look(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<Entry> {
    let files = &request.place().files;
    let walk = walk(request, frame, path);
    let entry = request.site.worker.files.look(path, walk, files.validity, request.received.at_ms);
    request.believes_until(files.validity.until_ms(&entry));
    entry
}

/// As [`look`], for an answer that says that something is not there: it is asked anew, unless the configuration has absence
/// believed.
pub fn look_for_certain(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<Entry> {
    let entry = look(request, frame, path);
    // Even what was looked at in this same millisecond: the file may have come within it.
    if entry.exists() || !believes_no_absence(request) {
        return entry;
    }
    FileCache::forget(&entry);
    look(request, frame, path)
}

/// Whether the place tells nobody that something is not there without having looked.
pub fn believes_no_absence(request: &Request) -> bool {
    request.place().files.validity.settling_ms > 0
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
