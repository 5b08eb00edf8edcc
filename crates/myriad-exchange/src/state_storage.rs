//! State that must survive the worker process. It is passed to the process that started the worker.

use std::path::Path;
use std::sync::Arc;

use myriad_store::page::FolderCreator;
use myriad_tls::TicketKeyStore;

/// Saves state that must survive the worker process, including TLS ticket keys. No result is returned: the
/// implementation logs its errors.
pub trait StateStorage: TicketKeyStore + FolderCreator {
    /// Saves a complete file that must survive restarts.
    fn save_file(&self, path: &Path, bytes: &[u8]);
}

/// Shared [`StateStorage`] implementation.
pub type SharedStateStorage = Arc<dyn StateStorage>;
