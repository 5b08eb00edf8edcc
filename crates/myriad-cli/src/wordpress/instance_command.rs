//! Commands to the running server of a prefix: `myriad wordpress status|reload|stop`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use myriad_admin::protocol::{AdminReply, AdminRequest, RequestCounts, StatsRequest, render};
use myriad_conf::Model;
use myriad_conf::model::{ListenAddress, ListenConf, MainConf};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::dashboard;
use super::prefix::{pid_file, prefix};
use super::preset::Preset;
use super::site_kind::SiteKind;
use crate::accounts;
use crate::admin::{CommandWords, RunningServer, help};
use crate::configuration::ConfigurationSource;
use crate::instance::{LockHolder, holder, holder_or_error};
use crate::paths::ServerPaths;
use crate::pidfile::reason;
use crate::servers;
use crate::servers::SelectedServer;

/// Text that `--help` of `status`, `reload` and `stop` prints.
pub const USAGE: &str = "\
Usage: myriad wordpress status [--prefix DIR]      (or: myriad php status ...)
       myriad wordpress reload [--prefix DIR]
       myriad wordpress stop   [--prefix DIR]

status prints the process, its addresses, user, cache and hits
reload reads certificates and a --sites file again; on failure, prints the
       error, and the server continues with the previous configuration
stop   stops the server, and returns after it has exited

  --prefix DIR, -p DIR
               : --prefix that the server was started with (default: that of
                 the running server)

Exit status: 0; 1 after an error, or if the worker process does not respond; 3
if no server is running.
";

/// Maximum time, in seconds, that `stop` waits until the server has exited: more than a worker may take.
const LONGEST_END_S: i64 = 30;
/// Maximum time that the command waits for a reload.
const LONGEST_RELOAD: Duration = Duration::from_mins(1);
/// Interval at which the result of a reload is checked.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Exit status if no server runs, as in init scripts.
const NOT_RUNNING: u8 = 3;

/// Command for the running server of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceCommand {
    /// Print the state of the server.
    Status,
    /// Reload the configuration.
    Reload,
    /// Stop the server.
    Stop,
}

impl InstanceCommand {
    /// Returns the command that the first two arguments name; `None` if there is none.
    pub fn from_arguments(arguments: &[OsString]) -> Option<Self> {
        let [first, second, ..] = arguments else { return None };
        SiteKind::from_name(first.to_str()?)?;
        match second.to_str()? {
            "status" => Some(Self::Status),
            "reload" => Some(Self::Reload),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Reload => "reload",
            Self::Stop => "stop",
        }
    }

    /// Runs the command with the arguments after its name. The exit status is 0, `NOT_RUNNING` (3) if no server runs,
    /// or 1 after other errors, also if the worker process does not respond to `status`.
    pub fn run(self, arguments: impl Iterator<Item = OsString>) -> ExitCode {
        self.tried(arguments).unwrap_or_else(|error| {
            eprintln!("myriad: wordpress: {error}");
            ExitCode::FAILURE
        })
    }

    fn tried(self, arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
        let words = CommandWords::parse(arguments, &[])?;
        if words.help {
            return Ok(help(USAGE));
        }
        words.at_most(0, &format!("wordpress {}", self.name()))?;
        if words.server.configuration.is_some() || words.server.directives.is_some() || words.socket.is_some()
        {
            return Err("select the server by its prefix: --prefix DIR".to_owned());
        }
        let prefix = match SelectedServer::preset_of(&words.server) {
            Some(prefix) => std::path::absolute(prefix).map_err(|error| error.to_string())?,
            None => prefix(None),
        };
        let Some(holder) = holder_or_error(&prefix)? else {
            eprintln!("myriad: wordpress: no server is running on {}{}", prefix.display(), servers::hint());
            return Ok(ExitCode::from(NOT_RUNNING));
        };
        match self {
            Self::Status => return Ok(status(&holder, &prefix)),
            Self::Reload => reload(&holder, &prefix)?,
            Self::Stop => stop(&holder)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes the server reload its configuration, and waits for the result. Returns an error text if the reload is rejected
/// or takes longer than [`LONGEST_RELOAD`], or if the server exits. Does not wait for a server that is too old to
/// report results.
fn reload(holder: &LockHolder, prefix: &Path) -> Result<(), String> {
    let process = holder.signal(Signal::HUP)?;
    let pid = holder.pid;
    let Some(before) = &holder.reloads else {
        print_line(&format!("process {pid} reloads the configuration and logs the result"));
        return Ok(());
    };
    // A reload that is already in progress does not count; the next one does.
    let asked = before.started.saturating_add(1);
    let deadline = Instant::now() + LONGEST_RELOAD;
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    while Instant::now() < deadline {
        // While the lock file is being written, it contains no result.
        let now = self::holder(prefix).ok().flatten().filter(|now| now.pid == pid);
        let reloads = now.and_then(|now| now.reloads);
        match reloads.filter(|reloads| reloads.finished >= asked) {
            Some(reloads) if reloads.refused.is_empty() => {
                print_line(&format!("process {pid} reloaded the configuration"));
                return Ok(());
            }
            Some(reloads) => {
                let why = reloads.refused.join("\n");
                let why = why.trim_start_matches("wordpress: ");
                return Err(format!("{why}\nprocess {pid} continues with the previous configuration"));
            }
            None => {}
        }
        let exited = rustix::io::retry_on_intr(|| poll(&mut polled, Some(&PAUSE)));
        if exited.map_err(|error| format!("process {pid}: {}", reason(&error.into())))? > 0 {
            return Err(format!("process {pid} has exited"));
        }
    }
    Err(format!("reload of process {pid} timed out after {} s", LONGEST_RELOAD.as_secs()))
}

/// Sends SIGTERM to the server, and waits until it has exited. Returns an error text if that takes longer than
/// [`LONGEST_END_S`].
fn stop(holder: &LockHolder) -> Result<(), String> {
    let pid = holder.pid;
    let failed = |error: rustix::io::Errno| format!("process {pid}: {}", reason(&io::Error::from(error)));
    let process = holder.signal(Signal::TERM)?;
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let limit = Timespec { tv_sec: LONGEST_END_S, tv_nsec: 0 };
    if rustix::io::retry_on_intr(|| poll(&mut polled, Some(&limit))).map_err(failed)? == 0 {
        return Err(format!("process {pid} has not exited after {LONGEST_END_S} s"));
    }
    print_line(&format!("process {pid} has exited"));
    Ok(())
}

/// Writes a line to standard output; a closed output causes no error.
fn print_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints the state of the server. The exit status is 1 if the worker process does not respond.
fn status(holder: &LockHolder, prefix: &Path) -> ExitCode {
    let up = holder.since.elapsed().unwrap_or_default();
    let up = render::duration(u64::try_from(up.as_millis()).unwrap_or(u64::MAX));
    let (text, code) = match hits(prefix) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (format!("unknown: {error}"), ExitCode::FAILURE),
    };
    print_line(&format!(
        "{}{}{}",
        row("runs", &format!("process {}, for {up}", holder.pid)),
        with_link(&holder.facts, prefix),
        row("hits", &text).trim_end()
    ));
    code
}

/// Returns the numbers of requests to all zones together and their hit rate, as text; an error text if the server does
/// not respond.
fn hits(prefix: &Path) -> Result<String, String> {
    let running = RunningServer::next_to_pid_file(&pid_file(Some(prefix)));
    let mut sum = RequestCounts::default();
    running.send_request(&AdminRequest::Stats(StatsRequest::default()), |reply| {
        if let AdminReply::Zone(zone) = reply {
            sum = sum.plus(&zone.requests);
        }
        Ok(true)
    })?;
    let (served, asked) = (sum.served(), sum.total());
    let rate = sum.hit_rate().map(|rate| format!(" ({:.1} %)", rate * 100.0)).unwrap_or_default();
    let (served, asked) = (render::count(served), render::count(asked));
    Ok(format!("{served} of {asked} pages from the cache{rate}, {} bypassed it", render::count(sum.bypass)))
}

/// Formats a line with a name and a value.
fn row(name: &str, value: &str) -> String {
    format!("{name:<10}{value}\n")
}

/// Returns the description of a running server, for the greeting at its start and for `status`: a line each for its
/// addresses, dashboard, user and cache folders. Empty if there is no `http` block.
pub fn facts(model: &Model, paths: &ServerPaths) -> String {
    let mut text = String::new();
    let Some(http) = &model.http else { return text };
    let mut addresses: Vec<String> = Vec::new();
    for listen in http.servers.iter().flat_map(|server| &server.listens) {
        let address = address(listen);
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let dashboard = dashboard::greeting(&paths.prefix, &addresses);
    addresses.retain(|address| dashboard.as_ref().is_none_or(|dashboard| dashboard.address != *address));
    text.push_str(&row("listens", &addresses.join(", ")));
    if let Some(dashboard) = dashboard {
        text.push_str(&row("dashboard", &dashboard.text));
    }
    text.push_str(&row("user", &user(&model.main)));
    for zone in &http.cache_zones {
        let path = paths.complete(zone.path.bytes());
        text.push_str(&row("cache", &path.display().to_string()));
    }
    text
}

/// Returns the user of the workers, as text for the description.
fn user(main: &MainConf) -> String {
    let own = rustix::process::geteuid();
    match (&main.user, &main.group) {
        (Some(user), Some(group)) if own.is_root() => {
            format!("{}, group {}", user.lossy(), group.lossy())
        }
        (Some(user), None) if own.is_root() => user.lossy().into_owned(),
        _ => accounts::name_of(own.as_raw()).unwrap_or_else(|| own.as_raw().to_string()),
    }
}

/// Replaces the address of the dashboard in a description by a link that contains the secret, if this process can read
/// the secret.
fn with_link(facts: &str, prefix: &Path) -> String {
    let begin = row("dashboard", "");
    let begin = begin.trim_end();
    facts.lines().fold(String::new(), |mut text, line| {
        let rest = line.strip_prefix(begin).map(str::trim_start);
        let link = rest.and_then(|rest| {
            let (address, _) = rest.split_once(',')?;
            Some(format!("{}, on this machine only", dashboard::link(prefix, address)?))
        });
        text.push_str(&link.map_or_else(|| format!("{line}\n"), |link| row("dashboard", &link)));
        text
    })
}

/// Returns the greeting at the start: the description, and the command that stops the server.
///
/// On a terminal, the link to the dashboard contains the secret. Otherwise (a file or journal, which others may read)
/// the greeting contains only the path of the secret.
pub fn greeting(facts: &str, origin: &ConfigurationSource) -> String {
    let prefix = &origin.paths.prefix;
    let option = if *prefix == super::prefix::prefix(None) {
        String::new()
    } else {
        format!(" --prefix {}", prefix.display())
    };
    let mut text = format!("myriad: running as process {}\n", std::process::id());
    let shown = if io::stderr().is_terminal() { with_link(facts, prefix) } else { facts.to_owned() };
    for line in shown.lines() {
        let _ = writeln!(text, "  {line}");
    }
    let kind = origin.preset.as_ref().map_or(SiteKind::WordPress, Preset::kind);
    let stop = format!("Ctrl-C, or: myriad {} stop{option}", kind.word());
    let _ = writeln!(text, "  {}", row("stop", &stop).trim_end());
    text
}

/// Returns the URL of a listening address, for the greeting.
fn address(listen: &ListenConf) -> String {
    let scheme = if listen.quic {
        "https (HTTP/3)"
    } else if listen.ssl {
        "https"
    } else {
        "http"
    };
    match &listen.address {
        ListenAddress::Ip(address) => format!("{scheme}://{address}"),
        ListenAddress::Host(name, port) => format!("{scheme}://{name}:{port}"),
        ListenAddress::Unix(path) => format!("{scheme} at unix:{}", String::from_utf8_lossy(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_of_an_error_names_the_command() {
        for command in [InstanceCommand::Status, InstanceCommand::Reload, InstanceCommand::Stop] {
            let error = command.tried(std::iter::once("now".into())).expect_err("an unexpected argument");
            assert!(error.contains(&format!("(see myriad wordpress {} --help)", command.name())), "{error}");
        }
    }
}
