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
    pools(Path::new(FOLDERS)).into_iter().find_map(|file| of_file(&read(&file)?, php))
}

/// Files of pools, in order: `PHP/VERSION/fpm/pool.d/*.conf`.
fn pools(php: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.take(FILES).map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let files = below(php).into_iter().flat_map(|version| below(&version.join("fpm/pool.d")));
    files.filter(|path| path.extension().is_some_and(|end| end == "conf")).take(FILES).collect()
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

/// `pm.max_children` that a file of php-fpm gives for the pool at an address. Sections are pools, `;` begins a comment.
fn of_file(text: &str, php: &str) -> Option<u32> {
    let (mut pool, mut listens, mut children) = ("", false, None);
    for line in text.lines().map(str::trim).chain(["[]"]) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            if listens && children.is_some() {
                return children;
            }
            (pool, listens, children) = (name, false, None);
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            match key.trim() {
                "listen" => listens = is_same(&value.replace("$pool", pool), php),
                "pm.max_children" => children = value.parse().ok().filter(|number| *number > 0),
                _ => {}
            }
        }
    }
    None
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
        assert_eq!(of_file(POOLS, "unix:/run/php/www.sock"), Some(12));
        assert_eq!(of_file(POOLS, "127.0.0.1:9000"), Some(7), "it listens on every address");
        for unknown in ["127.0.0.1:9001", "10.0.0.1:9001", "unix:/run/php/none.sock", "127.0.0.1:80"] {
            assert_eq!(of_file(POOLS, unknown), None, "{unknown}");
        }
        let named = "[a]\nlisten = localhost:9000\npm.max_children = 3";
        assert_eq!(of_file(named, "127.0.0.1:9000"), Some(3));
        assert_eq!(of_file(named, "10.0.0.1:9000"), None);
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
            assert_eq!(of_file(text, "127.0.0.1:9000"), None, "{text}");
        }
        assert!(pools(Path::new("/nowhere")).is_empty());
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
        assert_eq!(pools(&folder), [pool.join("www.conf")]);
        assert_eq!(of_file(&text, &format!("unix:{}", link.display())), Some(9));
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
