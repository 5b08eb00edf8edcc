//! Automatic certificates, issued by Pebble.
//!
//! covers: ssl_verify

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use myriad_tests::{
    EXTERNAL_KEY, Pebble, PebbleOptions, Place, QuicVisitor, Request, Server, Signal, wait_for,
};

/// Returns a folder with a port for TLS, `@TLS@`, and a Pebble that validates there.
fn with_pebble(change: impl FnOnce(&mut PebbleOptions)) -> (Place, Pebble) {
    let mut place = Place::new();
    let tls = Place::new();
    let tls_port = tls.port;
    let mut options = PebbleOptions {
        http_port: place.port,
        tls_port,
        short_s: None,
        external_accounts: false,
        refused_nonces: 0,
        slow_s: None,
    };
    change(&mut options);
    let pebble = Pebble::start(&place, &options);
    place.set("TLS", &tls_port.to_string());
    place.set("DIRECTORY", &pebble.directory());
    place.set("DNS", &format!("127.0.0.1:{}", pebble.names.port));
    pebble.save_root(&place);
    place.write("html/page.txt", "a page");
    (place, pebble)
}

/// Returns an issuer with further directives, and servers.
fn http(issuer: &str, servers: &str) -> String {
    format!(
        "acme_issuer pebble {{ uri @DIRECTORY@; ssl_trusted_certificate pebble-ca.crt; \
           state_path state; accept_terms_of_service; {issuer} }} {servers}"
    )
}

/// Returns a server on both ports that orders certificates for its names.
fn server(names: &str, extra: &str) -> String {
    format!(
        "server {{ listen 127.0.0.1:@PORT@; listen 127.0.0.1:@TLS@ ssl; server_name {names}; \
           acme_certificate pebble; ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key; \
           root @DIR@/html; {extra} }}"
    )
}

/// Returns the output of curl for the page of a host by https, with verification against the root of Pebble; empty on
/// failure.
fn page(server: &Server, host: &str) -> String {
    let port = server.fill("@TLS@");
    let output = Command::new("curl")
        .args(["-s", "--max-time", "20", "--noproxy", "*", "--resolve", &format!("{host}:{port}:127.0.0.1")])
        .arg("--cacert")
        .arg(server.path("issued-by.crt"))
        .arg(format!("https://{host}:{port}/page.txt"))
        .output()
        .expect("curl runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns serial number and key type of the certificate of a host; `None` if the handshake is rejected.
fn certificate(server: &Server, host: &str) -> Option<String> {
    let port = server.fill("@TLS@");
    let shown = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-servername", host])
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let start = text.find("-----BEGIN CERTIFICATE-----")?;
    server.write("shown.pem", &text[start..]);
    let read = Command::new("openssl")
        .args(["x509", "-noout", "-serial", "-text", "-in"])
        .arg(server.path("shown.pem"))
        .output()
        .expect("openssl runs");
    Some(String::from_utf8_lossy(&read.stdout).into_owned())
}

fn serial(server: &Server, host: &str) -> Option<String> {
    certificate(server, host)?.lines().next().map(str::to_owned)
}

/// Returns the files of the issuer's state.
fn state(place: &Place) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(place.path("state"));
    let mut files: Vec<_> = folder.into_iter().flatten().map(|entry| entry.expect("entry").path()).collect();
    files.sort();
    files
}

/// Waits for two state files (account key and certificate) and returns them: the supervisor writes them after the
/// worker has sent them.
fn kept(place: &Place) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    wait_for("the issuer's state", || {
        files = state(place);
        let are_whole = files.iter().all(|file| file.extension().is_none_or(|extension| extension != "new"));
        files.len() == 2 && are_whole
    });
    files
}

#[test]
fn certificate_for_several_names_comes_while_the_site_is_served() {
    let (place, pebble) = with_pebble(|_| {});
    let names = "one.test .two.test";
    let redirects = "location / { return 301 https://$host$request_uri; } location = /page.txt { }";
    pebble.pause();
    let server = Server::start(place, &http("contact admin@one.test;", &server(names, redirects)));
    // While the order is pending, plain requests are served and handshakes fail.
    assert_eq!(server.fetch(&Request::get("/page.txt")).text(), "a page");
    assert_eq!(serial(&server, "one.test"), None);
    pebble.resume();
    server.log_has("obtained the certificate for one.test, two.test, www.two.test");
    for host in ["one.test", "two.test", "www.two.test"] {
        assert_eq!(page(&server, host), "a page", "{host}");
    }
    assert_eq!(pebble.said("There are now 1 orders in the db"), 1);
    // A path that is not a pending token is handled by the site.
    assert_eq!(server.get("/.well-known/acme-challenge/token").status, 301);
    let files = kept(&server);
    let listed = Command::new(myriad_tests::binary())
        .args(["certificates", "-c", "myriad.conf", "-p"])
        .arg(server.folder())
        .output()
        .expect("myriad runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for part in ["one.test, two.test, www.two.test", " (in ", "about 20", "acme pebble"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&server.path("state")), 0o700);
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        // If root starts the server, the worker has fewer privileges: the state remains owned by root.
        let owner = std::fs::metadata(file).expect("metadata").uid();
        assert_eq!(owner, std::fs::metadata(server.folder()).expect("metadata").uid());
    }
}

#[test]
fn handshakes_prove_names_where_no_plain_port_is_open() {
    let (place, pebble) = with_pebble(|_| {});
    let servers = "server { listen 127.0.0.1:@TLS@ ssl; server_name one.test; acme_certificate pebble key=rsa:2048; \
                     ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key; root @DIR@/html; }";
    let server = Server::start(place, &http("challenge tls-alpn-01;", servers));
    server.log_has("obtained the certificate for one.test");
    assert_eq!(page(&server, "one.test"), "a page");
    let shown = certificate(&server, "one.test").expect("a certificate");
    assert!(shown.contains("rsaEncryption") && shown.contains("2048 bit"), "{shown}");
    assert_eq!(pebble.said("set VALID by completed challenge"), 1);
    // A validation request without a pending order is not answered.
    let port = server.fill("@TLS@");
    let asked = Command::new("openssl")
        .args([
            "s_client",
            "-connect",
            &format!("127.0.0.1:{port}"),
            "-servername",
            "one.test",
            "-alpn",
            "acme-tls/1",
        ])
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    assert!(String::from_utf8_lossy(&asked.stderr).contains("no application protocol"));
}

#[test]
fn restart_goes_on_with_the_certificate_and_a_new_order_with_the_account() {
    let (place, pebble) = with_pebble(|_| {});
    let mut server = Server::start(place, &http("", &self::server("one.test", "")));
    server.log_has("obtained the certificate for one.test");
    let first = serial(&server, "one.test").expect("a certificate");
    kept(&server);
    let key = server.read("state/account.key");
    server.restart(Signal::KILL);
    assert_eq!(serial(&server, "one.test").as_ref(), Some(&first));
    assert_eq!(page(&server, "one.test"), "a page");
    assert_eq!(pebble.said("Issued certificate"), 1);
    // For another name, the existing account is used.
    server.reload(&http("", &self::server("two.test", "")));
    server.log_has("obtained the certificate for two.test");
    assert_eq!(server.read("state/account.key"), key);
    assert_eq!(pebble.said("There are now 2 accounts"), 0);
    assert_eq!(pebble.said("Issued certificate"), 2);
}

#[test]
fn short_lived_certificate_is_renewed_and_used_without_a_restart() {
    let (place, pebble) = with_pebble(|options| options.short_s = Some(24));
    if !pebble.is_new() {
        eprintln!("NOT TESTED: this Pebble is too old to know profiles; renewal is left out");
        return;
    }
    let server = Server::start(place, &http("profile short require;", &self::server("one.test", "")));
    server.log_has("obtained the certificate for one.test");
    let first = serial(&server, "one.test").expect("a certificate");
    server.log_has("renewing the certificate for one.test");
    wait_for("another certificate", || serial(&server, "one.test").is_some_and(|now| now != first));
    assert_eq!(page(&server, "one.test"), "a page");
    // The order contains the certificate that it replaces.
    assert!(pebble.said("has been marked as replaced") >= 1);
    kept(&server);
}

#[test]
fn account_of_elsewhere_is_asked_for_and_bound() {
    let (place, _pebble) = with_pebble(|options| options.external_accounts = true);
    place.write("account.mac", format!("{EXTERNAL_KEY}\n"));
    let server = Server::start(place, &http("", &self::server("one.test", "")));
    server.log_has("add external_account_key to acme_issuer \"pebble\"");
    assert_eq!(server.get("/page.txt").text(), "a page");
    server.reload(&http("external_account_key kid-1 account.mac;", &self::server("one.test", "")));
    server.log_has("obtained the certificate for one.test");
    assert_eq!(page(&server, "one.test"), "a page");
}

#[test]
fn rejected_nonce_is_replaced_and_request_retried() {
    let (place, pebble) = with_pebble(|options| options.refused_nonces = 60);
    let server = Server::start(place, &http("account_key ecdsa:384;", &self::server("one.test", "")));
    server.log_has("obtained the certificate for one.test");
    assert!(!server.read("error.log").contains("[error]"));
    assert_eq!(pebble.said("Issued certificate"), 1);
}

#[test]
fn failed_domain_validation_is_logged_with_reason_and_retried_later() {
    let (place, pebble) = with_pebble(|_| {});
    // No process listens at this address.
    pebble.names.put("two.test", "127.0.0.9".parse().expect("address"));
    let both = format!("{}{}", self::server("one.test", ""), self::server("two.test", ""));
    let server = Server::start(place, &http("", &both));
    server.log_has("the certificate authority could not validate \"two.test\"");
    server.log_has("the authority connects by HTTP to port 80");
    server.log_has("TLS handshakes are refused until a certificate is issued; next attempt in 6");
    // The other order is not delayed, and the site serves both names.
    server.log_has("obtained the certificate for one.test");
    assert_eq!(page(&server, "one.test"), "a page");
    assert_eq!(server.fetch(&Request::get("/page.txt").host("two.test")).text(), "a page");
    // After the repair and a reload, the order is retried immediately.
    pebble.names.put("two.test", "127.0.0.1".parse().expect("address"));
    server.reload(&http("", &both));
    server.log_has("obtained the certificate for two.test");
    assert_eq!(page(&server, "two.test"), "a page");
}

#[test]
fn reload_in_the_middle_of_an_order_lets_it_go_on() {
    let (place, pebble) = with_pebble(|options| options.slow_s = Some(3));
    let server = Server::start(place, &http("", &self::server("one.test", "")));
    wait_for("the order", || pebble.said("Added order") == 1);
    server.reload(&http("", &self::server("one.test", "location /new { return 200 new; }")));
    server.log_has("the new configuration is in effect");
    assert_eq!(server.get("/new").text(), "new");
    server.log_has("obtained the certificate for one.test");
    assert_eq!(page(&server, "one.test"), "a page");
    assert_eq!((pebble.said("Added order"), pebble.said("Issued certificate")), (1, 1));
}

#[test]
fn servers_that_order_the_same_share_one_order() {
    let (place, pebble) = with_pebble(|_| {});
    let names = "one.test two.test";
    let listed = "server { listen 127.0.0.1:@TLS@ ssl; server_name other.test; \
                    acme_certificate pebble one.test two.test; ssl_certificate $acme_certificate; \
                    ssl_certificate_key $acme_certificate_key; return 200 other; }";
    let server = Server::start(place, &http("", &format!("{}{listed}", self::server(names, ""))));
    server.log_has("obtained the certificate for one.test, two.test");
    assert_eq!(serial(&server, "other.test"), serial(&server, "one.test"));
    assert_eq!(pebble.said("Added order"), 1);
    kept(&server);
}

#[test]
fn resolver_of_the_configuration_looks_the_authority_up() {
    let (mut place, pebble) = with_pebble(|_| {});
    // A name that only this DNS server resolves; its certificate is for another name, which this test does not check.
    let uri = pebble.directory().replace("localhost", "authority.test");
    place.set("ELSEWHERE", &uri);
    let text = format!(
        "resolver @DNS@ ipv6=off; acme_issuer pebble {{ uri @ELSEWHERE@; ssl_verify off; state_path off; \
           accept_terms_of_service; }} {}",
        self::server("one.test", "")
    );
    let server = Server::start(place, &text);
    server.log_has("obtained the certificate for one.test");
    assert!(state(&server).is_empty(), "no state is stored with `state_path off`");
}

#[test]
fn preset_serves_a_domain_by_https_once_its_certificate_is_there() {
    let (place, pebble) = with_pebble(|_| {});
    place.write("site/index.php", "<?php");
    place.write("site/wp-includes/version.php", "<?php");
    place.write("site/style.css", "a { color: red }");
    let mut command = Command::new(myriad_tests::binary());
    let (http_port, tls_port) = (place.port.to_string(), place.fill("@TLS@"));
    command.arg("wordpress").arg("--root").arg(place.path("site")).args([
        "--php",
        "127.0.0.1:1",
        "--php-later",
    ]);
    command.arg("--prefix").arg(place.folder()).args(["--domain", "one.test,www.one.test"]);
    command.args([
        "--listen",
        &format!("127.0.0.1:{http_port}"),
        "--https-listen",
        &format!("127.0.0.1:{tls_port}"),
    ]);
    command.args(["--acme-directory", &pebble.directory(), "--email", "admin@one.test"]);
    command.arg("--acme-ca").arg(place.path("pebble-ca.crt"));
    pebble.pause();
    let server = Server::run(place, command);
    let css = || Request::get("/style.css").host("one.test");
    // There is no https server to redirect to yet.
    assert_eq!(server.fetch(&css()).text(), "a { color: red }");
    pebble.resume();
    wait_for("the certificate", || {
        server.read("stderr").contains("obtained the certificate for one.test, www.one.test")
    });
    let led = server.fetch(&css());
    let there = format!("https://one.test:{tls_port}/style.css");
    assert_eq!((led.status, led.field("Location")), (301, Some(there.as_str())));
    assert_eq!(server.fetch(&Request::post("/wp-login.php", "log=x").host("one.test")).status, 308);
    assert_eq!(
        server.fetch(&Request::get("/.well-known/acme-challenge/x").host("one.test")).field("Location"),
        None
    );
    let output = Command::new("curl")
        .args(["-sL", "--http2", "--max-time", "20", "--noproxy", "*", "-D", "-"])
        .args(["--resolve", &format!("one.test:{http_port}:127.0.0.1")])
        .args(["--resolve", &format!("one.test:{tls_port}:127.0.0.1")])
        .arg("--cacert")
        .arg(server.path("issued-by.crt"))
        .arg(format!("http://one.test:{http_port}/style.css"))
        .output()
        .expect("curl runs");
    let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(said.contains("http/2 200") && said.ends_with("a { color: red }"), "{said}");
    assert!(said.contains("strict-transport-security: max-age=15552000\r\n"), "{said}");
    assert!(said.contains(&format!("alt-svc: h3=\":{tls_port}\"")), "{said}");
    let mut visitor = QuicVisitor::new().connect(tls_port.parse().expect("a port")).expect("a connection");
    let page = visitor.fetch(&css()).expect("an answer");
    assert_eq!((page.status, page.text().as_str()), (200, "a { color: red }"));
    assert_eq!(page.field("strict-transport-security"), Some("max-age=15552000"));
    wait_for("the account's key", || server.path("acme/acme/account.key").exists());
}
