//! Paths of a server: default locations, and the folders to which relative names refer.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::cli::ServerOptions;

const DEFAULT_PREFIX: &str = "/usr/local/myriad";
const DEFAULT_CONFIGURATION: &str = "conf/nginx.conf";
/// Default of `error_log`, as documented by nginx.
const DEFAULT_ERROR_LOG: &str = "logs/error.log";

/// Paths of the Debian and Fedora packages, which do not install everything in one folder.
const PACKAGE: PackagePaths = PackagePaths {
    prefix: "/var/lib/myriad",
    configuration: "/etc/myriad/nginx.conf",
    error_log: "/var/log/myriad/error.log",
};

/// Default paths, used without `-p` and `-c` if a package has installed its configuration and the default prefix does
/// not exist.
#[derive(Clone, Copy, Debug)]
struct PackagePaths {
    prefix: &'static str,
    configuration: &'static str,
    error_log: &'static str,
}

/// Paths of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPaths {
    /// Prefix (`-p` or the default), absolute.
    pub prefix: PathBuf,
    /// Configuration file (`-c` or the default), absolute.
    pub configuration: PathBuf,
    /// Error log (`-e` or the default), absolute; `None` for `-e stderr`.
    pub error_log: Option<PathBuf>,
}

impl ServerPaths {
    /// Determines the paths from the command line. The prefix is relative to the current folder, other paths to the
    /// prefix.
    ///
    /// Without `-p`, and if the default prefix does not exist, `-c` is relative to the current folder, and the prefix
    /// is the folder of that file, or its parent if the folder is named `conf`. Without `-c` as well, the paths are
    /// those of a package if its configuration exists.
    pub fn new(options: &ServerOptions) -> Self {
        let current = std::env::current_dir().unwrap_or_else(|_| "/".into());
        Self::from_folder(options, &current)
    }

    /// Determines the paths of a server that was started in the folder `current`.
    pub fn from_folder(options: &ServerOptions, current: &Path) -> Self {
        Self::with_default(options, current, Path::new(DEFAULT_PREFIX), PACKAGE)
    }

    fn with_default(options: &ServerOptions, current: &Path, default: &Path, package: PackagePaths) -> Self {
        let configuration = options.configuration.as_deref();
        let prefix = match (&options.prefix, configuration) {
            (Some(prefix), _) => current.join(prefix),
            (None, Some(file)) if !default.is_dir() => {
                return Self::around(current.join(file), options.error_log.as_deref());
            }
            (None, None) if !default.is_dir() && Path::new(package.configuration).is_file() => {
                return Self::of_package(package, options.error_log.as_deref());
            }
            (None, _) => default.to_owned(),
        };
        let configuration = prefix.join(configuration.unwrap_or(Path::new(DEFAULT_CONFIGURATION)));
        Self { configuration, ..Self::below(prefix, options.error_log.as_deref()) }
    }

    fn of_package(package: PackagePaths, error_log: Option<&Path>) -> Self {
        let error_log = error_log.unwrap_or(Path::new(package.error_log));
        Self {
            configuration: package.configuration.into(),
            ..Self::below(package.prefix.into(), Some(error_log))
        }
    }

    /// Returns the paths for a configuration file. The prefix is its folder, or `DIR` for `DIR/conf/nginx.conf` as in
    /// nginx's layout.
    fn around(configuration: PathBuf, error_log: Option<&Path>) -> Self {
        let folder = configuration.parent().unwrap_or(Path::new("/"));
        let is_conf = folder.file_name().is_some_and(|name| name == "conf");
        let prefix = folder.parent().filter(|_| is_conf).unwrap_or(folder).to_owned();
        Self { configuration, ..Self::below(prefix, error_log) }
    }

    fn below(prefix: PathBuf, error_log: Option<&Path>) -> Self {
        let error_log = error_log.unwrap_or(Path::new(DEFAULT_ERROR_LOG));
        Self {
            configuration: prefix.join(DEFAULT_CONFIGURATION),
            error_log: (error_log != Path::new("stderr")).then(|| prefix.join(error_log)),
            prefix,
        }
    }

    /// Returns advice about a file that cannot be created, as lines to append to the error; empty unless its folder is
    /// missing.
    pub fn advice(&self, path: &Path, error: &io::Error) -> String {
        let missing =
            path.parent().filter(|folder| error.kind() == io::ErrorKind::NotFound && !folder.is_dir());
        let Some(folder) = missing else { return String::new() };
        format!(
            "\nhelp: create the folder: mkdir -p {}\nhelp: or set other paths: \"error_log\", \"access_log\" and \"pid\" in \
                 the configuration, relative to the prefix {} (-p)",
            folder.display(),
            self.prefix.display()
        )
    }

    /// Returns a path that the configuration contains; a relative one starts at the prefix.
    pub fn complete(&self, written: &[u8]) -> PathBuf {
        self.prefix.join(OsStr::from_bytes(written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(arguments: &[&str], default: &Path) -> ServerPaths {
        let options = crate::cli::parse(arguments.iter().map(std::ffi::OsString::from).collect());
        let current = std::env::current_dir().expect("a folder");
        let package = PackagePaths { configuration: "/nowhere", ..PACKAGE };
        ServerPaths::with_default(&options.expect("options"), &current, default, package)
    }

    #[test]
    fn a_file_alone_brings_its_folder_along_where_nothing_is_installed() {
        let nowhere = Path::new("/nowhere/myriad");
        for (file, prefix) in
            [("/srv/site.conf", "/srv"), ("/srv/conf/nginx.conf", "/srv"), ("/nginx.conf", "/")]
        {
            let paths = paths(&["-t", "-c", file], nowhere);
            assert_eq!(
                (paths.prefix.as_path(), paths.configuration.as_path()),
                (Path::new(prefix), Path::new(file))
            );
            assert_eq!(paths.error_log, Some(Path::new(prefix).join("logs/error.log")));
            assert_eq!(paths.complete(b"logs/nginx.pid"), Path::new(prefix).join("logs/nginx.pid"));
        }
        let current = std::env::current_dir().expect("a folder");
        assert_eq!(paths(&["-c", "site.conf"], nowhere).configuration, current.join("site.conf"));
        assert_eq!(paths(&["-t"], nowhere).configuration, nowhere.join("conf/nginx.conf"));
    }

    #[test]
    fn a_prefix_that_is_named_or_installed_decides_as_in_nginx() {
        let installed = std::env::temp_dir();
        let of_file = paths(&["-c", "/srv/site.conf"], &installed);
        assert_eq!(
            (of_file.prefix.as_path(), of_file.configuration.as_path()),
            (installed.as_path(), Path::new("/srv/site.conf"))
        );
        assert_eq!(paths(&["-c", "site.conf"], &installed).configuration, installed.join("site.conf"));
        let named = paths(&["-p", "/srv", "-c", "a.conf", "-e", "stderr"], Path::new("/nowhere"));
        assert_eq!((named.configuration.as_path(), named.error_log), (Path::new("/srv/a.conf"), None));
    }

    #[test]
    fn package_has_paths_of_its_own_where_nothing_else_is_installed_or_named() {
        let own = std::env::current_exe().expect("a file");
        let package =
            PackagePaths { configuration: own.to_str().expect("a path").to_owned().leak(), ..PACKAGE };
        let paths = |arguments: &[&str], default: &Path| {
            let options = crate::cli::parse(arguments.iter().map(std::ffi::OsString::from).collect());
            ServerPaths::with_default(&options.expect("options"), Path::new("/"), default, package)
        };
        let nowhere = Path::new("/nowhere/myriad");
        let installed = paths(&[], nowhere);
        assert_eq!(installed.prefix, Path::new("/var/lib/myriad"));
        assert_eq!(installed.configuration, own);
        assert_eq!(installed.error_log.as_deref(), Some(Path::new("/var/log/myriad/error.log")));
        assert_eq!(paths(&["-e", "stderr"], nowhere).error_log, None);
        assert_eq!(paths(&[], &std::env::temp_dir()).prefix, std::env::temp_dir());
        assert_eq!(paths(&["-p", "/srv"], nowhere).configuration, Path::new("/srv/conf/nginx.conf"));
        assert_eq!(paths(&["-c", "/srv/a.conf"], nowhere).prefix, Path::new("/srv"));
    }
}
