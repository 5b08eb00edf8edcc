//! The disk tier of the page cache.

mod clock;
mod folders;
mod restarts;
mod trouble;

use std::fs;
use std::path::{Path, PathBuf};

use myriad_tests::{Cached, Call, Server, wait_for};

/// A page that says how many there were before it.
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

/// The files in a zone's folder, its own hidden ones aside.
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

/// The name that nginx gives to the page of a target.
fn file_of(server: &Server, target: &str) -> PathBuf {
    use md5::{Digest, Md5};
    let digest = Md5::digest(format!("httpGETlocalhost{target}"));
    let name = digest.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
    server.path("cache").join(&name[31..]).join(&name[29..31]).join(name)
}
