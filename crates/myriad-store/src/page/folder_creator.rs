//! Requests of zones to the process that started the worker (the keeper).

use std::path::Path;

/// Requests to the process that started this process and has retained its privileges.
pub trait FolderCreator: Send + Sync {
    /// Requests that the removed folder of a cache zone is created again. Success is not reported: the keeper logs
    /// failures.
    fn request_folder(&self, path: &Path);
}
