//! Creation of cache folders by the process that started the worker process and has kept its privileges (the
//! supervisor).

use std::path::Path;

/// Connection to the supervisor (the process that started this process and retains its privileges), to request folders.
pub trait FolderCreator: Send + Sync {
    /// Requests that the removed folder of a cache zone be created again. Returns no result; the supervisor logs
    /// failures.
    fn request_folder(&self, path: &Path);
}
