//! Configuration of php-fpm pools, read from php-fpm's files.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::path_walk;
use crate::site_folder;

/// Folder that contains one folder for each installed version of PHP.
const FOLDERS: &str = "/etc/php";
/// Maximum number of entries of a folder that are read.
const FILES: usize = 64;
const FILE_BYTES: u64 = 256 << 10;

/// Settings of a php-fpm pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FpmPool {
    /// Value of `pm.max_children`; `None` if it is missing or not a positive number.
    pub(super) children: Option<u32>,
    /// Value of `user`, the user that runs PHP; `None` if it is missing.
    pub(super) user: Option<String>,
    /// Values of `group`, and of `listen.group`, the group of the socket.
    pub(super) groups: Vec<String>,
}

/// Returns the pool that listens on an address (an argument of `fastcgi_pass`), according to the files of the installed
/// versions. Files that cannot be read are skipped.
fn installed(php: &str) -> Option<FpmPool> {
    of_versions(Path::new(FOLDERS), php)
}

/// Returns the pool that listens on an address, according to the files of running php-fpm masters, or if none of them
/// has such a pool, of the installed versions. Only masters of root or the current user count: another user could name
/// any file in the title of a process.
pub(super) fn running(php: &str) -> Option<FpmPool> {
    let own = rustix::process::geteuid().as_raw();
    let is_trusted = |process: &Path, _: &Path| {
        std::fs::metadata(process).is_ok_and(|known| [0, own].contains(&known.uid()))
    };
    of_masters(php, is_trusted).or_else(|| installed(php))
}

/// Returns the pool that listens on an address, according to files that only root can write, of masters that root runs,
/// or if none of them has such a pool, of the installed versions. Other processes could have a false title.
pub(super) fn of_administrator(php: &str) -> Option<FpmPool> {
    let is_root = |process: &Path, file: &Path| {
        std::fs::metadata(process).is_ok_and(|process| process.uid() == 0)
            && matches!(path_walk::trusted_stat(file), Ok(Some(known)) if known.st_uid == 0 && known.st_mode & 0o022 == 0)
    };
    of_masters(php, is_root).or_else(|| installed(php))
}

fn of_masters(php: &str, accepts: impl Fn(&Path, &Path) -> bool) -> Option<FpmPool> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let files = processes.filter_map(|process| {
        let line = std::fs::read(process.join("cmdline")).ok()?;
        let folder = std::fs::read_link(process.join("cwd")).unwrap_or_else(|_| "/".into());
        file_of_master(&String::from_utf8_lossy(&line), &folder).filter(|file| accepts(&process, file))
    });
    let mut texts = files.map(|file| text_of(&with_included(file)));
    texts.find_map(|text| of_text(&text, php))
}

/// Returns the configuration file of a php-fpm master, from its title (`php-fpm: master process (FILE)`) or its option
/// `-y` (`--fpm-config`); `folder` is its current folder. Returns `None` for other processes.
fn file_of_master(line: &str, folder: &Path) -> Option<PathBuf> {
    if let Some(title) = line.strip_prefix("php-fpm: ") {
        let file = title.strip_prefix("master process (")?.split(')').next()?;
        return Some(folder.join(file));
    }
    let mut words = line.split('\0');
    let program = Path::new(words.next()?).file_name()?.to_str()?;
    if !program.starts_with("php-fpm") {
        return None;
    }
    let words: Vec<&str> = words.collect();
    let value = |option: &str| words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1));
    let joined = || words.iter().find_map(|word| word.strip_prefix("--fpm-config="));
    let file = value("-y").or_else(|| value("--fpm-config")).copied().or_else(joined)?;
    (!file.is_empty()).then(|| folder.join(file))
}

/// Returns the pool that listens on an address, according to the files below a folder with one folder per PHP version.
/// The files of a version are joined, because a later one may add settings to a pool.
fn of_versions(folder: &Path, php: &str) -> Option<FpmPool> {
    let versions = below(folder).into_iter().map(|version| pools(&version.join("fpm/pool.d")));
    versions.filter(|files| !files.is_empty()).find_map(|files| of_text(&text_of(&files), php))
}

/// Returns a configuration file of php-fpm, and the configuration files in the folders of its `include` patterns, such
/// as `/etc/php/8.2/fpm/pool.d/*.conf`.
fn with_included(file: PathBuf) -> Vec<PathBuf> {
    let text = read(&file).unwrap_or_default();
    let patterns =
        text.lines().filter_map(|line| line.trim().strip_prefix("include")?.trim().strip_prefix('='));
    let included = patterns.filter_map(|pattern| Path::new(pattern.trim()).parent().map(pools)).flatten();
    [file].into_iter().chain(included).collect()
}

/// Returns the entries of a folder, sorted; at most [`FILES`], and none if it cannot be read.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.take(FILES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the `*.conf` files of a folder of pools, sorted; at most [`FILES`].
fn pools(folder: &Path) -> Vec<PathBuf> {
    let files = below(folder).into_iter();
    files.filter(|path| path.extension().is_some_and(|end| end == "conf")).take(FILES).collect()
}

/// Returns the joined text of files that php-fpm reads in sequence.
fn text_of(files: &[PathBuf]) -> String {
    files.iter().filter_map(|file| read(file)).collect::<Vec<_>>().join("\n")
}

fn read(path: &Path) -> Option<String> {
    let text = site_folder::read_named(path, FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the pool that listens on an address, from php-fpm's configuration; `None` if none does. Sections are pools,
/// and `;` starts a comment. A repeated section adds to its pool, and the last value of a setting applies.
fn of_text(text: &str, php: &str) -> Option<FpmPool> {
    let mut pools: Vec<(&str, bool, FpmPool)> = Vec::new();
    let mut at = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            at = pools.iter().position(|(known, ..)| *known == name).or_else(|| {
                pools.push((name, false, FpmPool::default()));
                Some(pools.len() - 1)
            });
        } else if let (Some((key, value)), Some(at)) = (line.split_once('='), at) {
            let (name, listens, pool) = &mut pools[at];
            let value = value.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            let value = value.replace("$pool", name);
            match key.trim() {
                "listen" => *listens = is_same(&value, php),
                "pm.max_children" => pool.children = value.parse().ok().filter(|number| *number > 0),
                "user" => pool.user = Some(value),
                "group" | "listen.group" => pool.groups.push(value),
                _ => {}
            }
        }
    }
    pools.into_iter().find_map(|(_, listens, pool)| listens.then_some(pool))
}

/// Returns whether the `listen` of a pool and the PHP address of a site refer to one socket: paths that are equal after
/// links are resolved, or one port on equal addresses or on a wildcard address of the pool.
fn is_same(listen: &str, php: &str) -> bool {
    if let Some(path) = php.strip_prefix("unix:") {
        let real = |path: &str| Path::new(path).canonicalize().ok();
        return listen == path || real(listen).is_some_and(|listen| Some(listen) == real(path));
    }
    let port_of = |address: &str| address.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    let Some(port) = port_of(php).filter(|port| Some(*port) == port_of(listen)) else { return false };
    let any = [port.to_string(), format!("*:{port}"), format!("0.0.0.0:{port}"), format!("[::]:{port}")];
    let bare = |address: &str| address.replace("localhost", "127.0.0.1");
    let (listen, php) = (bare(listen), bare(php));
    let is_equal = || match (listen.parse::<SocketAddr>(), php.parse::<SocketAddr>()) {
        (Ok(listen), Ok(php)) => listen == php,
        _ => listen == php,
    };
    any.contains(&listen) || is_equal()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOLS: &str = "; pm.max_children = 1\n[www]\nuser = www-data\ngroup = web\nlisten = /run/php/$pool.sock ; here\n\
                         listen.group = proxy\npm.max_children = 12\n[other]\npm.max_children=7\nlisten = 9000\nuser = $pool\n\
                         [third]\nlisten = 127.0.0.1:9001\n";

    fn children_of(text: &str, php: &str) -> Option<u32> {
        of_text(text, php).and_then(|pool| pool.children)
    }

    #[test]
    fn settings_are_those_of_the_pool_that_listens_there() {
        let pool = of_text(POOLS, "unix:/run/php/www.sock").expect("a pool");
        assert_eq!((pool.children, pool.user.as_deref()), (Some(12), Some("www-data")));
        assert_eq!(pool.groups, ["web", "proxy"]);
        let pool = of_text(POOLS, "127.0.0.1:9000").expect("a pool that listens on all addresses");
        assert_eq!((pool.children, pool.user.as_deref()), (Some(7), Some("other")));
        for unknown in ["127.0.0.1:9001", "10.0.0.1:9001", "unix:/run/php/none.sock", "127.0.0.1:80"] {
            assert_eq!(children_of(POOLS, unknown), None, "{unknown}");
        }
        let named = "[a]\nlisten = localhost:9000\npm.max_children = 3";
        assert_eq!(children_of(named, "127.0.0.1:9000"), Some(3));
        assert_eq!(children_of(named, "10.0.0.1:9000"), None);
    }

    #[test]
    fn file_of_a_master_is_in_its_title_or_its_options() {
        let file = |line: &str| file_of_master(line, Path::new("/srv"));
        let path = |path: &str| Some(PathBuf::from(path));
        let title = "php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)\0\0";
        assert_eq!(file(title), path("/etc/php/8.2/fpm/php-fpm.conf"));
        assert_eq!(file("/usr/sbin/php-fpm8.2\0-y\0/a/fpm.conf\0-F\0"), path("/a/fpm.conf"));
        assert_eq!(file("php-fpm\0-F\0--fpm-config\0fpm.conf\0"), path("/srv/fpm.conf"));
        assert_eq!(file("php-fpm\0--fpm-config=/b.conf\0"), path("/b.conf"));
        for other in ["php-fpm: pool www\0", "php-fpm\0-F\0", "vim\0-y\0/etc/shadow\0", "", "php-fpm\0-y\0"] {
            assert_eq!(file(other), None, "{other}");
        }
    }

    #[test]
    fn invalid_numbers_and_absent_pools_give_nothing() {
        for text in [
            "",
            "[www",
            "listen",
            "[w]\nlisten=9000\npm.max_children=0",
            "[w]\nlisten=9000\npm.max_children=many",
        ] {
            assert_eq!(children_of(text, "127.0.0.1:9000"), None, "{text}");
        }
        assert_eq!(of_versions(Path::new("/nowhere"), "127.0.0.1:9000"), None);
        assert_eq!(read(Path::new("/dev/null")), None);
    }

    #[test]
    fn sockets_are_the_same_through_links_and_files_are_found_in_order() {
        let folder = std::env::temp_dir().join(format!("myriad-pools-{}", std::process::id()));
        let pool = folder.join("8.9/fpm/pool.d");
        std::fs::create_dir_all(&pool).expect("folder");
        let (socket, link) = (folder.join("www.sock"), folder.join("php.sock"));
        std::fs::write(&socket, "").expect("file");
        std::os::unix::fs::symlink(&socket, &link).expect("link");
        let text = format!("[www]\nlisten = {}\npm.max_children = 9\n", socket.display());
        std::fs::write(pool.join("www.conf"), &text).expect("file");
        std::fs::write(pool.join("www.conf.old"), "").expect("file");
        assert_eq!(pools(&pool), [pool.join("www.conf")]);
        let address = format!("unix:{}", link.display());
        let children = || of_versions(&folder, &address).and_then(|pool| pool.children);
        assert_eq!(children(), Some(9));
        // A file that is read later adds to a pool, such as that of `myriad tune`.
        std::fs::write(
            pool.join("zz-myriad.conf"),
            "[global]\nprocess.max = 4\n[www]\npm.max_children = 12\n",
        )
        .expect("file");
        assert_eq!(children(), Some(12));
        assert_eq!(children_of(&text, &format!("unix:{}", link.display())), Some(9));
        std::fs::remove_dir_all(&folder).expect("clean");
    }
}
