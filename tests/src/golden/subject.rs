//! Server against which a golden file runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Case;
use crate::{Place, Server, binary};

/// Program that reads nginx configurations.
#[derive(Clone, Debug)]
pub struct Subject {
    program: PathBuf,
    /// Version of nginx; `None` for Myriad.
    nginx: Option<Vec<u32>>,
}

impl Subject {
    /// Returns the binary under test.
    pub fn myriad() -> Self {
        Self { program: binary().to_owned(), nginx: None }
    }

    /// Returns the nginx at this path, with the version that `-v` prints.
    pub fn nginx(program: &Path) -> Self {
        let output = Command::new(program).arg("-v").output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let version = text.rsplit('/').next().and_then(numbers);
        let version = version.unwrap_or_else(|| panic!("{} -v prints {text}", program.display()));
        Self { program: program.to_owned(), nginx: Some(version) }
    }

    /// Returns the program of `MYRIAD_GOLDEN_NGINX`, or the binary under test.
    pub fn from_environment() -> Self {
        match std::env::var_os("MYRIAD_GOLDEN_NGINX") {
            Some(program) => Self::nginx(Path::new(&program)),
            None => Self::myriad(),
        }
    }

    pub(super) fn is_nginx(&self) -> bool {
        self.nginx.is_some()
    }

    /// Returns the reason why a case does not apply to this subject; `None` if it does.
    pub(super) fn skips(&self, case: &Case) -> Option<String> {
        let version = self.nginx.as_ref()?;
        if let Some(reason) = &case.myriad_only {
            return Some(format!("Myriad only: {reason}"));
        }
        let since = case.since.as_deref()?;
        let needed = numbers(since).unwrap_or_else(|| panic!("`{since}` is not a version of nginx"));
        (*version < needed).then(|| format!("needs nginx {since}"))
    }

    /// Starts a server in a folder with a configuration.
    pub(super) fn start(&self, place: Place) -> Server {
        let command = self.command(&place);
        Server::run(place, command)
    }

    /// Runs `-t` with further arguments.
    pub(super) fn test(&self, place: &Place, arguments: &[String]) -> Output {
        let mut command = self.command(place);
        command.arg("-t").args(arguments).output().expect("the program starts")
    }

    fn command(&self, place: &Place) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-p").arg(place.folder()).args(["-c", "myriad.conf", "-e", "error.log"]);
        command
    }
}

/// Parses a version such as `1.22.1`, with or without a suffix after a space; `None` if it is invalid.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let text = text.trim().split(' ').next()?;
    text.split('.').map(|number| number.parse().ok()).collect()
}
