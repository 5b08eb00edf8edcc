//! Standard descriptors: standard input passes the channel to a re-executed process, and a daemon detaches all three
//! from the terminal.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Returns the descriptor of standard input and replaces it with `/dev/null`.
pub(crate) fn take_stdin() -> io::Result<OwnedFd> {
    let taken = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(null()?)?;
    Ok(taken)
}

/// Detaches from the terminal: standard input and output become `/dev/null`, standard error becomes `log` if it is
/// given.
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
