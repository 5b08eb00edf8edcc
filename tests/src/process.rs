//! Processes by their ids.

use std::fs;
use std::io;
use std::process::Command;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process, kill_process_group};

/// Sends a signal to a process; a missing process is not an error.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to the process group of this leader.
pub(crate) fn signal_group(leader: u32, signal: Signal) {
    if let Some(leader) = Pid::from_raw(leader.cast_signed()) {
        let _ = kill_process_group(leader, signal);
    }
}

/// Returns whether a process is alive; a zombie is not.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(lives, _)| lives)
}

/// Returns the living children of a process.
pub fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("/proc");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| stat(pid).is_some_and(|(lives, of)| of == parent && lives)).collect()
}

/// Returns whether a process is alive, and its parent; `None` if there is no such process. If the main thread is a
/// zombie but other threads still run, the process still has its sockets and counts as alive (proc(5): `state`, `ppid`,
/// `num_threads`).
fn stat(pid: u32) -> Option<(bool, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = text.rsplit_once(") ")?.1.split(' ').collect();
    let lives = *fields.first()? != "Z" || fields.get(17)?.parse::<u32>().ok()? > 1;
    Some((lives, fields.get(1)?.parse().ok()?))
}

/// Returns whether the tests run as root, so that servers drop privileges.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the message for a missing program.
pub(crate) fn missing(program: &str, error: &io::Error) -> String {
    format!("{program} does not start ({error}); its packages come with: scripts/install-packages test")
}

/// Runs a command and requires success; a failure shows its output.
pub(crate) fn run(command: &mut Command, what: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{}", missing(what, &error)));
    assert!(
        output.status.success(),
        "{what} failed (if something is missing: scripts/install-packages test)\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
