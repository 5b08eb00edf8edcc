//! Children of php-fpm: as many requests as it has children are sent to it at once, and no more.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Children that are assumed if neither `--php-children` nor a pool's file says how many there are: more than most pools have,
/// so that none is idle while requests wait, and few enough that a flood of requests waits here and not in php-fpm's queue.
pub(super) const UNKNOWN: u32 = 32;

/// Folder that holds one folder for each installed version of PHP.
const FOLDERS: &str = "/etc/php";
/// Most files that are read, and most bytes of each.
const FILES: usize = 64;
const FILE_BYTES: u64 = 256 << 10;

/// The value of `--php-children`.
pub(super) fn parse(value: &str) -> Result<u32, String> {
    let number = value.parse::<u32>().ok().filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| {
        format!(
            "wordpress: --php-children \"{value}\" is no number of children; write `pm.max_children` of php-fpm's pool"
        )
    })
}

/// `pm.max_children` of the pool that listens on an address, as `fastcgi_pass` takes it. Files that cannot be read are passed
/// over.
pub(super) fn of_pool(php: &str) -> Option<u32> {
    of_versions(Path::new(FOLDERS), php)
}

/// The same below a folder of versions. Files of one version are one text: a later one may say more of a pool.
fn of_versions(folder: &Path, php: &str) -> Option<u32> {
    let versions = below(folder).into_iter().map(|version| pools(&version.join("fpm/pool.d")));
    versions.filter(|files| !files.is_empty()).find_map(|files| of_text(&text_of(&files), php))
}

/// The same, also of the file that a php-fpm which runs was started with: its name stands in the title of the process.
pub(crate) fn of_running(php: &str) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let titles = processes.filter_map(|entry| read(&entry.path().join("cmdline")));
    let files = titles.filter_map(|title| {
        let file = title.strip_prefix("php-fpm: master process (")?.split(')').next()?;
        Some(PathBuf::from(file))
    });
    let mut texts = files.map(|file| text_of(&with_included(file)));
    texts.find_map(|text| of_text(&text, php)).or_else(|| of_pool(php))
}

/// A file of php-fpm and those that it includes: `include = /etc/php/8.2/fpm/pool.d/*.conf`.
fn with_included(file: PathBuf) -> Vec<PathBuf> {
    let text = read(&file).unwrap_or_default();
    let patterns =
        text.lines().filter_map(|line| line.trim().strip_prefix("include")?.trim().strip_prefix('='));
    let included = patterns.filter_map(|pattern| Path::new(pattern.trim()).parent().map(pools)).flatten();
    [file].into_iter().chain(included).collect()
}

/// What is in a folder, in order.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.take(FILES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Files of a folder of pools, in order.
fn pools(folder: &Path) -> Vec<PathBuf> {
    let files = below(folder).into_iter();
    files.filter(|path| path.extension().is_some_and(|end| end == "conf")).take(FILES).collect()
}

/// Text of files that php-fpm reads one after the other.
fn text_of(files: &[PathBuf]) -> String {
    files.iter().filter_map(|file| read(file)).collect::<Vec<_>>().join(
        "
",
    )
}

/// Text of a plain file, up to the bound on bytes. Other kinds are not opened: a pipe would block.
fn read(path: &Path) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// `pm.max_children` that a text of php-fpm gives for the pool at an address. Sections are pools, `;` begins a comment; a section that
/// comes again says more of its pool, and what it says holds.
fn of_text(text: &str, php: &str) -> Option<u32> {
    let mut pools: Vec<(&str, bool, Option<u32>)> = Vec::new();
    let mut at = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            at = pools.iter().position(|(known, ..)| *known == name).or_else(|| {
                pools.push((name, false, None));
                Some(pools.len() - 1)
            });
        } else if let (Some((key, value)), Some(at)) = (line.split_once('='), at) {
            let (pool, listens, children) = &mut pools[at];
            let value = value.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            match key.trim() {
                "listen" => *listens = is_same(&value.replace("$pool", pool), php),
                "pm.max_children" => *children = value.parse().ok().filter(|number| *number > 0),
                _ => {}
            }
        }
    }
    pools.into_iter().find_map(|(_, listens, children)| children.filter(|_| listens))
}

/// Whether a pool's `listen` is the address of a site's PHP: the same socket, through links too, or the same port at an address
/// on which the pool listens.
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

    const POOLS: &str = "; pm.max_children = 1\n[www]\nuser = www-data\nlisten = /run/php/$pool.sock ; here\n\
                         pm.max_children = 12\n[other]\npm.max_children=7\nlisten = 9000\n\
                         [third]\nlisten = 127.0.0.1:9001\n";

    #[test]
    fn children_are_those_of_the_pool_that_listens_there() {
        assert_eq!(of_text(POOLS, "unix:/run/php/www.sock"), Some(12));
        assert_eq!(of_text(POOLS, "127.0.0.1:9000"), Some(7), "it listens on every address");
        for unknown in ["127.0.0.1:9001", "10.0.0.1:9001", "unix:/run/php/none.sock", "127.0.0.1:80"] {
            assert_eq!(of_text(POOLS, unknown), None, "{unknown}");
        }
        let named = "[a]\nlisten = localhost:9000\npm.max_children = 3";
        assert_eq!(of_text(named, "127.0.0.1:9000"), Some(3));
        assert_eq!(of_text(named, "10.0.0.1:9000"), None);
    }

    #[test]
    fn what_is_no_number_or_no_pool_tells_nothing() {
        for text in [
            "",
            "[www",
            "listen",
            "[w]\nlisten=9000\npm.max_children=0",
            "[w]\nlisten=9000\npm.max_children=many",
        ] {
            assert_eq!(of_text(text, "127.0.0.1:9000"), None, "{text}");
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
        assert_eq!(of_versions(&folder, &address), Some(9));
        // What is read after it says more of the pool, as `myriad tune` writes it.
        std::fs::write(
            pool.join("zz-myriad.conf"),
            "[global]\nprocess.max = 4\n[www]\npm.max_children = 12\n",
        )
        .expect("file");
        assert_eq!(of_versions(&folder, &address), Some(12));
        assert_eq!(of_text(&text, &format!("unix:{}", link.display())), Some(9));
        std::fs::remove_dir_all(&folder).expect("clean");
    }

    #[test]
    fn the_option_is_a_number_of_children() {
        assert_eq!(parse("5"), Ok(5));
        for bad in ["0", "-1", "many", "", "100001"] {
            assert!(parse(bad).expect_err("refused").contains("--php-children"), "{bad}");
        }
    }
}
