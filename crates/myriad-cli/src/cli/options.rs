//! Options of the command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::wordpress;

/// Argument of `-s`: request to the running supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalRequest {
    /// Stop immediately, without completing requests in progress.
    Stop,
    /// Stop after the requests in progress are completed.
    Quit,
    /// Open the log files again, after they were renamed.
    Reopen,
    /// Reload the configuration.
    Reload,
}

impl SignalRequest {
    /// Returns the signal that sends the request.
    pub fn signal(self) -> Signal {
        match self {
            Self::Stop => Signal::TERM,
            Self::Quit => Signal::QUIT,
            Self::Reopen => Signal::USR1,
            Self::Reload => Signal::HUP,
        }
    }
}

/// Options of the command line for the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// `-h`, `-?`, `--help`: print the usage and exit.
    pub help: bool,
    /// `-v`, `--version`: print the version and exit.
    pub version: bool,
    /// `-V`: also print the modules; implies `version`.
    pub configure: bool,
    /// `-t`: test the configuration.
    pub test: bool,
    /// `-T`: also print the configuration; implies `test`.
    pub dump: bool,
    /// `-q`: print only errors while the configuration is tested.
    pub quiet: bool,
    /// `--explain`: explain the processing of a request; implies `test`.
    pub explain: Option<ExplainRequest>,
    /// `-s`: send a signal to the running server.
    pub request: Option<SignalRequest>,
    /// `-p`, `--prefix`: prefix of the server; `None` for the default.
    pub prefix: Option<PathBuf>,
    /// `-e`: error log until the configuration names another.
    pub error_log: Option<PathBuf>,
    /// `-c`: configuration file.
    pub configuration: Option<PathBuf>,
    /// `-g`: directives of the main context.
    pub directives: Option<Vec<u8>>,
    /// `myriad certificates`: list the certificates and exit.
    pub certificates: bool,
    /// `myriad wordpress` or `myriad php`: options of the sites.
    pub wordpress: Option<wordpress::SiteOptions>,
}

/// Request that `--explain` describes. Its URL is parsed after all options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainRequest {
    /// URL, or a path; empty until `--explain` is parsed.
    pub url: String,
    /// Value of `--method`; `None` for GET.
    pub method: Option<String>,
    /// Values of `-H`, each as `Name: value`.
    pub fields: Vec<String>,
}

impl ServerOptions {
    /// Sets an option of the request: `--explain URL`, `-H "Name: value"` or `--method NAME`. Returns an error text if
    /// the value is missing, empty or not UTF-8.
    pub fn explain(&mut self, option: &OsStr, value: Option<OsString>) -> Result<(), String> {
        let value = value.and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let value =
            value.ok_or_else(|| format!("option \"{}\" requires a value", option.to_string_lossy()))?;
        let asked = self.explain.get_or_insert_default();
        match option.as_bytes() {
            b"-H" => asked.fields.push(value),
            b"--method" => asked.method = Some(value),
            _ => (asked.url, self.test) = (value, true),
        }
        Ok(())
    }
}
