//! Command line of `myriad top`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{Known, Words};
use myriad_cli::cli;

/// Text of `--help`.
pub const USAGE: &str = "\
Usage: myriad top [--once]

Shows what a running server does, second by second: requests by what the cache
did, time to first byte, origins and PHP, zones, pages, misses with the reason,
purges. Over ssh: ssh -t HOST myriad top

  --once          : one snapshot as plain text, for scripts

Keys: 1 to 5 or Tab choose a view, p pauses, ? helps, q ends.

Which server:
  -c FILE         : the one with this configuration (default: what runs)
  -p PREFIX       : the prefix; of a `myriad wordpress`, its --prefix
  --socket PATH   : the one behind this control socket

Exit status: 0; 1 after an error.
";

const OPTIONS: &[Known] = &[("--once", false)];

/// Options of the command.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) server: cli::Options,
    pub(super) socket: Option<PathBuf>,
    pub(super) once: bool,
}

impl Options {
    /// Parses the words after `myriad top`; `None` if help is requested.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = Words::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(0, "top")?;
        Ok(Some(Self { once: words.has("--once"), socket: words.socket, server: words.server }))
    }
}
