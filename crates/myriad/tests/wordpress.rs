//! `myriad wordpress` as far as it goes without PHP.

mod support;

use std::fs;
use std::os::unix::net::UnixListener;

use support::{Site, myriad, stderr, stdout};

fn site_with_wordpress() -> Site {
    let site = Site::new();
    fs::create_dir_all(site.path("html/wp-includes")).expect("folders");
    site.write("html/index.php", "<?php\n");
    site
}

fn command(site: &Site, arguments: &[&str]) -> std::process::Command {
    let mut command = myriad();
    command
        .args(["wordpress", "--root"])
        .arg(site.path("html"))
        .arg("--prefix")
        .arg(&site.folder)
        .args(arguments);
    command
}

#[test]
fn print_shows_a_configuration_that_passes_the_test() {
    let site = site_with_wordpress();
    let socket = site.path("php.sock");
    let _php = UnixListener::bind(&socket).expect("socket");
    let php = socket.to_str().expect("path");
    let printed =
        command(&site, &["--php", php, "--listen", "127.0.0.1:8099", "--print"]).output().expect("print");
    assert!(printed.status.success(), "{}", stderr(&printed));
    let text = stdout(&printed);
    assert!(text.contains(&format!("fastcgi_pass unix:{php};")) && text.contains("listen 127.0.0.1:8099;"));
    site.write("site.conf", &text);
    let tested =
        myriad().arg("-t").arg("-p").arg(&site.folder).args(["-c", "site.conf"]).output().expect("test");
    assert!(tested.status.success(), "{}", stderr(&tested));
    let direct = command(&site, &["--php", php, "-t"]).output().expect("test");
    assert!(direct.status.success(), "{}", stderr(&direct));
}

#[test]
fn a_folder_that_is_not_wordpress_is_refused_with_a_remedy() {
    let site = site_with_wordpress();
    fs::remove_file(site.path("html/index.php")).expect("remove");
    let output = command(&site, &["--php", "/nowhere.sock", "-t"]).output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("holds no index.php"), "{}", stderr(&output));
}

#[test]
fn a_missing_php_socket_is_a_warning() {
    let site = site_with_wordpress();
    let output = command(&site, &["--php", "/nowhere/php.sock", "-t"]).output().expect("run");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("[warn]") && stderr(&output).contains("502"), "{}", stderr(&output));
}
