//! Saving of state that must survive the worker process, by the supervisor process.

use std::path::Path;
use std::sync::Arc;

use myriad_store::page::FolderCreator;
use myriad_tls::TicketKeyStore;

/// Saves state that must survive the worker process: files and TLS ticket keys. Methods return no results; errors are
/// logged.
pub trait StateStorage: TicketKeyStore + FolderCreator {
    /// Saves `bytes` as the contents of the file at `path`, replacing it completely.
    fn save_file(&self, path: &Path, bytes: &[u8]);
}

/// Shared handle of a [`StateStorage`].
pub type SharedStateStorage = Arc<dyn StateStorage>;
