//! Test coverage by name: read from the `covers` sections of `tests/golden`, and from the lines `//! covers: NAMES` at
//! the start of the files in `tests/tests`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Links to the test files, by the names of directives and variables (with `$`) that the files cover. Golden files come
/// first.
#[derive(Debug, Default)]
pub(crate) struct Coverage(BTreeMap<String, Vec<String>>);

impl Coverage {
    /// Reads the tests of the workspace and which names they cover.
    pub(crate) fn read() -> Self {
        let mut coverage = Self::default();
        coverage.take("golden", "golden", |text| covered(text).collect());
        coverage.take("tests", "rs", |text| {
            let lines = text.lines().filter_map(|line| line.strip_prefix("//! covers: "));
            lines.flat_map(str::split_whitespace).collect()
        });
        coverage
    }

    /// Adds the files of a folder in `tests`; `covers` extracts the covered names from the text of a file.
    fn take(&mut self, folder: &str, extension: &str, covers: impl Fn(&str) -> Vec<&str>) {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
        let mut files = Vec::new();
        collect_files(&base, extension, &mut files);
        files.sort();
        for path in files {
            let below = path.strip_prefix(&base).expect("a file in the folder");
            let link =
                format!("[{}](../tests/{folder}/{})", below.with_extension("").display(), below.display());
            let text = fs::read_to_string(&path).expect("a test");
            for name in covers(&text) {
                self.0.entry(name.to_owned()).or_default().push(link.clone());
            }
        }
    }

    /// Returns links to the files that cover a name; a name with a trailing `_` is covered by any name with this
    /// prefix.
    pub(crate) fn files_covering(&self, name: &str) -> Vec<&str> {
        let prefix = name.ends_with('_');
        let fits = |known: &str| if prefix { known.starts_with(name) } else { known == name };
        let files = self.0.iter().filter(|(known, _)| fits(known)).flat_map(|(_, files)| files);
        files.map(String::as_str).collect()
    }

    /// Returns every covered name.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn collect_files(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect_files(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// Returns the words of a file's `covers` sections.
fn covered(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let lines = text.lines().filter(move |line| {
        let title = line.strip_prefix("--- ");
        if let Some(title) = title {
            inside = title.trim() == "covers";
        }
        inside && title.is_none()
    });
    lines.flat_map(str::split_whitespace)
}
