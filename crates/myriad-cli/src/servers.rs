//! Running Myriad servers on this machine, found by the command lines of their processes.
//!
//! A command line is not trusted: a process of the user counts only if the lock of its prefix, or the pid file of its
//! configuration, contains its process ID. Of processes of other users, only the command line is read, because it could
//! name a file that blocks its reader.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::accounts;
use crate::cli;
use crate::configuration::{self, ConfigurationSource};
use crate::instance::holder;
use crate::paths::ServerPaths;
use crate::pidfile;
use crate::wordpress;

/// Server that a command applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedServer {
    /// Server of a configuration file.
    Configuration(ServerPaths),
    /// Server of a preset, by its prefix.
    Preset(PathBuf),
}

/// Running Myriad server, found by the command line of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProcess {
    pid: u32,
    /// User ID of the owner of the process.
    owner: u32,
    /// Prefix or configuration file, by which the server is selected.
    pub named: SelectedServer,
    /// Command-line option, with its value, that selects the server.
    option: String,
}

/// Returns the running servers other than this process, ordered by process ID. Servers of other users are included if
/// `/proc` shows them, but their command lines are not verified.
pub fn running() -> Vec<RunningProcess> {
    let own = fs::read("/proc/self/comm").unwrap_or_default();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut servers: Vec<RunningProcess> = processes
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == own))
        .filter_map(server_of)
        .collect();
    servers.sort_by_key(|server| server.pid);
    servers
}

/// Returns the server of the current user, if exactly one runs. Root does not use servers of other users, whose control
/// sockets could send any response.
pub fn only_own() -> Option<SelectedServer> {
    let uid = rustix::process::geteuid().as_raw();
    let mut own = running().into_iter().filter(|server| server.owner == uid);
    let only = own.next()?;
    own.next().is_none().then_some(only.named)
}

/// Returns a text to append to an error: a list of the running servers, each with the option that selects it, or the
/// statement that none is running.
pub fn hint() -> String {
    let servers = running();
    if servers.is_empty() {
        return "; no Myriad server is running on this machine".to_owned();
    }
    let uid = rustix::process::geteuid().as_raw();
    let lines = servers.iter().map(|server| {
        let owner = (server.owner != uid)
            .then(|| accounts::name_of(server.owner).unwrap_or_else(|| server.owner.to_string()));
        let owner = owner.map(|owner| format!(", of {owner}")).unwrap_or_default();
        format!("\n  {}    (process {}{owner})", server.option, server.pid)
    });
    format!("; running servers:{}", lines.collect::<String>())
}

/// Returns the server that a process runs, by its command line. Returns `None` if it is not a server, or if the current
/// user owns the process but the lock or pid file of the server does not contain its ID.
fn server_of(pid: u32) -> Option<RunningProcess> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let mut arguments: Vec<OsString> = words.collect();
    // A NUL byte terminates the last argument.
    arguments.pop();
    // A worker has a title instead of a command line.
    if arguments.first()?.to_string_lossy().contains(": ") {
        return None;
    }
    arguments.remove(0);
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_else(|_| "/".into());
    let claim = claim_of(arguments, &folder, owner)?;
    let is_own = owner == rustix::process::geteuid().as_raw();
    (!is_own || claim.has_pid(pid)).then_some(RunningProcess {
        pid,
        owner,
        named: claim.named,
        option: claim.option,
    })
}

/// Server that the command line of a process names; it may be a false claim.
#[derive(Debug, PartialEq, Eq)]
struct ClaimedServer {
    named: SelectedServer,
    /// Command-line option, with its value, that selects the server.
    option: String,
    /// Value of the option `-g`; empty without it.
    directives: Vec<u8>,
}

impl ClaimedServer {
    /// Returns whether the lock or the pid file of the server contains the process ID.
    fn has_pid(&self, pid: u32) -> bool {
        let is_it = |of_file: rustix::process::Pid| of_file.as_raw_nonzero().get().cast_unsigned() == pid;
        match &self.named {
            SelectedServer::Preset(prefix) => matches!(holder(prefix), Ok(Some(holder)) if is_it(holder.pid)),
            SelectedServer::Configuration(paths) => {
                let directives = self.directives.clone();
                let origin = ConfigurationSource { paths: paths.clone(), directives, preset: None };
                let Ok(model) = configuration::read_main(&origin) else { return false };
                pidfile::read(&paths.complete(model.main.pid.bytes())).is_ok_and(is_it)
            }
        }
    }
}

/// Returns the server that a command line names; `folder` is the current folder of its process. Returns `None` if the
/// command is invalid, is a subcommand other than `wordpress` and `php`, only tests the configuration or sends a
/// signal, or if its default prefix is unknown.
fn claim_of(arguments: Vec<OsString>, folder: &Path, owner: u32) -> Option<ClaimedServer> {
    let first = arguments.first().and_then(|first| first.to_str()).unwrap_or_default();
    let is_preset = wordpress::SiteKind::from_name(first).is_some();
    if !is_preset && cli::COMMANDS.contains(&first) {
        return None;
    }
    let options = cli::parse(arguments).ok()?;
    if options.test || options.request.is_some() {
        return None;
    }
    if let Some(site) = &options.wordpress {
        let prefix = site.prefix_in(folder, owner)?;
        let option = format!("--prefix {}", prefix.display());
        return Some(ClaimedServer { named: SelectedServer::Preset(prefix), option, directives: Vec::new() });
    }
    let paths = ServerPaths::from_folder(&options, folder);
    let option = match (&options.configuration, &options.prefix) {
        (None, Some(_)) => format!("--prefix {}", paths.prefix.display()),
        _ => format!("-c {}", paths.configuration.display()),
    };
    Some(ClaimedServer {
        named: SelectedServer::Configuration(paths),
        option,
        directives: options.directives.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str]) -> Option<(SelectedServer, String)> {
        let claim = claim_of(words.iter().map(OsString::from).collect(), Path::new("/srv/folder"), 0)?;
        Some((claim.named, claim.option))
    }

    #[test]
    fn command_lines_of_servers_name_their_prefix_or_configuration() {
        let site = ["wordpress", "--root", "/srv", "--php", "127.0.0.1:9"];
        let with = |more: &[&'static str]| named(&[&site[..], more].concat());
        let preset =
            |prefix: &str| Some((SelectedServer::Preset(prefix.into()), format!("--prefix {prefix}")));
        assert_eq!(with(&[]), preset("/var/lib/myriad"));
        assert_eq!(with(&["--prefix", "/a"]), preset("/a"));
        assert_eq!(with(&["-p", "b"]), preset("/srv/folder/b"));
        assert_eq!(with(&["-t"]), None);
        let of = |words: &[&str]| named(words).map(|(_, option)| option);
        assert_eq!(of(&["-c", "/etc/a.conf"]).as_deref(), Some("-c /etc/a.conf"));
        assert_eq!(of(&["-p", "c"]).as_deref(), Some("--prefix /srv/folder/c"));
        for command in [&["top"][..], &["wordpress", "status"], &["doctor"], &["-s", "stop"], &["-t"]] {
            assert_eq!(named(command), None, "{command:?}");
        }
    }
}
