//! Disk tier of the page cache.

mod clock;
mod errors;
mod folders;
mod restarts;

use std::fs;
use std::path::{Path, PathBuf};

use myriad_tests::{Cached, Call, Server, wait_for};

/// Sends a page with the number of the request.
fn numbered(call: &mut Call) {
    let text = format!("page {}", call.number);
    call.answer("Content-Type: text/plain", text);
}

const SITE: Cached<'static> = Cached {
    main: "",
    http: "",
    zone: "levels=1:2",
    key: "$scheme$request_method$host$request_uri",
    server: "fastcgi_cache_valid 200 1h;",
};

/// Returns the files in the folder of a zone, without its hidden files.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn wait_for_files(server: &Server, count: usize) {
    wait_for(&format!("{count} files"), || files(&server.path("cache")).len() == count);
}

/// Returns the cache file name of a target in nginx.
fn file_of(server: &Server, target: &str) -> PathBuf {
    use md5::{Digest, Md5};
    let digest = Md5::digest(format!("httpGETlocalhost{target}"));
    let name = digest.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
    server.path("cache").join(&name[31..]).join(&name[29..31]).join(name)
}
