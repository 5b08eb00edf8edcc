//! Temporary folder of a test.

use std::path::PathBuf;

/// Temporary folder of a test, removed when dropped.
pub struct TestFolder(pub PathBuf);

impl TestFolder {
    /// Creates a folder in the system's temporary folder; `name` distinguishes it from those of other tests.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Writes `text` to the file `name` in the folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file");
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
