//! Options of the command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::wordpress;

/// Request of `-s` to the running supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Stop,
    Quit,
    Reopen,
    Reload,
}

impl Request {
    /// Returns the signal that sends the request.
    pub(crate) fn signal(self) -> Signal {
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
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) version: bool,
    /// `-V`; implies `version`.
    pub(crate) configure: bool,
    pub(crate) test: bool,
    /// `-T`; implies `test`.
    pub(crate) dump: bool,
    pub(crate) quiet: bool,
    /// `--explain`; implies `test`.
    pub(crate) explain: Option<Asked>,
    pub(crate) request: Option<Request>,
    pub(crate) prefix: Option<PathBuf>,
    pub(crate) error_log: Option<PathBuf>,
    pub(crate) configuration: Option<PathBuf>,
    pub(crate) directives: Option<Vec<u8>>,
    /// `myriad certificates …`: list them and exit.
    pub(crate) certificates: bool,
    /// `myriad wordpress …`.
    pub(crate) wordpress: Option<wordpress::Options>,
}

/// Request that `--explain` explains; its URL is parsed when all options are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// URL, or path on the first server.
    pub(crate) url: String,
    /// Value of `--method`.
    pub(crate) method: Option<String>,
    /// Values of `-H`, each as `Name: value`.
    pub(crate) fields: Vec<String>,
}

impl Options {
    /// Reads `--explain URL`, `-H "Name: value"` and `--method NAME`.
    pub(crate) fn explain(&mut self, option: &OsStr, value: Option<OsString>) -> Result<(), String> {
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
