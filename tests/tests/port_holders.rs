//! `myriad wordpress` on a machine with a running nginx or Apache: instructions for takeover and return.

use std::net::TcpStream;
use std::process::{Command, Stdio};

use myriad_tests::{Apache, Php, Place, binary, signal, wait_for};
use rustix::process::Signal;

/// Returns the messages of a start of `myriad wordpress` on a port.
fn refused(place: &Place, port: u16) -> String {
    let mut command = Command::new(binary());
    command
        .args(["wordpress", "--php-later", "--php"])
        .arg(place.path("php.sock"))
        .arg("--root")
        .arg(place.path("html"));
    command.arg("--prefix").arg(place.path("prefix")).args(["--listen", &format!("127.0.0.1:{port}")]);
    let output = command.output().expect("myriad starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn site() -> (Place, Php) {
    let mut place = Place::new();
    place.write("html/index.php", "<?php");
    place.write("html/wp-includes/version.php", "<?php");
    place.write("html/wp-config.php", "<?php");
    place.write("html/wp-content/index.php", "<?php");
    let php = Php::start(&mut place);
    (place, php)
}

#[test]
fn nginx_that_holds_the_port_is_named_with_the_way_to_take_over_and_back() {
    let (place, _php) = site();
    let text = "daemon off; master_process off; pid @DIR@/nginx.pid; error_log stderr; events { }\n\
                http { access_log off; server { listen 127.0.0.1:@PORT@; return 204; } }";
    place.write("nginx.conf", place.fill(text));
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-p").arg(place.folder()).arg("-c").arg(place.path("nginx.conf")).stderr(Stdio::null());
    let mut nginx = command.spawn().expect("nginx; its package comes with: scripts/install-packages test");
    wait_for("nginx", || TcpStream::connect(("127.0.0.1", place.port)).is_ok());
    let said = refused(&place, place.port);
    signal(nginx.id(), Signal::TERM);
    nginx.wait().expect("ended");
    for part in [
        "to take over from nginx:",
        "myriad takeover lists the differences",
        "myriad -t -c /etc/nginx/nginx.conf",
        "--domain example.com requests new certificates",
        "systemctl disable --now nginx",
        "to revert: stop Myriad (myriad wordpress stop), and run systemctl enable --now nginx",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn apache_that_holds_the_port_is_named_with_the_way_to_take_over_and_back() {
    let (place, _php) = site();
    let apache = Apache::start(Place::new());
    let said = refused(&place, apache.port);
    for part in [
        "to take over from Apache:",
        "PHP must run in php-fpm",
        "systemctl disable --now apache2",
        "systemctl enable --now apache2",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}
