//! `myriad upgrade`: replaces the running binary with the installed one, without losing a request.
//!
//! ```text
//! USR2 --> the new binary takes over the sockets --its ID is in the pid file--> QUIT to the old process
//!                     '--the new binary exits: the old pid file is restored--> error; the old process continues
//! ```

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use myriad_cli::admin::{CommandWords, KnownOption, help};
use myriad_cli::configuration::ConfigurationSource;
use myriad_cli::instance::holder_or_error;
use myriad_cli::pidfile::{self, reason};
use myriad_cli::servers;
use myriad_cli::servers::SelectedServer;
use myriad_cli::wordpress;

/// Text that `myriad upgrade --help` prints.
pub(crate) const USAGE: &str = "\
Usage: myriad upgrade [-p prefix] [-c filename] [-g directives]
       myriad upgrade --pid-file FILE

Replaces the running server with the installed binary: the new binary starts on
the same sockets, and once it accepts connections, the old process finishes its
requests in flight and exits. No request is lost. If the new binary does not
start, the old process continues to serve.

  --pid-file FILE : pid file of the server (default: from the configuration,
                    or PREFIX/myriad.pid for a running `myriad wordpress`)

Exit status: 0; 1 after an error; 3 if no server is running.
";

const OPTIONS: &[KnownOption] = &[("--pid-file", true)];

/// Maximum time for the new binary to accept connections: it reads its configuration and the file indexes of its zones.
const PATIENCE: Duration = Duration::from_mins(2);
/// Interval at which an upgrade reads the pid file of the new server.
const PAUSE: Duration = Duration::from_millis(20);
/// Exit status if no server runs, as in init scripts.
const NOT_RUNNING: u8 = 3;

/// Runs the command with the arguments after its name. The exit status is 0, [`NOT_RUNNING`] if no server runs, or 1
/// after other errors.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: upgrade: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(help(USAGE));
    }
    words.at_most(0, "upgrade")?;
    let pid_file = match words.value("--pid-file") {
        Some(path) => PathBuf::from(path),
        None => configured_pid_file(&words)?,
    };
    let Some(old) = running(&pid_file) else {
        eprintln!(
            "myriad: upgrade: no server is running with the pid file {}{}",
            pid_file.display(),
            servers::hint()
        );
        return Ok(ExitCode::from(NOT_RUNNING));
    };
    check_is_ours(old)?;
    let new = replace_server(&pid_file, old)?;
    println!("process {new} serves new requests; process {old} finishes its requests in flight and exits");
    Ok(ExitCode::SUCCESS)
}

/// Returns the pid file of the selected server. Returns an error if this binary rejects its configuration, so that the
/// server is not upgraded. The configuration of a preset is not checked.
fn configured_pid_file(words: &CommandWords) -> Result<PathBuf, String> {
    let paths = match SelectedServer::of(&words.server) {
        SelectedServer::Configuration(paths) => paths,
        SelectedServer::Preset(prefix) => return preset_pid_file(&prefix),
    };
    let directives = words.server.directives.clone().unwrap_or_default();
    let origin = ConfigurationSource { paths, directives, preset: None };
    let configuration = origin.load().map_err(|findings| {
        let texts: Vec<_> = findings.into_iter().map(|finding| finding.text).collect();
        format!(
            "the installed binary rejects the configuration; the old process continues to serve:\n{}",
            texts.join("\n")
        )
    })?;
    Ok(origin.paths.complete(configuration.model.main.pid.bytes()))
}

/// Returns the pid file of a preset. If the preset runs, the pid file must contain the ID of the process that holds the
/// lock, and the owner of that process must be the owner of the lock file: a folder of another user may contain any
/// process ID.
fn preset_pid_file(prefix: &Path) -> Result<PathBuf, String> {
    let path = wordpress::pid_file(Some(prefix));
    if let Some(holder) = holder_or_error(prefix)? {
        holder.process()?;
        if pidfile::read(&path)? != holder.pid {
            let folder = prefix.display();
            return Err(format!(
                "{} does not contain process {}, which has locked {folder}",
                path.display(),
                holder.pid
            ));
        }
    }
    Ok(path)
}

/// Returns the process ID in a pid file; `None` if the file cannot be read or is invalid, no such process runs, or this
/// user may not send signals to it.
fn running(pid_file: &Path) -> Option<Pid> {
    let pid = pidfile::read(pid_file).ok()?;
    rustix::process::test_kill_process(pid).is_ok().then_some(pid)
}

/// Returns an error unless the process runs a program with the file name of this one: an outdated pid file may contain
/// the ID of any process.
fn check_is_ours(pid: Pid) -> Result<(), String> {
    let name = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some(name.strip_suffix(" (deleted)").map(str::to_owned).unwrap_or(name))
    };
    let own = std::env::current_exe().ok().and_then(name);
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(path) if name(path.clone()) == own => Ok(()),
        Ok(path) => {
            Err(format!("process {pid} runs {}, which is not Myriad: no signal was sent", path.display()))
        }
        Err(error) => Err(format!(
            "process {pid} cannot be inspected ({}): run the command as root, or as the user who started the server",
            reason(&error)
        )),
    }
}

/// Replaces a running server by the binary that is now installed at the path of its executable. Returns the process ID
/// of the new server. Returns an error if an upgrade is in progress, or if the new server exits or takes longer than
/// [`PATIENCE`] to accept connections; the old process then continues to serve.
fn replace_server(pid_file: &Path, old: Pid) -> Result<Pid, String> {
    let aside = pid_file.with_added_extension("oldbin");
    if let Some(other) = running(&aside) {
        return Err(format!(
            "an upgrade is in progress: process {other} has not exited yet ({})",
            aside.display()
        ));
    }
    let failed = |error: rustix::io::Errno| format!("process {old}: {}", reason(&error.into()));
    let process = pidfd_open(old, PidfdFlags::empty()).map_err(failed)?;
    let before = change_time(pid_file);
    pidfd_send_signal(&process, Signal::USR2).map_err(failed)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match pidfile::read(pid_file) {
            Ok(new) if new != old => {
                pidfd_send_signal(&process, Signal::QUIT).map_err(failed)?;
                return Ok(new);
            }
            // The file was renamed and renamed back, which means that the new process has exited.
            Ok(_) if change_time(pid_file) != before => {
                return Err(format!(
                    "the new binary did not start; process {old} continues to serve: see the error log of the server for the reason"
                ));
            }
            _ if Instant::now() >= deadline => {
                let limit = PATIENCE.as_secs();
                return Err(format!(
                    "the new binary does not accept connections after {limit} s; process {old} continues to serve"
                ));
            }
            _ => sleep(PAUSE),
        }
    }
}

/// Returns the time of the last change of a file or its name, in seconds and nanoseconds; `None` if the file does not
/// exist or cannot be accessed.
fn change_time(path: &Path) -> Option<(i64, i64)> {
    let known = fs::metadata(path).ok()?;
    Some((known.ctime(), known.ctime_nsec()))
}
