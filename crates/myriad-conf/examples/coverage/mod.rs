//! Which golden test covers what, read from the `covers` sections of `tests/golden`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The golden files by the names that they cover, a variable's with its `$`; files in order.
#[derive(Debug, Default)]
pub(crate) struct Coverage(BTreeMap<String, Vec<String>>);

impl Coverage {
    /// Reads the workspace's golden files.
    pub(crate) fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let mut files = Vec::new();
        gather(&folder, &mut files);
        files.sort();
        let mut coverage = Self::default();
        for path in files {
            let below = path.strip_prefix(&folder).expect("a file in the folder").with_extension("");
            let text = fs::read_to_string(&path).expect("a golden file");
            for name in covered(&text) {
                let files = coverage.0.entry(name.to_owned()).or_default();
                files.push(below.to_string_lossy().into_owned());
            }
        }
        coverage
    }

    /// The files that cover a name; one that ends with `_` is covered by any that begins with it.
    pub(crate) fn of(&self, name: &str) -> Vec<&str> {
        let prefix = name.ends_with('_');
        let fits = |known: &str| if prefix { known.starts_with(name) } else { known == name };
        let files = self.0.iter().filter(|(known, _)| fits(known)).flat_map(|(_, files)| files);
        files.map(String::as_str).collect()
    }

    /// Every name that some file covers.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "golden") {
            files.push(path);
        }
    }
}

/// The words of a file's `covers` sections.
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
