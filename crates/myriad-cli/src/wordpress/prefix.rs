//! Prefix of a `myriad wordpress`: the folder of its cache, logs, lock and pid file.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::site_kind::SiteKind;

/// Returns the prefix: the value of `--prefix`, or its default.
pub fn prefix(said: Option<&Path>) -> PathBuf {
    said.map_or_else(|| default_prefix(rustix::process::geteuid().is_root()), Path::to_owned)
}

/// Returns the path of the pid file in the prefix `said` (the value of `--prefix`), or in the default prefix.
pub fn pid_file(said: Option<&Path>) -> PathBuf {
    prefix(said).join("myriad.pid")
}

/// Last part of the names of access logs; with several sites, the name of the site precedes it.
pub const ACCESS_LOG: &str = "access.log";

/// Returns the folder of the logs, below the prefix.
pub fn logs(prefix: &Path) -> PathBuf {
    prefix.join("logs")
}

/// Returns the default prefix of servers that root starts.
pub fn prefix_of_system() -> &'static Path {
    Path::new("/var/lib/myriad")
}

/// Default prefix below the home of a user.
pub(super) const IN_HOME: &str = ".local/state/myriad";

/// Returns the default prefix: that of the system for root, otherwise a folder in `XDG_STATE_HOME` or the home of the
/// user, or in the temporary folder if neither is set.
pub(super) fn default_prefix(as_root: bool) -> PathBuf {
    if as_root {
        return prefix_of_system().to_owned();
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| Path::new(path).is_absolute());
    match (state, std::env::var_os("HOME")) {
        (Some(state), _) => Path::new(&state).join("myriad"),
        (None, Some(home)) => Path::new(&home).join(IN_HOME),
        (None, None) => std::env::temp_dir().join("myriad"),
    }
}

/// Creates the prefix and its folders. Users other than the owner and its group cannot open the folder of the logs,
/// because URLs in logs may contain keys that reset passwords.
pub fn prepare(prefix: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(prefix)?;
    DirBuilder::new().recursive(true).mode(0o750).create(logs(prefix))?;
    std::fs::create_dir_all(prefix.join("cache"))
}

/// Returns the path by which messages name the generated configuration, `PREFIX/wordpress.conf` or `PREFIX/php.conf`.
/// No such file is written.
pub fn name(kind: SiteKind, prefix: &Path) -> PathBuf {
    prefix.join(kind.word()).with_extension("conf")
}
