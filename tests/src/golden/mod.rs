//! Golden tests: a file contains a configuration, requests and their expected responses.
//!
//! `tests/golden/README.md` specifies the format. A [`Case`] is parsed from its file and runs against a [`Subject`]:
//! the binary under test, or an installed nginx, which verifies that the file describes the behavior of nginx.

mod case;
mod expect;
mod origin;
mod run;
mod subject;

use std::fs;
use std::path::{Path, PathBuf};

pub use case::Case;
pub use subject::Subject;

use crate::workspace;

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All responses are as expected.
    Passed,
    /// The case does not apply to this subject, for this reason.
    Skipped(String),
    /// Differences, as text.
    Failed(String),
}

/// Returns the folder of the golden files.
pub fn folder() -> PathBuf {
    workspace().join("tests/golden")
}

/// Returns the names (`AREA/NAME`) and paths of all golden files in `folder` and its subfolders, sorted.
pub fn find(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a folder's entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "golden") {
                found.push(path);
            }
        }
    }
    found.sort();
    let name = |path: &Path| {
        let below = path.strip_prefix(folder).expect("a file in the folder").with_extension("");
        below.to_string_lossy().into_owned()
    };
    found.into_iter().map(|path| (name(&path), path)).collect()
}
