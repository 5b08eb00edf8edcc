//! What the worker asks of `myriad-serve`, until that crate answers: accepts, and says 200 to every request.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Mutex;
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
    kept: Mutex<Inherited>,
}

impl Site {
    pub(crate) fn start(_model: Model, inherited: Inherited) -> Result<Self, StartError> {
        serve(&inherited)?;
        Ok(Self { kept: Mutex::new(inherited) })
    }

    pub(crate) fn reload(
        &self,
        _model: Model,
        inherited: Inherited,
        drained: Drained,
    ) -> Result<(), StartError> {
        serve(&inherited)?;
        if let Ok(mut kept) = self.kept.lock() {
            *kept = inherited;
        }
        drained();
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the crate that replaces this has state")]
    pub(crate) fn quit(&self) {}

    #[expect(clippy::unused_self, reason = "the crate that replaces this has state")]
    pub(crate) fn wait(&self) {}

    pub(crate) fn reopen(&self, logs: Vec<(PathBuf, OwnedFd)>) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.logs = logs;
        }
    }
}

fn serve(inherited: &Inherited) -> Result<(), StartError> {
    let Inherited { listeners, logs: _, prefix: _ } = inherited;
    for (name, socket) in listeners {
        let socket = socket.try_clone().map_err(|error| StartError(error.to_string()))?;
        if name.starts_with("unix:") {
            let listener = UnixListener::from(socket);
            thread::spawn(move || answer(|| listener.accept().ok().map(|(stream, _)| stream)));
        } else {
            let listener = TcpListener::from(socket);
            thread::spawn(move || answer(|| listener.accept().ok().map(|(stream, _)| stream)));
        }
    }
    Ok(())
}

fn answer<S: Read + Write>(accept: impl Fn() -> Option<S>) {
    loop {
        let Some(mut stream) = accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n");
    }
}
