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

Prints a man page, as roff (default: myriad), or what a shell needs to complete
command lines. Packages have both in their places already.

  --list : the names of all pages

To read one without a package: myriad man purge | man -l -
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
            purpose: "a WordPress site without a configuration file",
            usage: site.into(),
        },
        described(
            "wordpress-status",
            "look at, reload, stop a running myriad wordpress",
            wordpress::RUNNING_USAGE,
        ),
        described("purge", "take pages out of the cache", admin::PURGE_USAGE),
        described("cache", "what is stored, and how often it is hit", admin::CACHE_USAGE),
        described("memory", "what holds the memory of a running server", admin::MEMORY_USAGE),
        described(
            "upstream",
            "servers of groups: list them, take them out, have them back",
            admin::UPSTREAM_USAGE,
        ),
        described("upgrade", "have the installed binary take the place of the running one", upgrade::USAGE),
        described("takeover", "take over from an nginx on this machine, and back", takeover::USAGE),
        described("import", "rules of Apache in the nginx language", import::USAGE),
        described("tune", "settings of PHP, database and kernel that fit the machine", tune::command::USAGE),
        described("doctor", "what is wrong with a WordPress that runs", doctor::command::USAGE),
        described("top", "what a running server does, second by second", top::USAGE),
        described("log", "what access and error logs come to", tally::command::USAGE),
        described("warm", "have pages stored before visitors come", warm::command::USAGE),
        described("man", "man pages and completions of shells", USAGE),
    ]
}

/// Name of the page of all directives.
pub(super) const DIRECTIVES: &str = "myriad.conf";
