//! Checks that cache zones do not share folders.

use std::path::{Component, Path, PathBuf};

use super::Builder;
use crate::{
    diagnostic::Diagnostic,
    model::{CacheZoneConf, HttpConf},
};
use std::os::unix::ffi::OsStrExt;

impl Builder<'_> {
    /// Rejects two cache zones with the same folder: each would serve, count and remove files of the other. The folder
    /// of one zone may be inside that of another if its name is not one that the outer zone uses for files or folders.
    pub(super) fn check_zones(&mut self, http: &HttpConf) {
        let folders: Vec<(PathBuf, &CacheZoneConf)> =
            http.cache_zones.iter().map(|zone| (folder(zone), zone)).collect();
        for (at, (path, zone)) in folders.iter().enumerate() {
            let before = &folders[..at];
            let same = before.iter().find(|(other, _)| other == path);
            let mixed = || before.iter().find(|(other, _)| is_mixed(path, other) || is_mixed(other, path));
            let Some((other, first)) = same.or_else(mixed) else { continue };
            let (shown, name, of) = (path.display(), &zone.name, &first.name);
            let (message, help) = if other == path {
                let shared = "is used by the cache zones";
                (format!("the same path name \"{shown}\" {shared} \"{of}\" and \"{name}\""), SEPARATE_FOLDERS)
            } else if path.starts_with(other) {
                let outer = other.display();
                let lies = "is inside the folder of zone";
                (
                    format!(
                        "the folder \"{shown}\" of the cache zone \"{name}\" {lies} \"{of}\", \"{outer}\""
                    ),
                    OTHER_NAME,
                )
            } else {
                let inner = other.display();
                let holds = "contains the folder of zone";
                (
                    format!(
                        "the folder \"{shown}\" of the cache zone \"{name}\" {holds} \"{of}\", \"{inner}\""
                    ),
                    OTHER_NAME,
                )
            };
            let finding =
                Diagnostic::error(zone.path.span, message).related(first.path.span, "first used here");
            self.findings.push(finding.help(help));
        }
    }
}

const SEPARATE_FOLDERS: &str = "use a separate folder for each zone";
const OTHER_NAME: &str = "move it outside of that folder, or rename the subfolder: its name needs a character other than a to f and \
     digits, and no leading dot";

/// Returns whether `inner` is inside the cache folder `zone`, below a name that the zone may use for its files and
/// folders: hexadecimal digits, or a leading dot. A zone ignores other names.
fn is_mixed(inner: &Path, zone: &Path) -> bool {
    let Ok(within) = inner.strip_prefix(zone) else { return false };
    let Some(Component::Normal(name)) = within.components().next() else { return false };
    let name = name.as_bytes();
    name.starts_with(b".") || name.iter().all(u8::is_ascii_hexdigit)
}

/// Returns the folder of a cache zone, normalized without `./`, trailing slashes and `x/..`. Relative paths have the
/// same prefix, so they are compared without resolving them.
fn folder(zone: &CacheZoneConf) -> PathBuf {
    let mut path = PathBuf::new();
    for part in Path::new(std::ffi::OsStr::from_bytes(zone.path.bytes())).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}
