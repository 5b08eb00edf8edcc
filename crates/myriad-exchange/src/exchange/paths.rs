//! File paths of a request, and their look-up with the settings of its location.

use std::sync::Arc;

use myriad_files::{FileCache, PathEntry, PathResolution};
use myriad_script::{EvalError, Frame};

use super::{Request, exchange_buffers};
use crate::runtime::Rooting;

/// Appends `$document_root`: the evaluated `root` or `alias`. Fails if a variable cannot be evaluated.
pub fn root(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    request.place().files.root.eval(request, frame, out)
}

/// Appends the file path of `uri` in the current location: `root` and URI, or the `alias` in place of the location's
/// prefix. In a regular expression location, the `alias` is the complete path, unless `try_files` has found a name
/// below it. Fails if a variable cannot be evaluated.
pub fn of_uri(request: &Request, uri: &[u8], frame: &mut Frame, out: &mut Vec<u8>) -> Result<(), EvalError> {
    let place = request.place();
    root(request, frame, out)?;
    match place.files.rooting {
        Rooting::Whole => {
            if request.route.form.below_alias {
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

/// Appends the rest of a URI to an alias. With `location /a { alias /b/; }`, `/a../c` would become `/b/../c`, so a NUL
/// byte is inserted into a path with `..`, which then matches no file.
fn below_alias(rest: &[u8], out: &mut Vec<u8>) {
    if rest.split(|byte| *byte == b'/').any(|part| part == b"..") {
        out.push(0);
    }
    out.extend_from_slice(rest);
}

/// Returns the rule by which symbolic links on a path are followed, from `disable_symlinks` of the location. Without
/// the directive, all links are followed; if its `from=` cannot be evaluated, links are checked on the whole path.
pub fn walk(request: &Request, frame: &mut Frame, path: &[u8]) -> PathResolution {
    match &request.place().files.symlinks {
        None => PathResolution::Free,
        Some(symlinks) if let Some(from) = symlinks.from.as_static() => {
            PathResolution::to(path, symlinks.rule, from)
        }
        Some(symlinks) => exchange_buffers::with_buffer(|from| {
            // If `from=` cannot be evaluated, no part of the path is trusted.
            if symlinks.from.eval(request, frame, from).is_err() {
                from.clear();
            }
            PathResolution::to(path, symlinks.rule, from)
        }),
    }
}

/// Returns the rule by which symbolic links to a file named in the configuration are followed. For a path below
/// `disable_symlinks from=`, the settings of the location apply, because the owner of a site can replace the file
/// there. For other paths, and if `from=` is absent or cannot be evaluated, all links are followed.
pub fn walk_to_named(request: &Request, frame: &mut Frame, path: &[u8]) -> PathResolution {
    let Some(symlinks) = &request.place().files.symlinks else { return PathResolution::Free };
    exchange_buffers::with_buffer(|from| match symlinks.from.eval(request, frame, from) {
        Ok(()) if !from.is_empty() && path.starts_with(from) => PathResolution::to(path, symlinks.rule, from),
        _ => PathResolution::Free,
    })
}

/// Looks up a path in the open-file cache, with the validity and symbolic link settings of the location. The result
/// limits the validity of the request's shortcut.
pub fn look_up(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<PathEntry> {
    let files = &request.place().files;
    let walk = walk(request, frame, path);
    let entry = request.site.worker.files.lookup(path, walk, files.validity, request.received.at_ms);
    request.limit_validity(files.validity.until_ms(&entry));
    entry
}

/// Looks up a path like [`look_up`], for a response that depends on the absence of a file: if the cache contains that
/// the path does not exist, checks the path again, unless `open_file_cache` is configured.
pub fn look_up_rechecking_absence(request: &Request, frame: &mut Frame, path: &[u8]) -> Arc<PathEntry> {
    let entry = look_up(request, frame, path);
    // Also if the look-up was in the current millisecond: the file may have been created within it.
    if entry.exists() || !rechecks_absence(request) {
        return entry;
    }
    FileCache::forget(&entry);
    look_up(request, frame, path)
}

/// Returns true if a cached absence of a file must be checked again in this location, because `open_file_cache` is not
/// configured for it.
pub fn rechecks_absence(request: &Request) -> bool {
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
