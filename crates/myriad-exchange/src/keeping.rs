//! What must outlive the worker process: handed to whoever started it.

use std::path::Path;
use std::sync::Arc;

use myriad_page::KeepFolders;
use myriad_tls::KeepTicketKeys;

/// Takes what is to be kept, keys of tickets among it. Nothing is said of whether it was: who keeps it logs what goes wrong.
pub trait Keep: KeepTicketKeys + KeepFolders {
    /// A file, whole, to be kept over restarts.
    fn file(&self, path: &Path, bytes: &[u8]);
}

/// Who keeps it.
pub type Keeper = Arc<dyn Keep>;
