//! Commands that have a man page, each with its usage text.

use std::borrow::Cow;

use crate::upgrade;
use myriad_cli::admin;
use myriad_cli::cli;
use myriad_cli::wordpress;

use crate::tools;

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

/// Command of `myriad` that a manual page describes.
#[derive(Clone, Debug)]
pub(super) struct DescribedCommand {
    /// Words after `myriad`, joined by `-` as in the name of the manual page; empty for the server.
    pub(super) name: &'static str,
    /// Purpose of the command, as in the NAME section of the page.
    pub(super) purpose: &'static str,
    pub(super) usage: Cow<'static, str>,
}

/// Returns all commands that have a page, in the order of `--list`.
pub(super) fn commands() -> Vec<DescribedCommand> {
    let (server, site) = cli::usage_of_server_and_site();
    let described =
        |name, purpose, usage: &'static str| DescribedCommand { name, purpose, usage: usage.into() };
    let mut commands = vec![
        described("", "web accelerator that reads the nginx configuration language", server),
        DescribedCommand {
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
        described("cluster", "show the nodes of the cluster and unconfirmed purges", admin::CLUSTER_USAGE),
        described("memory", "show the memory usage of a running server", admin::MEMORY_USAGE),
        described("upstream", "list upstream servers, disable and enable them", admin::UPSTREAM_USAGE),
        described("upgrade", "replace the running server with the installed binary", upgrade::USAGE),
    ];
    commands.extend(tools::compiled().map(|(name, tool)| described(name, tool.purpose, tool.usage)));
    commands.push(described("man", "man pages and shell completions", USAGE));
    commands
}

/// Name of the manual page that describes all directives.
pub(super) const DIRECTIVES: &str = "myriad.conf";
