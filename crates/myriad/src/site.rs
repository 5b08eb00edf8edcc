//! What the worker asks of `myriad-serve`, until that crate answers: accepts, and says 200 to every request.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use myriad_conf::{Diagnostic, Model};

/// What the supervisor opened for the worker.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// Listening sockets under the address as [`crate::listeners::name`] prints it; several of one name with `reuseport`.
    pub(crate) listeners: Vec<(String, OwnedFd)>,
    /// Log files under their absolute paths.
    pub(crate) logs: Vec<(PathBuf, OwnedFd)>,
    /// What relative paths start from.
    #[expect(dead_code, reason = "for the crate that replaces this")]
    pub(crate) prefix: PathBuf,
}

/// Why a configuration could not be run.
#[derive(Debug)]
pub(crate) struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Called when the last connection of a configuration that was replaced has ended.
pub(crate) type Drained = Box<dyn FnOnce() + Send>;

/// Compiles what the model left as text (patterns, templates), for `-t` and before a reload.
#[expect(clippy::unnecessary_wraps, reason = "the crate that replaces this finds errors")]
pub(crate) fn check(_model: &Model) -> Result<(), Vec<Diagnostic>> {
    Ok(())
}

/// A running site.
#[derive(Debug)]
pub(crate) struct Site {
    running: Mutex<Running>,
}

/// What one configuration holds; its threads end once `retired` is set.
#[derive(Debug)]
struct Running {
    inherited: Inherited,
    retired: Arc<AtomicBool>,
}

impl Site {
    /// Returns when every socket is accepted from.
    pub(crate) fn start(_model: Model, inherited: Inherited) -> Result<Self, StartError> {
        Ok(Self { running: Mutex::new(Running::start(inherited)?) })
    }

    /// Swaps the configuration; connections under way end as they began.
    pub(crate) fn reload(
        &self,
        _model: Model,
        inherited: Inherited,
        drained: Drained,
    ) -> Result<(), StartError> {
        let next = Running::start(inherited)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retired.store(true, Ordering::Release);
        *running = next;
        drained();
        Ok(())
    }

    /// Stops accepting.
    pub(crate) fn quit(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retired.store(true, Ordering::Release);
    }

    /// Returns when the last exchange has ended.
    pub(crate) fn wait(&self) {
        drop(self.running.lock());
    }

    /// Writes to these from now on.
    pub(crate) fn reopen(&self, logs: Vec<(PathBuf, OwnedFd)>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.inherited.logs = logs;
    }
}

impl Running {
    fn start(inherited: Inherited) -> Result<Self, StartError> {
        let retired = Arc::new(AtomicBool::new(false));
        for (name, socket) in &inherited.listeners {
            let socket = socket.try_clone().map_err(|error| StartError(error.to_string()))?;
            let retired = Arc::clone(&retired);
            if name.starts_with("unix:") {
                let listener = UnixListener::from(socket);
                thread::spawn(move || answer(&retired, || Some(listener.accept().ok()?.0)));
            } else {
                let listener = TcpListener::from(socket);
                thread::spawn(move || answer(&retired, || Some(listener.accept().ok()?.0)));
            }
        }
        Ok(Self { inherited, retired })
    }
}

fn answer<S: Read + Write>(retired: &AtomicBool, accept: impl Fn() -> Option<S>) {
    while !retired.load(Ordering::Acquire) {
        let Some(mut stream) = accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n");
    }
}
