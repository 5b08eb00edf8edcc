//! Cache zones against each other: folders that two would share.

use std::path::{Component, Path, PathBuf};

use super::Builder;
use crate::{
    diagnostic::Diagnostic,
    model::{CacheZoneConf, HttpConf},
};
use std::os::unix::ffi::OsStrExt;

impl Builder<'_> {
    /// Two zones in one folder would take each other's files for their own: they would serve, count and remove them.
    pub(super) fn check_zones(&mut self, http: &HttpConf) {
        let folders: Vec<(PathBuf, &CacheZoneConf)> =
            http.cache_zones.iter().map(|zone| (folder(zone), zone)).collect();
        for (at, (path, zone)) in folders.iter().enumerate() {
            let before = &folders[..at];
            let same = before.iter().find(|(other, _)| other == path);
            let nested =
                || before.iter().find(|(other, _)| path.starts_with(other) || other.starts_with(path));
            let Some((other, first)) = same.or_else(nested) else { continue };
            let (shown, name, of) = (path.display(), &zone.name, &first.name);
            let message = if other == path {
                format!("the same path name \"{shown}\" is used by the cache zones \"{of}\" and \"{name}\"")
            } else if path.starts_with(other) {
                format!(
                    "the folder \"{shown}\" of the cache zone \"{name}\" lies in that of \"{of}\", \"{}\"",
                    other.display()
                )
            } else {
                format!(
                    "the folder \"{shown}\" of the cache zone \"{name}\" holds that of \"{of}\", \"{}\"",
                    other.display()
                )
            };
            let finding =
                Diagnostic::error(zone.path.span, message).related(first.path.span, "first used here");
            self.findings.push(finding.help("give each zone a folder of its own, beside the others"));
        }
    }
}

/// The folder of a zone without the signs that change nothing: `./`, a slash at the end, `x/..`. Relative ones start from
/// one prefix, so they are compared as they are.
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
