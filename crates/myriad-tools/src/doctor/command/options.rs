//! Command line of `myriad doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{Known, Words};
use myriad_cli::web::Target;

/// Text of `--help`.
pub const USAGE: &str = "\
Usage: myriad doctor [URL] [--root DIR] [--php ADDRESS] [--at HOST:PORT]
                     [--status PATH] [--all] [--json]

Looks at a WordPress that runs behind Myriad: the machine, php-fpm, OPcache, the
database, and some pages as a visitor gets them. Says what is wrong and what to
do, the worst first. Asks nobody but Myriad at the URL (on this machine, whatever
the name leads to, unless --at says otherwise), php-fpm and the files.

  URL             : of the site (default: what WordPress says, at the address of
                    the `myriad wordpress` that runs); of several sites that it
                    serves by their names, the one that is meant
  --root DIR      : the folder of WordPress (default: the --root of that)
  --php ADDRESS   : php-fpm's socket, or HOST:PORT (default: the --php of that)
  --at HOST:PORT  : where Myriad listens (default: 127.0.0.1 and the URL's port)
  --status PATH   : pm.status_path of php-fpm (default: /fpm-status, as
                    `myriad tune` writes it)
  --all           : what is fine, too
  --json          : all findings as one JSON object

Which Myriad:
  -p PREFIX       : the --prefix of a `myriad wordpress` (default: the same)
  -c FILE         : the one with this configuration
  --socket PATH   : the one behind this control socket

Exit status: 0 all is fine; 1 warnings; 2 something is bad; 3 nothing of these,
but something could not be looked at, or nobody answers at the URL.
";

const OPTIONS: &[Known] = &[
    ("--root", true),
    ("--php", true),
    ("--at", true),
    ("--status", true),
    ("--all", false),
    ("--json", false),
];

#[derive(Debug)]
pub(super) struct Options {
    pub(super) words: Words,
    pub(super) url: Option<Target>,
    pub(super) root: Option<PathBuf>,
    pub(super) php: Option<String>,
    pub(super) at: Option<String>,
    pub(super) status: Option<String>,
    pub(super) all: bool,
    pub(super) json: bool,
}

impl Options {
    /// Parses the words after `myriad doctor`; `None` if help is requested.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = Words::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(1, "doctor")?;
        let url = words.plain.first().map(|url| Target::parse(url)).transpose()?;
        Ok(Some(Self {
            url: url.map(|url| url.with_path("/")),
            root: words.value("--root").map(PathBuf::from),
            php: words.value("--php"),
            at: words.value("--at"),
            status: words.value("--status"),
            all: words.has("--all"),
            json: words.has("--json"),
            words,
        }))
    }
}
