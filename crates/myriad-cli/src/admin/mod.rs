//! The control socket, and the commands that use it.
//!
//! ```text
//! myriad purge, cache, cluster, memory, upstream
//!     --JSON lines--> control socket -> worker process: ControlServer, Administrator
//!                     (created by the supervisor, retained over reloads and restarts of workers)
//! ```

mod cache;
mod client;
mod cluster;
mod memory;
mod options;
mod output;
mod purge;
pub mod server;
pub mod socket;
mod upstream;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::version;
pub use cache::USAGE as CACHE_USAGE;
pub use client::RunningServer;
pub use cluster::USAGE as CLUSTER_USAGE;
pub use memory::USAGE as MEMORY_USAGE;
pub use options::{ChangeAction, CommandWords, KnownOption, too_much};
pub use output::{CommandOutput, exit_code_for};
pub use purge::USAGE as PURGE_USAGE;
pub use upstream::USAGE as UPSTREAM_USAGE;

/// Command that sends a request to a running server, selected by the first word of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminCommand {
    /// `myriad cache`.
    Cache,
    /// `myriad cluster`.
    Cluster,
    /// `myriad memory`.
    Memory,
    /// `myriad purge`.
    Purge,
    /// `myriad upstream`.
    Upstream,
}

impl AdminCommand {
    /// Returns the command with this name; `None` if there is none.
    pub fn from_name(word: &OsString) -> Option<Self> {
        match word.to_str() {
            Some("cache") => Some(Self::Cache),
            Some("cluster") => Some(Self::Cluster),
            Some("memory") => Some(Self::Memory),
            Some("purge") => Some(Self::Purge),
            Some("upstream") => Some(Self::Upstream),
            _ => None,
        }
    }

    /// Runs the command. The exit status is 0 for success and 1 for failure. It is 2 if `cache` (except `leaks --forgive`)
    /// or `upstream` found nothing, and if the node of `cluster` is not connected.
    pub fn run(self, arguments: impl Iterator<Item = OsString>) -> ExitCode {
        let ran = match self {
            Self::Cache => cache::parse(arguments).and_then(|command| {
                command.map_or_else(|| Ok(help(cache::USAGE)), |command| cache::run(&command))
            }),
            Self::Cluster => cluster::parse(arguments).and_then(|command| {
                command.map_or_else(|| Ok(help(cluster::USAGE)), |command| cluster::run(&command))
            }),
            Self::Memory => memory::parse(arguments)
                .and_then(|words| words.map_or_else(|| Ok(help(memory::USAGE)), |words| memory::run(&words))),
            Self::Purge => purge::parse(arguments).and_then(|command| {
                command.map_or_else(|| Ok(help(purge::USAGE)), |command| purge::run(&command))
            }),
            Self::Upstream => upstream::parse(arguments).and_then(|command| {
                command.map_or_else(|| Ok(help(upstream::USAGE)), |command| upstream::run(&command))
            }),
        };
        ran.unwrap_or_else(|error| {
            eprintln!("myriad: {error}");
            ExitCode::FAILURE
        })
    }
}

/// Prints the version and the `--help` text of a command to standard error, and returns exit status 0.
pub fn help(usage: &str) -> ExitCode {
    eprint!("{}\n{usage}", version::text(false));
    ExitCode::SUCCESS
}
