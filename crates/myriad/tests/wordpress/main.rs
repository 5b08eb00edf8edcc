//! Tests of `myriad wordpress` that need no PHP.

#[path = "../support/mod.rs"]
mod support;

mod configuration;
mod denied_paths;
mod installing;
mod layouts;
mod links;
mod options;
mod running;
mod sites;
mod user;

use std::fs;
use std::process::Child;

use support::{ServerSite, myriad, wait_for};

fn site_with_wordpress() -> ServerSite {
    let site = ServerSite::new();
    fs::create_dir_all(site.path("html/wp-includes")).expect("folders");
    site.write("html/index.php", "<?php\n");
    site
}

/// Returns an unused address, for tests of a configuration.
fn free_address(site: &ServerSite) -> String {
    format!("127.0.0.1:{}", site.port)
}

fn command(site: &ServerSite, arguments: &[&str]) -> std::process::Command {
    let mut command = myriad();
    command
        .args(["wordpress", "--root"])
        .arg(site.path("html"))
        .arg("--prefix")
        .arg(&site.folder)
        .arg("--php-later")
        .args(arguments);
    command
}

/// Server that is killed on drop, whether its test passes or fails.
struct KilledServer(Child);

impl Drop for KilledServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for KilledServer {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for KilledServer {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// Starts a server that must fail with status 1. Returns its standard error.
fn refused(site: &ServerSite, command: &mut std::process::Command) -> String {
    let errors = fs::File::create(site.path("refused")).expect("a file");
    let mut child = KilledServer(command.stderr(errors).spawn().expect("start"));
    let mut status = None;
    wait_for("a start to be refused", || {
        status = child.try_wait().expect("wait");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(1));
    site.read("refused")
}

/// Starts a server whose prefix is the folder of the site, and waits for its pid file and its greeting. Its output goes
/// to the files `out` and `err`.
fn started(site: &ServerSite, arguments: &[&str]) -> KilledServer {
    let output = |name: &str| fs::File::create(site.path(name)).expect(name);
    let mut server = command(site, arguments);
    server.args(["--listen", &format!("127.0.0.1:{}", site.port)]);
    let mut child = KilledServer(server.stdout(output("out")).stderr(output("err")).spawn().expect("start"));
    wait_for("a server", || {
        assert!(child.try_wait().expect("wait").is_none(), "the server exited: {}", site.read("err"));
        site.read("myriad.pid") == format!("{}\n", child.id()) && site.read("err").contains("  stop ")
    });
    child
}

fn asked(site: &ServerSite, word: &str) -> std::process::Output {
    myriad().args(["wordpress", word, "--prefix"]).arg(&site.folder).output().expect(word)
}
