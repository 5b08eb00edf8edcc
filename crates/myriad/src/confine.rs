//! Least privilege: what the worker process gives up for good before it reads a byte of the network.
//!
//! ```text
//! capabilities -> no new privileges -> Landlock -> system calls by list
//! ```
//!
//! Each step holds whatever the others do, and binds all threads that are started later. A kernel without one of them serves all the
//! same: the notice in the log names what holds.

mod calls;
mod capabilities;
mod files;

use std::fmt;
use std::io;

/// What has been given up, for the log.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Names of the capabilities that are kept.
    capabilities: Vec<&'static str>,
    /// Why there is no rule set of files, or which part of it the kernel does not know.
    files: Result<(), String>,
    /// Why system calls are not filtered.
    calls: Result<(), String>,
}

/// Gives up what a worker has no use for. To be called while the process has one thread, after it has become its account.
///
/// # Errors
///
/// Capabilities that cannot be dropped, or new privileges that cannot be forbidden: every kernel since 3.5 can.
pub(crate) fn confine() -> io::Result<Confined> {
    let capabilities = capabilities::drop_all_but_files()?;
    rustix::thread::set_no_new_privs(true)?;
    let files = files::forbid_programs_and_devices();
    Ok(Confined { capabilities, files, calls: calls::filter() })
}

impl fmt::Display for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept =
            if self.capabilities.is_empty() { "none".to_owned() } else { self.capabilities.join(", ") };
        write!(
            f,
            "no new privileges, capabilities: {kept}, Landlock: {}, system calls: {}",
            held(&self.files),
            held(&self.calls)
        )
    }
}

fn held(step: &Result<(), String>) -> &str {
    step.as_ref().map_or_else(String::as_str, |()| "held")
}
