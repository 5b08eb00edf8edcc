//! Command line of `myriad top`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::cli;

/// Text that `myriad top --help` prints.
pub const USAGE: &str = "\
Usage: myriad top [--once]

Shows the activity of a running server, updated every second: requests by cache
result, time to first byte, origins and PHP, cache zones, pages, cache misses
with the reason, purges. Over ssh: ssh -t HOST myriad top

  --once          : print one snapshot as plain text, for scripts

Keys: 1 to 5 or Tab select a view, p pauses, ? shows help, q quits.

Server selection:
  -c FILE         : configuration file of the server (default: the running
                    server)
  -p PREFIX       : prefix of the server; for a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0 on success; 1 on errors.
";

const OPTIONS: &[KnownOption] = &[("--once", false)];

/// Options of the command `myriad top`.
#[derive(Debug)]
pub(super) struct TopOptions {
    pub(super) server: cli::ServerOptions,
    pub(super) socket: Option<PathBuf>,
    pub(super) once: bool,
}

impl TopOptions {
    /// Parses the words after `myriad top`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(0, "top")?;
        Ok(Some(Self { once: words.has("--once"), socket: words.socket, server: words.server }))
    }
}
