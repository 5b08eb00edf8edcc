//! Keeper: what zones need done by the process that started the worker.

use std::path::Path;

/// Requests to the process that started this one, which has rights that this one has given up.
pub trait KeepFolders: Send + Sync {
    /// Has the folder of a cache zone made anew, which was removed. Success is not reported: the keeper logs what goes wrong.
    fn folder(&self, path: &Path);
}
