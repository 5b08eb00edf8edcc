//! Record of the state before a takeover, stored on disk for `--undo`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use myriad_cli::machine_files::{self, below};
use myriad_cli::pidfile::reason;

/// Path of the record by which a takeover is undone.
const PLACE: &str = "/var/lib/myriad/takeover.json";

/// State of the services before the takeover, and paths of nginx; stored so that `--undo` can restore them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TakeoverRecord {
    /// Name of nginx's systemd unit.
    pub(super) unit: String,
    pub(super) nginx_ran: bool,
    pub(super) nginx_was_enabled: bool,
    pub(super) myriad_was_enabled: bool,
    pub(super) program: PathBuf,
    pub(super) configuration: PathBuf,
    pub(super) prefix: PathBuf,
}

impl TakeoverRecord {
    /// Reads the record of a takeover below the folder `root`; `None` if it does not exist.
    pub(super) fn read(root: &Path) -> Result<Option<Self>, String> {
        let path = below(root, PLACE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                format!("{}: {error}; this is not a record of myriad takeover", path.display())
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {}", path.display(), reason(&error))),
        }
    }

    /// Writes the record of a takeover below the folder `root`.
    pub(super) fn write(&self, root: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        write(root, PLACE, &text)
    }

    /// Removes the record of a takeover below the folder `root`; a missing record is not an error.
    pub(super) fn forget(root: &Path) -> Result<(), String> {
        remove(root, PLACE)
    }
}

/// Writes a file at `place` below the folder `root` atomically. Missing parent folders are created.
pub(super) fn write(root: &Path, place: &str, text: &str) -> Result<(), String> {
    let written = machine_files::write(root, place, text.as_bytes(), 0o644);
    written.map_err(|error| {
        format!("{}: {}; run the command as root", below(root, place).display(), reason(&error))
    })
}

/// Removes the file at `place` below the folder `root`. A missing file is not an error.
pub(super) fn remove(root: &Path, place: &str) -> Result<(), String> {
    let removed = machine_files::remove(root, place);
    removed.map_err(|error| format!("{}: {}", below(root, place).display(), reason(&error)))
}
