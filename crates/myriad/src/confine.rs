//! Least privilege: drops rights of the worker process permanently before it reads from the network.
//!
//! ```text
//! capabilities -> no new privileges -> Landlock -> system calls by list
//! ```
//!
//! Each step works without the others, and applies to all threads that are started later. If the kernel does not
//! support one of the last two steps, the server runs without it; the log lists the steps in effect.

mod capabilities;
mod landlock_rules;
mod seccomp;

use std::fmt;
use std::io;

/// Rights that the worker process has dropped, with their results for the log.
#[derive(Debug)]
pub(crate) struct DroppedRights {
    /// Names of the retained capabilities.
    capabilities: Vec<&'static str>,
    /// Result of Landlock; an error if the kernel does not support it completely.
    files: Result<(), String>,
    /// Result of the system call filter; an error if it could not be installed.
    calls: Result<(), String>,
}

/// Drops all rights that a worker does not need.
///
/// Must be called while the process has a single thread, after it has changed to its account.
///
/// # Errors
///
/// Returns an error if capabilities cannot be dropped or `no_new_privs` cannot be set; every kernel since 3.5 supports
/// both.
pub(crate) fn confine() -> io::Result<DroppedRights> {
    let capabilities = capabilities::drop_all_but_files()?;
    rustix::thread::set_no_new_privs(true)?;
    let files = landlock_rules::forbid_programs_and_devices();
    Ok(DroppedRights { capabilities, files, calls: seccomp::filter() })
}

impl fmt::Display for DroppedRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retained =
            if self.capabilities.is_empty() { "none".to_owned() } else { self.capabilities.join(", ") };
        write!(
            f,
            "no new privileges, capabilities: {retained}, Landlock: {}, system calls: {}",
            step_text(&self.files),
            step_text(&self.calls)
        )
    }
}

fn step_text(step: &Result<(), String>) -> &str {
    step.as_ref().map_or_else(String::as_str, |()| "enforced")
}
