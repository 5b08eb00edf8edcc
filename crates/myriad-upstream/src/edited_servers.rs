//! Changes of administrators to the servers of a group, retained over reloads.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::servers::{GroupServer, state_text};

/// Reason why an administrator's change of the servers of a group was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The group has no `zone`.
    Static,
    /// No server of the group has this identifier.
    NotFound(u64),
    /// Invalid address, with the reason.
    Address(String),
    /// The service name (`service=`) is empty.
    Service,
    /// The address is a name, but no `resolver` is configured.
    NoResolver,
    /// The `route` has more than 32 bytes or contains characters that are invalid in a cookie or in the configuration.
    Route,
    /// The balancing algorithm does not support backups.
    NoBackup,
    /// The balancing algorithm does not support `slow_start`.
    SlowStart,
    /// The change is for a peer that a server name resolved to, which cannot be changed separately, or it would alter a
    /// server name that is resolved at run time.
    Immutable(u64),
    /// The group has the maximum number of servers.
    TooMany,
    /// The `state` file cannot be written.
    State(String),
}

/// Latest servers of a group, shared by the groups of the same name in all configurations.
#[derive(Debug, Default)]
pub(crate) struct EditedServers {
    /// Lock that serializes changes of the servers.
    change_lock: Mutex<()>,
    /// Number of requests rejected because the queue was full (`queue`).
    pub(crate) overflows: AtomicU64,
    stored: Mutex<Option<StoredServers>>,
}

#[derive(Debug)]
struct StoredServers {
    /// Servers of the configuration that was in use at the change, as they were when it was loaded: its `server`
    /// directives, or the contents of its `state` file.
    configured: Vec<GroupServer>,
    /// Servers after the change, with their identifiers.
    servers: Vec<(u64, GroupServer)>,
    /// Identifier that the next added server gets.
    next_id: u64,
}

impl EditedServers {
    /// Returns the initial servers of a group with their identifiers, and the next identifier.
    ///
    /// In a group with `zone`, earlier changes are restored if the configuration is the same as at the time of the
    /// change, or if the servers of a `state` file are the same as the changed servers.
    pub(crate) fn initial_servers(
        &self,
        configured: &[GroupServer],
        has_zone: bool,
    ) -> (Vec<(u64, GroupServer)>, u64) {
        let stored = lock(&self.stored);
        if let Some(kept) = stored.as_ref().filter(|kept| has_zone && kept.matches_configured(configured)) {
            return (kept.servers.clone(), kept.next_id);
        }
        let servers: Vec<_> = (0..).zip(configured.iter().cloned()).collect();
        let next_id = servers.len() as u64;
        (servers, next_id)
    }

    /// Locks changes, so that they are applied one after another.
    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        lock(&self.change_lock)
    }

    /// Stores the servers after a change, first in the `state` file if one is given. After an error, the stored servers
    /// are unchanged.
    pub(crate) fn store(
        &self,
        configured: &[GroupServer],
        servers: &[(u64, GroupServer)],
        next_id: u64,
        state: Option<&Path>,
    ) -> Result<(), EditError> {
        if let Some(path) = state {
            let text = state_text(servers.iter().map(|(_, server)| server));
            write(path, &text).map_err(|error| EditError::State(format!("{}: {error}", path.display())))?;
        }
        let (configured, servers) = (configured.to_vec(), servers.to_vec());
        *lock(&self.stored) = Some(StoredServers { configured, servers, next_id });
        Ok(())
    }
}

impl StoredServers {
    fn matches_configured(&self, configured: &[GroupServer]) -> bool {
        self.configured == configured || self.servers.iter().map(|(_, server)| server).eq(configured)
    }
}

/// Replaces the file atomically: a reader gets either the old or the new contents.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = std::fs::File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
