//! What of zones must outlive the worker process.

use std::path::Path;

/// Takes what whoever started the process is to do for its zones: it may write where the process may not.
pub trait KeepFolders: Send + Sync {
    /// The folder of a cache zone, which somebody has removed, is to be made anew. Nothing is said of whether it was: who keeps
    /// it logs what goes wrong.
    fn folder(&self, path: &Path);
}
