//! What administrators have made of the servers of a group, kept over reloads.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::servers::{GroupServer, state_text};

/// Why the servers of a group were not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The group has no `zone`.
    Static,
    /// No server has that number.
    NotFound(u64),
    /// The address, and what is wrong with it.
    Address(String),
    /// `service` has no name.
    Service,
    /// The address is a name, and there is no `resolver`.
    NoResolver,
    /// The route is too long, or has characters that no cookie has.
    Route,
    /// How a server is chosen knows no backups.
    NoBackup,
    /// How a server is chosen knows no shares that grow.
    SlowStart,
    /// The server is one that a name stands for: the server of that name is changed or removed instead.
    Immutable(u64),
    /// The weight of the server is what a service says.
    WeightImmutable(u64),
    /// The group has as many servers as it may have.
    TooMany,
    /// The `state` file cannot be written.
    State(String),
}

/// The servers of the groups of one name, as they were changed last.
#[derive(Debug, Default)]
pub(crate) struct EditedServers {
    /// Held by whoever changes the servers of a group.
    turn: Mutex<()>,
    /// Requests that were sent away because the queue was full (`queue`).
    pub(crate) overflows: AtomicU64,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    /// What the configuration said then.
    configured: Vec<GroupServer>,
    servers: Vec<(u64, GroupServer)>,
    next_id: u64,
}

impl EditedServers {
    /// The servers that a group begins with, by their numbers, and the next number: those of before, where the configuration says the
    /// same as then, or a `state` file the same as they are.
    pub(crate) fn begin(&self, configured: &[GroupServer], has_zone: bool) -> (Vec<(u64, GroupServer)>, u64) {
        let kept = lock(&self.kept);
        if let Some(kept) = kept.as_ref().filter(|kept| has_zone && kept.is_of(configured)) {
            return (kept.servers.clone(), kept.next_id);
        }
        let servers: Vec<_> = (0..).zip(configured.iter().cloned()).collect();
        let next_id = servers.len() as u64;
        (servers, next_id)
    }

    /// One change after another.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Keeps a change, in the `state` file first.
    pub(crate) fn keep(
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
        *lock(&self.kept) = Some(Kept { configured, servers, next_id });
        Ok(())
    }
}

impl Kept {
    fn is_of(&self, configured: &[GroupServer]) -> bool {
        self.configured == configured || self.servers.iter().map(|(_, server)| server).eq(configured)
    }
}

/// Writes the file as a whole: whoever reads it finds what was there before, or what is there now.
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
