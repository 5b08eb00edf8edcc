//! Path of the file for a response.

use std::path::PathBuf;

use myriad_exchange::exchange::{Exchange, paths};
use myriad_exchange::runtime::StoreRules;
use myriad_files::{PathResolution, as_path};
use myriad_log::LogLevel;

/// Returns the path of the file for `*_store` and the rules for following symbolic links. `None`, with an error log
/// entry, if the path cannot be evaluated, does not name a file, or contains `..` or NUL.
pub(super) fn of(exchange: &mut Exchange, rules: &StoreRules) -> Option<(PathBuf, PathResolution)> {
    let Exchange { request, frame } = exchange;
    let mut path = Vec::new();
    if let Err(error) = rules.path.eval(request, frame, &mut path) {
        request.log(LogLevel::Error, format_args!("the response is not stored: {error}"));
        return None;
    }
    if !path.starts_with(b"/") {
        path.splice(..0, [request.site.runtime.prefix.as_os_str().as_encoded_bytes(), b"/"].concat());
    }
    if is_safe(&path) {
        return Some((as_path(&path).to_owned(), paths::walk(request, frame, &path)));
    }
    let shown = String::from_utf8_lossy(&path);
    request.log(
        LogLevel::Error,
        format_args!("the response is not stored: \"{shown}\" is not a path of a file inside its folder"),
    );
    None
}

/// Returns whether a path names a file and contains neither `..` nor NUL, since a variable may contain client input.
fn is_safe(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    let names_a_file = !matches!(parts.clone().next_back(), None | Some(b"" | b"." | b".."));
    names_a_file && !path.contains(&0) && !parts.any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::is_safe;

    #[test]
    fn path_leads_downward_to_a_file() {
        for path in [&b"/a"[..], b"/a/b.c", b"/a/..b", b"/a//b", b"/a/./b"] {
            assert!(is_safe(path), "{}", path.escape_ascii());
        }
        for path in [&b"/"[..], b"/a/", b"/a/.", b"/a/..", b"/a/../b", b"/../b", b"/a\0b"] {
            assert!(!is_safe(path), "{}", path.escape_ascii());
        }
    }
}
