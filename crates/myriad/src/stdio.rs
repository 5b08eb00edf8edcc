//! Standard descriptors: how a re-executed process receives its channel, and how a daemon leaves the terminal.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Takes the descriptor of standard input and puts `/dev/null` in its place.
pub(crate) fn take_stdin() -> io::Result<OwnedFd> {
    let taken = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(null()?)?;
    Ok(taken)
}

/// Leaves the terminal: standard input and output become `/dev/null`, standard error becomes `log` if there is one.
pub(crate) fn leave_terminal(log: Option<&OwnedFd>) -> io::Result<()> {
    rustix::stdio::dup2_stdin(null()?)?;
    rustix::stdio::dup2_stdout(null()?)?;
    if let Some(log) = log {
        rustix::stdio::dup2_stderr(log)?;
    }
    Ok(())
}

fn null() -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(true).write(true).open("/dev/null")?.into())
}
