//! WebDAV with the client test suite litmus.
//!
//! covers: dav_ext_methods dav_ext_lock dav_ext_lock_zone

use std::process::Command;

use myriad_tests::{Place, Server};

#[test]
fn litmus_finds_nothing_wrong_with_basics_and_with_http() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("html")).expect("a root");
    let http = "dav_ext_lock_zone zone=locks:1m; server { listen 127.0.0.1:@PORT@; root @DIR@/html; location / {
         dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK; dav_ext_lock zone=locks; } }";
    let server = Server::start_with(place, "user root;", http);
    let mut litmus = Command::new("litmus");
    // It writes its log to its working folder.
    let scratch = Place::new();
    litmus
        .arg(format!("http://127.0.0.1:{}/", server.port))
        .current_dir(scratch.folder())
        .env("TESTS", "basic http");
    let told = litmus.output().expect("the program of the package litmus");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("of 16 tests run: 16 passed") && told.contains("of 4 tests run: 4 passed"),
        "{told}"
    );
}
