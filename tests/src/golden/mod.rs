//! Golden tests: one file that holds a configuration, requests and the answers that they must get.
//!
//! The format is told in `tests/golden/README.md`. A [`Case`] is read from its file and played against a [`Subject`]:
//! the binary under test, or an installed nginx, which proves that the file tells nginx's behaviour.

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

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every answer is as expected.
    Passed,
    /// Not for this subject, for this reason.
    Skipped(String),
    /// What differs, to be read by a person.
    Failed(String),
}

/// The folder of the golden files.
pub fn folder() -> PathBuf {
    workspace().join("tests/golden")
}

/// The golden files, by their names, `AREA/NAME`, in order.
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
