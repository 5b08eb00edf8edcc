//! Commands that have a man page, each with its usage text.

use std::borrow::Cow;

use myriad_cli::admin;
use myriad_cli::cli;
use myriad_cli::upgrade;
use myriad_cli::wordpress;
use myriad_tools::doctor;
use myriad_tools::import;
use myriad_tools::takeover;
use myriad_tools::tally;
use myriad_tools::top;
use myriad_tools::tune;
use myriad_tools::warm;

/// Usage of `myriad man` and `myriad completions`.
pub(super) const USAGE: &str = "\
Usage: myriad man [PAGE]
       myriad man --list
       myriad completions bash|zsh|fish

Prints a man page as roff (default: myriad), or a shell completion script.
Packages install both.

  --list : print the names of all pages

To read a page without a package: myriad man purge | man -l -
";

/// Command of the command line.
#[derive(Clone, Debug)]
pub(super) struct Described {
    /// Words after `myriad`, joined by `-` in the name of its page; empty for the server.
    pub(super) name: &'static str,
    /// Purpose, as in the NAME section of the page.
    pub(super) purpose: &'static str,
    pub(super) usage: Cow<'static, str>,
}

/// Returns all commands that have a page, in the order of `--list`.
pub(super) fn commands() -> Vec<Described> {
    let (server, site) = cli::usage_of_server_and_site();
    let described = |name, purpose, usage: &'static str| Described { name, purpose, usage: usage.into() };
    vec![
        described("", "web accelerator that reads the nginx configuration language", server),
        Described {
            name: "wordpress",
            purpose: "serve a WordPress site without a configuration file",
            usage: site.into(),
        },
        described(
            "wordpress-status",
            "show, reload or stop a running myriad wordpress",
            wordpress::RUNNING_USAGE,
        ),
        described("purge", "purge pages from the cache", admin::PURGE_USAGE),
        described("cache", "list cached pages and their hits", admin::CACHE_USAGE),
        described("memory", "show the memory usage of a running server", admin::MEMORY_USAGE),
        described("upstream", "list upstream servers, disable and enable them", admin::UPSTREAM_USAGE),
        described("upgrade", "replace the running server with the installed binary", upgrade::USAGE),
        described("takeover", "take over from an nginx on this machine, and revert", takeover::USAGE),
        described("import", "translate Apache rules to the nginx language", import::USAGE),
        described("tune", "tune PHP, database and kernel settings for the machine", tune::command::USAGE),
        described("doctor", "diagnose a running WordPress site", doctor::command::USAGE),
        described("top", "show the live activity of a running server", top::USAGE),
        described("log", "summarize access and error logs", tally::command::USAGE),
        described("warm", "fetch pages into the cache before visitors request them", warm::command::USAGE),
        described("man", "man pages and shell completions", USAGE),
    ]
}

/// Name of the page of all directives.
pub(super) const DIRECTIVES: &str = "myriad.conf";
