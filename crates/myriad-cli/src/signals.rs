//! Signals for a poll loop: a handler only sets a flag and makes a descriptor readable.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::{flag, low_level::pipe};

/// Signals that a process watches.
#[derive(Debug)]
pub struct Signals {
    wake: UnixStream,
    flags: Vec<(Signal, Arc<AtomicBool>)>,
}

impl Signals {
    /// Starts to handle these signals, for the rest of the process's lifetime.
    pub fn watch(signals: &[Signal]) -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let mut flags = Vec::with_capacity(signals.len());
        for &signal in signals {
            let raised = Arc::new(AtomicBool::new(false));
            // Actions are executed in the order of registration: the flag must be set before the loop wakes up.
            flag::register(signal.as_raw(), Arc::clone(&raised))?;
            pipe::register(signal.as_raw(), waker.try_clone()?)?;
            flags.push((signal, raised));
        }
        Ok(Self { wake, flags })
    }

    /// Returns the signals received since the last call, each once, in the order of [`Signals::watch`].
    pub fn take(&self) -> Vec<Signal> {
        let mut bin = [0; 64];
        while matches!((&self.wake).read(&mut bin), Ok(read) if read > 0) {}
        let raised = self.flags.iter().filter(|(_, flag)| flag.swap(false, Ordering::SeqCst));
        raised.map(|(signal, _)| *signal).collect()
    }
}

impl AsFd for Signals {
    /// Returns a descriptor that is readable after a signal was raised.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Returns the name of a signal for log lines; `signal` for signals that the server does not handle.
pub fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::HUP => "SIGHUP",
        Signal::INT => "SIGINT",
        Signal::QUIT => "SIGQUIT",
        Signal::TERM => "SIGTERM",
        Signal::USR1 => "SIGUSR1",
        Signal::USR2 => "SIGUSR2",
        Signal::WINCH => "SIGWINCH",
        Signal::CHILD => "SIGCHLD",
        _ => "signal",
    }
}
