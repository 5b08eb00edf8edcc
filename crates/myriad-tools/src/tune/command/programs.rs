//! Detection of the installed programs by their files below a root: php-fpm, database, object cache, Apache.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tune::{ApacheSetup, DatabaseServer, InstalledPhp, Mpm, ObjectCacheServer};

use myriad_cli::machine_files::below;

/// Maximum number of bytes that are read of a file; the rest is ignored.
const FILE_BYTES: u64 = 64 << 20;
const ENTRIES: usize = 4096;

/// Returns the first [`FILE_BYTES`] of a regular file as text; `None` if it cannot be read or is not a regular file.
pub(super) fn text(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the names in a folder that are UTF-8, at most [`ENTRIES`], sorted; empty if it cannot be read.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Returns whether a file name has the extension `ending`.
pub(super) fn ends(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == ending)
}

/// Returns the newest PHP version that has a php-fpm configuration folder; `None` without php-fpm.
pub(super) fn php(root: &Path) -> Option<InstalledPhp> {
    let top = below(root, "/etc/php");
    let version = |name: &String| {
        let (major, minor) = name.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let has_fpm = |version: &(u32, u32)| top.join(format!("{}.{}/fpm", version.0, version.1)).is_dir();
    let version = names(&top).iter().filter_map(version).filter(has_fpm).max()?;
    let fpm = top.join(format!("{}.{}/fpm", version.0, version.1));
    let apcu = names(&fpm.join("conf.d")).iter().any(|name| name.ends_with("apcu.ini"));
    let (pools, with_status) = pools(&fpm.join("pool.d"));
    Some(InstalledPhp { version, pools, with_status, apcu })
}

/// Returns two lists of names of php-fpm pools in the `.conf` files of the folder: all pools, and those that set
/// `pm.status_path`. The file written by `myriad tune` is ignored.
fn pools(folder: &Path) -> (Vec<String>, Vec<String>) {
    let (mut pools, mut with_status): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for name in names(folder).iter().filter(|name| ends(name, "conf") && *name != "zz-myriad.conf") {
        let mut pool = String::new();
        for line in text(&folder.join(name)).unwrap_or_default().lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                section.clone_into(&mut pool);
                if !section.is_empty() && section != "global" && !pools.contains(&pool) {
                    pools.push(pool.clone());
                }
            } else if line.split('=').next().is_some_and(|name| name.trim() == "pm.status_path") {
                with_status.push(pool.clone());
            }
        }
    }
    (pools, with_status)
}

/// Returns the database server according to the list of installed packages, otherwise (only for the root `/`) according
/// to the version that its program prints; `None` if neither finds one.
pub(super) fn database(root: &Path) -> Option<DatabaseServer> {
    let packages = text(&below(root, "/var/lib/dpkg/status")).unwrap_or_default();
    let installed = installed(&packages).or_else(|| asked(root))?;
    Some(DatabaseServer { data: size_of(&below(root, "/var/lib/mysql")), ..installed })
}

/// Returns the database server that is installed according to the package list of dpkg; `None` if there is none. Its
/// data size is not determined.
fn installed(packages: &str) -> Option<DatabaseServer> {
    packages.split("\n\n").find_map(|package| {
        let field = |name: &str| package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let name = field("Package").filter(|name| {
            let server =
                ["mariadb-server", "mysql-server", "mysql-community-server", "percona-server-server"];
            server.iter().any(|server| {
                name.strip_prefix(server).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
        })?;
        if !field("Status")?.ends_with(" installed") || name.contains("-core") {
            return None;
        }
        DatabaseServer::parse(&format!("{name} {}", field("Version")?))
    })
}

fn asked(root: &Path) -> Option<DatabaseServer> {
    if root != Path::new("/") {
        return None;
    }
    let program =
        ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].into_iter().find(|path| Path::new(path).is_file())?;
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    DatabaseServer::parse(&String::from_utf8_lossy(&output.stdout))
}

/// Returns the total size in bytes of the files in a folder and its direct subfolders; `None` if one of them cannot be
/// read. Counts at most [`ENTRIES`] entries of the folder, and 16 × [`ENTRIES`] of each subfolder.
fn size_of(folder: &Path) -> Option<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).ok()?.flatten().take(ENTRIES) {
        let Ok(known) = entry.metadata() else { continue };
        let inner = if known.is_dir() {
            let inner = std::fs::read_dir(entry.path()).ok()?.flatten().take(ENTRIES * 16);
            inner.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
        } else {
            0
        };
        bytes += if known.is_file() { known.len() } else { inner };
    }
    Some(bytes)
}

/// Returns the installed Redis, otherwise Valkey; `None` if neither has its configuration file.
pub(super) fn object_cache(root: &Path) -> Option<ObjectCacheServer> {
    [("redis-server", "/etc/redis/redis.conf"), ("valkey-server", "/etc/valkey/valkey.conf")]
        .into_iter()
        .find_map(|(service, configuration)| {
            if !below(root, configuration).is_file() {
                return None;
            }
            let units = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
            let unit =
                units.iter().find_map(|folder| text(&below(root, &format!("{folder}/{service}.service"))));
            let command = unit.and_then(|unit| {
                let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
                Some(command.trim().to_owned())
            });
            let usual = || format!("/usr/bin/{service} {configuration} --supervised systemd --daemonize no");
            Some(ObjectCacheServer {
                service: service.to_owned(),
                configuration: configuration.to_owned(),
                command: command.unwrap_or_else(usual),
            })
        })
}

/// Returns the enabled multi-processing module of Apache, and whether it runs PHP; `None` if no such module is enabled.
pub(super) fn apache(root: &Path) -> Option<ApacheSetup> {
    let enabled = names(&below(root, "/etc/apache2/mods-enabled"));
    let has = |name: &str| enabled.iter().any(|known| known == name);
    let mpm = [
        ("mpm_prefork.load", Mpm::Prefork),
        ("mpm_worker.load", Mpm::Worker),
        ("mpm_event.load", Mpm::Event),
    ];
    let (_, mpm) = mpm.into_iter().find(|(name, _)| has(name))?;
    // mod_php requires `mpm_prefork`: with a threaded module, Apache does not start.
    let php = mpm == Mpm::Prefork && enabled.iter().any(|name| name.starts_with("php") && ends(name, "load"));
    Some(ApacheSetup { mpm, php })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_identify_database() {
        let status = "Package: mariadb-server-core\nStatus: install ok installed\nVersion: 1:10.11.6-0\n\n\
                      Package: mysql-server\nStatus: deinstall ok config-files\nVersion: 8.0.36\n\n\
                      Package: mariadb-server\nStatus: install ok installed\nVersion: 1:10.11.6-0+deb12u1\n";
        assert_eq!(installed(status).expect("database").name(), "MariaDB 10.11.6");
        assert_eq!(
            installed("Package: mysql-server\nStatus: deinstall ok config-files\nVersion: 8.0.36"),
            None
        );
        assert_eq!(installed(""), None);
    }
}
