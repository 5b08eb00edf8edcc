//! Client of the control socket of a running server.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use myriad_admin::protocol::{AdminReply, AdminRequest, ReplyEnd};

use super::socket;
use crate::accounts;
use crate::cli;
use crate::configuration::{self, ConfigurationSource};
use crate::pidfile::reason;
use crate::servers;
use crate::servers::SelectedServer;
use crate::wordpress;

/// Maximum time between two parts of a response. A purge may wait until all pages have been checked.
const SILENCE: Duration = Duration::from_mins(5);
/// Maximum time between two parts of a response with statistics or memory usage, which is available immediately.
const SILENCE_OF_FIGURES: Duration = Duration::from_secs(10);
/// Maximum length of a line of a response, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// Running server that a command line selects, with its control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningServer {
    socket: PathBuf,
    /// Description of the server for error messages.
    description: String,
}

impl RunningServer {
    /// Finds the control socket: `named` (the argument of `--socket`), otherwise that of the server that
    /// [`SelectedServer`] selects. Returns an error text if it cannot be determined.
    pub fn find(server: &cli::ServerOptions, named: Option<&Path>) -> Result<Self, String> {
        if let Some(path) = named {
            let socket = std::path::absolute(path).map_err(|error| error.to_string())?;
            return Ok(Self { description: format!("with the control socket {}", socket.display()), socket });
        }
        let paths = match SelectedServer::of(server) {
            SelectedServer::Configuration(paths) => paths,
            SelectedServer::Preset(prefix) => {
                let socket = socket::path_for_pid_file(&wordpress::pid_file(Some(&prefix)));
                return Ok(Self { description: format!("at {}", prefix.display()), socket });
            }
        };
        let directives = server.directives.clone().unwrap_or_default();
        let origin = ConfigurationSource { paths, directives, preset: None };
        let model = configuration::read_main(&origin).map_err(configuration::errors_of)?;
        let file = origin.paths.configuration.display();
        match socket::path(&model, &origin.paths) {
            Some((socket, _)) => Ok(Self { socket, description: format!("for the configuration {file}") }),
            None => Err(format!("{file} contains \"control_socket off\": the server has no control socket")),
        }
    }

    /// Returns the server that has its control socket at the default path next to the pid file `pid_file`. Does not
    /// check that it runs.
    pub fn next_to_pid_file(pid_file: &Path) -> Self {
        let socket = socket::path_for_pid_file(pid_file);
        Self { description: format!("with the control socket {}", socket.display()), socket }
    }

    /// Connects to the control socket. Returns an error text with a remedy if that fails.
    pub fn connect(&self) -> Result<UnixStream, String> {
        socket::connect_to_path(&self.socket).map_err(|error| self.connection_error(&error))
    }

    /// Sends a request and passes each report of the response to `tell`, until `tell` returns `false` or the response
    /// is complete. Returns the last line of the response; `None` if `tell` returned `false`. Returns an error text if
    /// the connection fails, the server or `tell` returns an error, the response is invalid or incomplete, or its next
    /// part does not arrive within 5 minutes (10 s for statistics and memory usage).
    pub fn send_request(
        &self,
        request: &AdminRequest,
        mut tell: impl FnMut(AdminReply) -> Result<bool, String>,
    ) -> Result<Option<ReplyEnd>, String> {
        let mut stream = self.connect()?;
        let failed = |error: &io::Error| format!("{}: {}", self.socket.display(), reason(error));
        let silence = match request {
            AdminRequest::Stats(_) | AdminRequest::Memory(_) => SILENCE_OF_FIGURES,
            _ => SILENCE,
        };
        stream.set_read_timeout(Some(silence)).map_err(|error| failed(&error))?;
        // Errors of sending are ignored: a server that rejects the client may close the connection before it has read
        // the request, but its response contains the reason.
        let sent = stream.write_all(request.line().as_bytes());
        let mut lines = BufReader::with_capacity(64 << 10, stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line);
            match read {
                Ok(0) => {
                    let why = sent.err().map(|error| format!(" ({})", reason(&error))).unwrap_or_default();
                    return Err(format!(
                        "the server closed the connection before the response was complete{why}"
                    ));
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(format!("no response from the server within {} s", silence.as_secs()));
                }
                Err(error) => return Err(failed(&error)),
            }
            match AdminReply::parse(&line).map_err(|error| format!("invalid response: {error}"))? {
                AdminReply::End(end) => return Ok(Some(end)),
                AdminReply::Error(error) => return Err(error),
                reply => {
                    if !tell(reply)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn connection_error(&self, error: &io::Error) -> String {
        let path = self.socket.display();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory => format!(
                "no Myriad server is running {}: connect() to \"{path}\" failed ({}); select another server with -c FILE, \
                     --prefix DIR or --socket PATH{}",
                self.description,
                reason(error),
                servers::hint()
            ),
            ErrorKind::PermissionDenied => {
                let owner = std::fs::metadata(&self.socket).ok().map(|file| file.uid());
                let owner = owner.map(|uid| accounts::name_of(uid).unwrap_or_else(|| format!("user {uid}")));
                let owner_advice = owner.filter(|owner| owner != "root").map(|owner| format!(" or {owner}"));
                format!(
                    "\"{path}\": permission denied: run the command as root{}",
                    owner_advice.unwrap_or_default()
                )
            }
            _ => format!("connect() to \"{path}\" failed ({})", reason(error)),
        }
    }
}
