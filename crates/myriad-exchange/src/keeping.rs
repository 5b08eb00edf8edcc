//! State that must survive the worker process. It is passed to the process that started the worker.

use std::path::Path;
use std::sync::Arc;

use myriad_store::page::KeepFolders;
use myriad_tls::KeepTicketKeys;

/// Saves state that must survive the worker process, including TLS ticket keys. No result is returned: the
/// implementation logs its errors.
pub trait Keep: KeepTicketKeys + KeepFolders {
    /// Saves a complete file that must survive restarts.
    fn file(&self, path: &Path, bytes: &[u8]);
}

/// Shared [`Keep`] implementation.
pub type Keeper = Arc<dyn Keep>;
