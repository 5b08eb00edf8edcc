//! Options of the command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::wordpress;

/// Request of `-s` to the running supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalRequest {
    /// Fast shutdown.
    Stop,
    /// Graceful shutdown.
    Quit,
    /// Reopen log files.
    Reopen,
    /// Load the configuration again.
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

/// Options of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// `-h`, `-?`, `--help`.
    pub help: bool,
    /// `-v`, `--version`.
    pub version: bool,
    /// `-V`; implies `version`.
    pub configure: bool,
    /// `-t`.
    pub test: bool,
    /// `-T`; implies `test`.
    pub dump: bool,
    /// `-q`.
    pub quiet: bool,
    /// `--explain`; implies `test`.
    pub explain: Option<ExplainRequest>,
    /// `-s`.
    pub request: Option<SignalRequest>,
    /// `-p`, `--prefix`.
    pub prefix: Option<PathBuf>,
    /// `-e`.
    pub error_log: Option<PathBuf>,
    /// `-c`.
    pub configuration: Option<PathBuf>,
    /// `-g`: directives of the main context.
    pub directives: Option<Vec<u8>>,
    /// `myriad certificates …`: list them and exit.
    pub certificates: bool,
    /// `myriad wordpress …`.
    pub wordpress: Option<wordpress::SiteOptions>,
}

/// Request that `--explain` explains; its URL is parsed when all options are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainRequest {
    /// URL, or path on the first server.
    pub url: String,
    /// Value of `--method`.
    pub method: Option<String>,
    /// Values of `-H`, each as `Name: value`.
    pub fields: Vec<String>,
}

impl ServerOptions {
    /// Reads `--explain URL`, `-H "Name: value"` and `--method NAME`.
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
