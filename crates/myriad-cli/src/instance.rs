//! Lock of a prefix folder, which permits only one server with a preset (`myriad wordpress`, `myriad php`) per folder.
//! The supervisor holds the lock while it runs.
//!
//! ```text
//! free   --claim-------------------------------> locked
//! locked --process exits, for any reason-------> free
//! locked --upgrade: the descriptor is passed---> locked by both --one of them exits--> locked by the other
//! ```
//! The lock file also contains the process ID, the results of reloads, and a description of the server, for commands.
//! It is not removed at exit: only the lock shows that a server runs.
//!
//! ```text
//! PROCESS-ID START-TIME-IN-SECONDS
//! reloads STARTED FINISHED
//! ! LINE          reason why the last reload was rejected, any number of lines
//! DESCRIPTION
//! ```

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::path_walk;
use crate::pidfile::reason;

/// Maximum number of attempts to take the lock, and to read the lock file. A command that tests the lock takes it for a
/// moment, and the file is empty for a moment while it is written.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);
/// Start of the line of the lock file with the numbers of started and finished reloads.
const RELOADS: &str = "reloads ";
const REFUSED: &str = "! ";
/// Description of the server in the lock file until the server handles signals.
const STARTING: &str = "starting\n";
/// Maximum number of bytes that are read from a lock file, sufficient for the description of many sites and the reasons
/// of a rejection.
const LONGEST: u64 = 1 << 20;

/// Numbers of reloads of a server, and the reason if the last one was rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadCounts {
    /// Number of reloads that were started.
    pub started: u64,
    /// Number of reloads that were completed or rejected.
    pub finished: u64,
    /// Reasons why the last reload was rejected; empty if it was accepted, or before the first reload.
    pub refused: Vec<String>,
}

impl ReloadCounts {
    /// Counts the start of a reload.
    pub fn begin(&mut self) {
        self.started += 1;
    }

    /// Records that all reloads that were started have finished. `refused` are the reasons why the last one was
    /// rejected, empty if it was accepted.
    pub fn end(&mut self, refused: Vec<String>) {
        *self = Self { started: self.started, finished: self.started, refused };
    }
}

/// Lock of a folder. It is released when it is dropped or the process exits, and, if an upgrade has passed its
/// descriptor, when this has happened in both processes.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
    since: SystemTime,
}

/// Server that has locked a prefix folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Process ID of the server.
    pub pid: Pid,
    /// Time when the server's process took over the lock: its start, or the upgrade to its binary.
    pub since: SystemTime,
    /// Description that the server wrote, in lines, without other control characters; `starting` until it handles
    /// signals.
    pub facts: String,
    /// Results of the server's reloads; `None` if its binary is too old to write them.
    pub reloads: Option<ReloadCounts>,
    /// User ID of the owner of the lock file.
    owner: u32,
}

/// Returns the path of the lock file of a prefix.
fn path(prefix: &Path) -> PathBuf {
    prefix.join("myriad.lock")
}

impl InstanceLock {
    /// Locks the folder `prefix` for this process, and writes the process ID and the time to the lock file.
    ///
    /// # Errors
    /// Returns an error text if another process holds the lock, or the lock file cannot be created or written.
    pub fn claim(prefix: &Path) -> Result<Self, String> {
        let path = path(prefix);
        let failed =
            |error: &io::Error| format!("wordpress: lock file \"{}\": {}", path.display(), reason(error));
        let open = || {
            let file = File::from(path_walk::open_for_appending(&path)?);
            // Readable only by its owner, because any user that can open the file can lock it.
            file.set_permissions(Permissions::from_mode(0o600)).map(|()| file)
        };
        let mut file = open().map_err(|error| failed(&error))?;
        for _ in 0..ATTEMPTS {
            match file.try_lock() {
                // A lock file of another user is replaced, because that user could write any process ID to it.
                Ok(()) if !is_file_of_us(&file) => {
                    fs::remove_file(&path).map_err(|error| failed(&error))?;
                    file = open().map_err(|error| failed(&error))?;
                }
                Ok(()) => {
                    let instance = Self { file, since: SystemTime::now() };
                    instance
                        .write_state(&ReloadCounts::default(), STARTING)
                        .map_err(|error| failed(&error))?;
                    return Ok(instance);
                }
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        let holder_pid = holder(prefix).ok().flatten().map(|holder| holder.pid.as_raw_nonzero());
        let holder_text =
            holder_pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        let folder = prefix.display();
        Err(format!(
            "wordpress: {folder} is in use by {holder_text}: stop it with `myriad wordpress stop --prefix {folder}`, or choose \
                 another folder with --prefix"
        ))
    }

    /// Takes over the lock from the previous supervisor, which has passed its descriptor.
    pub fn inherit(lock: OwnedFd) -> Self {
        Self { file: lock.into(), since: SystemTime::now() }
    }

    /// Writes the process ID, the start time, the results of reloads, and the description `told` (lines of text) to the
    /// lock file. Replaces the previous contents.
    pub fn write_state(&self, reloads: &ReloadCounts, told: &str) -> io::Result<()> {
        let since_s = self.since.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let ReloadCounts { started: begun, finished: ended, refused } = reloads;
        let mut text = format!("{} {since_s}\n{RELOADS}{begun} {ended}\n", std::process::id());
        for line in refused.iter().flat_map(|lines| lines.lines()) {
            text.extend([REFUSED, line, "\n"]);
        }
        text.push_str(told);
        self.file.set_len(0)?;
        (&self.file).write_all(text.as_bytes())
    }
}

impl AsFd for InstanceLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the server that has locked a folder; `None` if the folder is not locked.
///
/// # Errors
/// Returns an error if the lock file cannot be read or is not a regular file, or if it contains no valid process ID and
/// time, for example because the server has not written them yet.
pub fn holder(prefix: &Path) -> io::Result<Option<LockHolder>> {
    // Links are not followed, and opening does not block: root may check the folder of another user, who could have put
    // a link or a pipe there.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = match File::options().read(true).custom_flags(flags).open(path(prefix)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other("the lock file is not a regular file"));
    }
    match file.try_lock_shared() {
        Ok(()) => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(PAUSE);
        }
        // The file is empty for a moment while it is written.
        let mut text = String::new();
        file.rewind()?;
        (&mut file).take(LONGEST).read_to_string(&mut text)?;
        if let Some(holder) = LockHolder::read(&text, known.uid()) {
            return Ok(Some(holder));
        }
    }
    Err(io::Error::other("the process that holds the lock has not written a valid process ID"))
}

/// Returns the server that has locked a folder; `None` if the folder is not locked. Returns an error text with a remedy
/// for the user of a command.
pub fn holder_or_error(prefix: &Path) -> Result<Option<LockHolder>, String> {
    holder(prefix).map_err(|error| {
        let path = path(prefix);
        let advice = if error.kind() == io::ErrorKind::PermissionDenied {
            ": run the command as root, or as the user who started the server"
        } else {
            ""
        };
        format!("\"{}\": {}{advice}", path.display(), reason(&error))
    })
}

impl LockHolder {
    /// Parses the text that [`InstanceLock::write_state`] wrote; `None` if the text is incomplete or invalid.
    fn read(text: &str, owner: u32) -> Option<Self> {
        let (first, mut told) = text.split_once('\n')?;
        let (pid, since_s) = first.split_once(' ')?;
        let counts = told.strip_prefix(RELOADS).and_then(|rest| rest.split_once('\n'));
        let mut reloads = None;
        if let Some((counts, rest)) = counts {
            let (begun, ended) = counts.split_once(' ')?;
            reloads = Some((begun.parse().ok()?, ended.parse().ok()?));
            told = rest;
        }
        let pid = pid.parse().ok().filter(|&pid: &i32| pid > 0).and_then(Pid::from_raw)?;
        let since = UNIX_EPOCH.checked_add(Duration::from_secs(since_s.parse().ok()?))?;
        // Control characters are removed, because the text is printed to a terminal.
        let shown =
            |text: &str| text.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
        let mut refused = Vec::new();
        while let Some((line, rest)) = told.strip_prefix(REFUSED).and_then(|rest| rest.split_once('\n')) {
            refused.push(shown(line));
            told = rest;
        }
        let reloads = reloads.map(|(begun, ended)| ReloadCounts { started: begun, finished: ended, refused });
        Some(Self { pid, since, facts: shown(told), reloads, owner })
    }

    /// Sends a signal to the server. Returns a descriptor of its process, by which its exit can be awaited.
    ///
    /// # Errors
    /// Returns the errors of [`LockHolder::process`]. Also returns an error if this process lacks permission, or if the
    /// signal is `HUP` or `USR1` and the server is still starting, because the signal would terminate it.
    pub fn signal(&self, signal: Signal) -> Result<OwnedFd, String> {
        if self.facts == STARTING && matches!(signal, Signal::HUP | Signal::USR1) {
            return Err(format!("process {} is still starting: try again in a moment", self.pid));
        }
        let process = self.process()?;
        pidfd_send_signal(&process, signal).map_err(|error| {
            let advice = if error == rustix::io::Errno::PERM {
                ": run the command as root, or as the user who started the server"
            } else {
                ""
            };
            format!("kill({}) failed ({}){advice}", self.pid, reason(&error.into()))
        })?;
        Ok(process)
    }

    /// Returns a descriptor of the process, which stays valid if its ID is reused by another process.
    ///
    /// # Errors
    /// Returns an error if the process has exited, or if its owner is not that of the lock file: otherwise a user who
    /// can write to the folder could make root terminate any process.
    pub fn process(&self) -> Result<OwnedFd, String> {
        let pid = self.pid;
        let failed = |error: io::Error| format!("process {pid}: {}", reason(&error));
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
        let owner = owner_of(pid).map_err(failed)?;
        if owner == self.owner {
            return Ok(process);
        }
        Err(format!(
            "the lock file belongs to user {}, but process {pid}, which it names, to user {owner}: no signal was sent",
            self.owner
        ))
    }
}

/// Returns whether a file belongs to root or to the user of this process.
fn is_file_of_us(file: &File) -> bool {
    file.metadata().is_ok_and(|known| path_walk::is_ours(known.uid()))
}

/// Returns the real user ID of a process.
fn owner_of(pid: Pid) -> io::Result<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let owner =
        status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next()?.parse().ok());
    owner.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct InstanceFolder(PathBuf);

    impl InstanceFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("myriad-instance-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).expect("folder");
            Self(path)
        }
    }

    impl Drop for InstanceFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn folder_has_one_holder_and_what_is_left_of_an_earlier_one_is_no_obstacle() {
        let folder = InstanceFolder::new("claim");
        assert_eq!(holder(&folder.0).expect("nobody"), None);
        std::fs::write(path(&folder.0), "1\nleft over\n").expect("a file");
        assert_eq!(holder(&folder.0).expect("nobody"), None, "a file without a lock has no holder");
        let first = InstanceLock::claim(&folder.0).expect("free");
        let mode = std::fs::metadata(path(&folder.0)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "other users cannot lock the file");
        first.write_state(&ReloadCounts::default(), "serves  /a\n").expect("told");
        let own = std::process::id().to_string();
        let refused = InstanceLock::claim(&folder.0).expect_err("held");
        assert!(refused.contains(&format!("in use by process {own}")), "{refused}");
        let known = holder(&folder.0).expect("read").expect("somebody");
        assert_eq!((known.pid.to_string(), known.facts.as_str()), (own, "serves  /a\n"));
        let mut reloads = ReloadCounts::default();
        reloads.begin();
        reloads.end(vec!["unknown directive\n  --> a:1".to_owned(), "b".to_owned()]);
        first.write_state(&reloads, "serves  /b\n").expect("told");
        let known = holder(&folder.0).expect("read").expect("somebody");
        let refused = ["unknown directive", "  --> a:1", "b"].map(str::to_owned).to_vec();
        assert_eq!(known.reloads, Some(ReloadCounts { started: 1, finished: 1, refused }));
        assert_eq!(known.facts, "serves  /b\n");

        // Passed to a successor, as in an upgrade.
        let successor = InstanceLock::inherit(first.as_fd().try_clone_to_owned().expect("a copy"));
        drop(first);
        assert!(InstanceLock::claim(&folder.0).is_err());
        drop(successor);
        assert_eq!(holder(&folder.0).expect("nobody"), None);
        InstanceLock::claim(&folder.0).expect("the lock is free again");
    }

    /// Creates a lock file with this text in a folder of another user, who owns it; `None` unless the tests run as
    /// root.
    fn theirs(name: &str, text: &str) -> Option<(InstanceFolder, File)> {
        const OTHER: u32 = 54_321;
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can create files of another user");
            return None;
        }
        let folder = InstanceFolder::new(name);
        std::fs::write(path(&folder.0), text).expect("a lock");
        for path in [&folder.0, &path(&folder.0)] {
            std::os::unix::fs::chown(path, Some(OTHER), Some(OTHER)).expect("chown");
        }
        let lock = File::options().append(true).open(path(&folder.0)).expect("a lock");
        lock.lock().expect("locked");
        Some((folder, lock))
    }

    #[test]
    fn lock_of_somebody_else_names_no_process_of_ours() {
        let text = format!("{} 0\nserves \u{1b}[31m\u{9b}x\n", std::process::id());
        let Some((folder, lock)) = theirs("theirs", &text) else { return };
        let known = holder(&folder.0).expect("read").expect("somebody");
        assert_eq!(known.facts, "serves [31mx\n", "control characters are removed");
        assert_eq!(known.reloads, None, "an earlier binary writes no reload counts");
        let error = known.process().expect_err("the file names a process that does not hold the lock");
        assert!(error.contains("to user 54321, but process"), "{error}");
        drop(lock);
        let own = InstanceLock::claim(&folder.0).expect("free");
        own.write_state(&ReloadCounts::default(), "serves\n").expect("told");
        let owner = std::fs::metadata(path(&folder.0)).expect("a lock").uid();
        assert_eq!(owner, 0, "the file of the other user was replaced");
        holder(&folder.0).expect("read").expect("somebody").process().expect("this process holds the lock");
    }

    #[test]
    fn pipe_or_symlink_as_lock_file_fails_without_blocking() {
        let folder = InstanceFolder::new("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path(&folder.0), kind, 0o600.into(), 0).expect("a pipe");
        assert!(holder(&folder.0).expect_err("a pipe").to_string().contains("not a regular file"));
        std::fs::remove_file(path(&folder.0)).expect("remove");
        std::os::unix::fs::symlink("/etc/passwd", path(&folder.0)).expect("a link");
        assert!(holder(&folder.0).is_err(), "a symbolic link is not followed");
    }
}
