//! Selection of the server to which a command applies: that of a configuration file, or a `myriad wordpress` or `myriad
//! php`.
//!
//! ```text
//! -c, or -p with a configuration file in it -------> the server of that configuration
//! -p without such a file --------------------------> the preset with that prefix
//! no -c or -p, the installed configuration exists
//!    and its server runs, or -g is given ----------> the server of the installed configuration
//!    a preset with the default prefix runs --------> that preset, such as that of myriad-wordpress.service
//!    the user runs exactly one other server -------> that server
//!    otherwise ------------------------------------> the installed configuration, or a preset with the default prefix
//! ```

use std::fs;
use std::path::PathBuf;

use crate::cli::ServerOptions;
use crate::configuration::{self, ConfigurationSource};
use crate::instance::holder;
use crate::paths::ServerPaths;
use crate::pidfile;
use crate::servers::{self, SelectedServer};
use crate::wordpress;

impl SelectedServer {
    /// Returns the server that `-c` or `-p` selects. Without them, returns the first that applies: the installed
    /// configuration, if `-g` is given or its server runs; the running preset with a default prefix; the only running
    /// server of this user; the installed configuration, if it exists; the preset with the default prefix.
    pub fn of(server: &ServerOptions) -> Self {
        let paths = ServerPaths::new(server);
        let is_there = paths.configuration.exists();
        Self::among(server, paths, is_there, serves, running_preset, servers::only_own)
    }

    /// Returns the prefix that `-p` names; otherwise that of the running preset with a default prefix; otherwise that
    /// of the only running server of this user, if it is a preset. Returns `None` if none of these applies.
    pub fn preset_of(server: &ServerOptions) -> Option<PathBuf> {
        let of_only = || match servers::only_own() {
            Some(Self::Preset(prefix)) => Some(prefix),
            _ => None,
        };
        server.prefix.clone().or_else(running_preset).or_else(of_only)
    }

    /// Selects the server; `is_there` is true if the configuration file exists. `serves` returns whether its server
    /// runs, `preset` the running preset with a default prefix, and `only` the only running server of the user; they
    /// are called only if needed.
    fn among(
        server: &ServerOptions,
        paths: ServerPaths,
        is_there: bool,
        serves: impl FnOnce(&ServerPaths) -> bool,
        preset: impl FnOnce() -> Option<PathBuf>,
        only: impl FnOnce() -> Option<Self>,
    ) -> Self {
        match (&server.configuration, &server.prefix) {
            (Some(_), _) => Self::Configuration(paths),
            (None, Some(_)) if is_there => Self::Configuration(paths),
            (None, Some(_)) => Self::Preset(paths.prefix),
            (None, None) if is_there && (server.directives.is_some() || serves(&paths)) => {
                Self::Configuration(paths)
            }
            (None, None) => preset().map(Self::Preset).or_else(only).unwrap_or_else(|| {
                if is_there { Self::Configuration(paths) } else { Self::Preset(wordpress::prefix(None)) }
            }),
        }
    }
}

/// Returns whether the server of a configuration runs, by its pid file. Also returns true if the configuration cannot
/// be read, so that the command reports its errors.
fn serves(paths: &ServerPaths) -> bool {
    let origin = ConfigurationSource { paths: paths.clone(), directives: Vec::new(), preset: None };
    let Ok(model) = configuration::read_main(&origin) else { return true };
    // After a crash, the ID in the pid file may belong to another program.
    let own = fs::read("/proc/self/comm").unwrap_or_default();
    let pid = pidfile::read(&paths.complete(model.main.pid.bytes()));
    pid.is_ok_and(|pid| fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == own))
}

/// Returns the default prefix of this user if a preset runs with it, otherwise the default prefix of the system if a
/// preset runs with it, otherwise `None`. A preset with an unreadable lock file counts as running.
fn running_preset() -> Option<PathBuf> {
    let own = wordpress::prefix(None);
    // If the lock file cannot be read, the preset counts as running; the command then reports the error.
    if !matches!(holder(&own), Ok(None)) {
        return Some(own);
    }
    let of_system = wordpress::prefix_of_system();
    (own != of_system && !matches!(holder(of_system), Ok(None))).then(|| of_system.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_that_runs_is_meant_where_none_is_named() {
        let paths = || ServerPaths {
            prefix: "/p".into(),
            configuration: "/p/conf/nginx.conf".into(),
            error_log: None,
        };
        let nothing = ServerOptions::default();
        let with_prefix = ServerOptions { prefix: Some("/p".into()), ..ServerOptions::default() };
        let with_file = ServerOptions { configuration: Some("a.conf".into()), ..ServerOptions::default() };
        let configuration = || SelectedServer::Configuration(paths());
        let preset = |prefix: &str| SelectedServer::Preset(prefix.into());
        let own = SelectedServer::Preset(wordpress::prefix(None));
        let with_directive =
            ServerOptions { directives: Some(b"pid a;".to_vec()), ..ServerOptions::default() };
        for (server, is_there, serves, running, only, expected) in [
            (&nothing, true, true, Some("/a"), Some("/b"), configuration()),
            (&nothing, true, false, Some("/a"), Some("/b"), preset("/a")),
            (&nothing, true, false, None, Some("/b"), preset("/b")),
            (&nothing, true, false, None, None, configuration()),
            (&nothing, false, false, None, Some("/b"), preset("/b")),
            (&nothing, false, false, None, None, own),
            (&with_prefix, true, false, Some("/a"), Some("/b"), configuration()),
            (&with_prefix, false, false, Some("/a"), Some("/b"), preset("/p")),
            (&with_file, false, false, Some("/a"), Some("/b"), configuration()),
            (&with_directive, true, false, Some("/a"), Some("/b"), configuration()),
        ] {
            let only = || only.map(preset);
            let running = || running.map(PathBuf::from);
            let found = SelectedServer::among(server, paths(), is_there, |_| serves, running, only);
            assert_eq!(found, expected, "{is_there} {serves}");
        }
    }
}
