//! testssl.sh on a site with the preset: no finding worse than "low".

use std::process::Command;

use myriad_tests::{Origin, Pebble, PebbleOptions, Place, Server, binary, wait_for, workspace};

/// Runs the quick checks, or all checks (three minutes) with `MYRIAD_TESTSSL=full`, which `make testssl` sets.
#[test]
fn preset_by_https_leaves_nothing_to_complain_of() {
    let (place, tls) = (Place::new(), Place::new());
    let options = PebbleOptions {
        http_port: place.port,
        tls_port: tls.port,
        short_s: None,
        external_accounts: false,
        refused_nonces: 0,
        slow_s: None,
    };
    let pebble = Pebble::start(&place, &options);
    pebble.save_root(&place);
    place.write("site/index.php", "<?php");
    let origin = Origin::start(|call| call.answer("Content-Type: text/html", "<p>a site</p>"));
    place.write("site/wp-includes/version.php", "<?php");
    let mut command = Command::new(binary());
    command.arg("wordpress").arg("--root").arg(place.path("site")).args([
        "--php",
        &origin.address,
        "--php-later",
    ]);
    command.arg("--prefix").arg(place.folder()).args(["--domain", "one.test"]);
    command.args(["--listen", &format!("127.0.0.1:{}", place.port)]);
    command.args(["--https-listen", &format!("127.0.0.1:{}", tls.port)]);
    command.args(["--acme-directory", &pebble.directory(), "--acme-ca"]).arg(place.path("pebble-ca.crt"));
    let server = Server::run(place, command);
    wait_for("the certificate", || server.read("stderr").contains("obtained the certificate for one.test"));
    let mut testssl = Command::new(workspace().join("scripts/testssl"));
    if std::env::var_os("MYRIAD_TESTSSL").is_none_or(|form| form != "full") {
        testssl.arg("--quick");
    }
    testssl.arg("--authority").arg(server.path("issued-by.crt"));
    let output = testssl.args(["one.test", &tls.port.to_string()]).output().expect("testssl runs");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(", 0 worse than low"), "{said}");
}
