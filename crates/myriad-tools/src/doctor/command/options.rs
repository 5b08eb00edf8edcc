//! Command line of `myriad doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use myriad_cli::admin::{CommandWords, KnownOption};
use myriad_cli::web::WebTarget;

/// Text that `myriad doctor --help` prints.
pub const USAGE: &str = "\
Usage: myriad doctor [URL] [--root DIR] [--php ADDRESS] [--at HOST:PORT]
                     [--status PATH] [--all] [--json]

Checks a WordPress site that runs with Myriad: the machine, php-fpm, OPcache,
the database, and some pages as visitors receive them. Reports problems with
remedies, the most severe first. Connects only to php-fpm and to Myriad, on
this machine regardless of DNS unless --at is given, and reads files.

  URL             : URL of the site (default: the address configured in
                    WordPress, at the running `myriad wordpress`); required if
                    that server has several sites
  --root DIR      : WordPress folder (default: --root of the running server)
  --php ADDRESS   : php-fpm socket, or HOST:PORT (default: --php of the running
                    server)
  --at HOST:PORT  : address on which Myriad listens (default: 127.0.0.1 and the
                    port of the URL)
  --status PATH   : pm.status_path of php-fpm (default: /fpm-status, as written
                    by `myriad tune`)
  --all           : also print the checks that found no problem
  --json          : print all findings as one JSON object

Server selection:
  -p PREFIX       : --prefix of a `myriad wordpress` (default: its default)
  -c FILE         : configuration file of the server
  --socket PATH   : control socket of the server

Exit status: 0 if no problem was found; 1 for warnings; 2 for severe problems;
3 if some checks could not be performed and the others found no problem, or if
no server responds at the URL.
";

const OPTIONS: &[KnownOption] = &[
    ("--root", true),
    ("--php", true),
    ("--at", true),
    ("--status", true),
    ("--all", false),
    ("--json", false),
];

#[derive(Debug)]
pub(super) struct DoctorOptions {
    pub(super) words: CommandWords,
    pub(super) url: Option<WebTarget>,
    pub(super) root: Option<PathBuf>,
    pub(super) php: Option<String>,
    pub(super) at: Option<String>,
    pub(super) status: Option<String>,
    pub(super) all: bool,
    pub(super) json: bool,
}

impl DoctorOptions {
    /// Parses the words after `myriad doctor`; `None` if help is requested, an error text if a word is invalid.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let words = CommandWords::parse(arguments, OPTIONS)?;
        if words.help {
            return Ok(None);
        }
        words.at_most(1, "doctor")?;
        let url = words.plain.first().map(|url| WebTarget::parse(url)).transpose()?;
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
