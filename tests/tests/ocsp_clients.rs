//! Client certificates with revocation checks, with the responder of OpenSSL.
//!
//! covers: ssl_ocsp ssl_ocsp_responder ssl_ocsp_cache

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use myriad_tests::{OcspResponder, Place, Server};

/// Script that creates an authority `root` and an intermediate authority, a client certificate of each with the
/// responder at port `$1`, a certificate of an unrelated authority with the same responder, and a certificate that is
/// not authorized to sign responses.
const AUTHORITY: &str = r#"
set -e
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
sign() {
    key "$1"; openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"; printf '%b' "$4" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -set_serial "$3" -days 2 -extfile "$1.ext" -out "$1.crt"
}
named="authorityInfoAccess=OCSP;URI:http://127.0.0.1:$1/\n"
key root
openssl req -x509 -new -key root.key -subj /CN=root -days 2 -out root.crt
sign client root 16 "$named"
sign middle root 17 "basicConstraints=critical,CA:TRUE\n$named"
sign far middle 18 "$named"
sign other root 19 'basicConstraints=CA:FALSE\n'
key strange; openssl req -x509 -new -key strange.key -subj /CN=strange -days 2 -out strange.crt
sign stranger strange 16 "$named"
cat far.crt middle.crt > chain.crt
line() { printf '%s\t960101000000Z\t%s\t%s\tunknown\t/CN=%s\n' "$1" "$2" "$3" "$3"; }
{ line V '' 10; line V '' 11; } > good
line V '' 12 > below
{ line R 260101000000Z 10; line R 260101000000Z 11; } > revoked
"#;

fn place() -> Place {
    let mut place = Place::new();
    let port = Place::new().port;
    place.set("OCSP", &port.to_string());
    let made = Command::new("sh")
        .args(["-c", AUTHORITY, "sh", &port.to_string()])
        .current_dir(place.folder())
        .output()
        .expect("sh runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    place
}

fn config(lines: &str) -> String {
    format!(
        "add_header X-Verify $ssl_client_verify always;
         server {{ listen 127.0.0.1:@PORT@ ssl; http2 on; ssl_certificate root.crt; ssl_certificate_key root.key;
         ssl_client_certificate root.crt; ssl_verify_depth 2; {lines} location / {{ return 200 'served\n'; }} }}"
    )
}

const ON: &str = "ssl_verify_client on; ssl_ocsp leaf;";

/// Starts curl with a client certificate, or without if the name is empty.
fn begin(server: &Server, who: &str, more: &[&str]) -> Child {
    let mut curl = Command::new("curl");
    curl.args(["-sSki", "--noproxy", "*", "--max-time", "60"]).args(more).current_dir(server.folder());
    if !who.is_empty() {
        let key = if who == "chain" { "far" } else { who };
        curl.args(["--cert", &format!("{who}.crt"), "--key", &format!("{key}.key")]);
    }
    curl.arg(format!("https://127.0.0.1:{}/", server.port));
    curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("curl runs")
}

/// Returns status and verification result of each response.
fn ended(child: Child) -> String {
    let Output { stdout, stderr, .. } = child.wait_with_output().expect("curl ends");
    let text = String::from_utf8_lossy(&stdout).into_owned();
    let mut said = Vec::new();
    for line in text.lines() {
        if let Some(status) = line.strip_prefix("HTTP/") {
            said.push(status.split(' ').nth(1).unwrap_or_default().to_owned());
        } else if let Some((_, verdict)) =
            line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("x-verify"))
        {
            said.push(verdict.to_owned());
        }
    }
    assert!(!said.is_empty(), "{text} {}", String::from_utf8_lossy(&stderr));
    said.join(" ")
}

fn asked(server: &Server, who: &str) -> String {
    ended(begin(server, who, &[]))
}

#[test]
fn certificate_that_was_taken_back_is_refused_and_an_answer_holds_while_it_is_cached() {
    let place = place();
    let responder = OcspResponder::start(&place, "@OCSP@", "good", "root");
    let cached = format!("{ON} ssl_ocsp_cache shared:clients:1m;");
    let server = Server::start(place, &config(&cached));
    assert_eq!(asked(&server, "client"), "200 SUCCESS");
    drop(responder);
    assert_eq!(
        asked(&server, "client"),
        "200 SUCCESS",
        "the responder is not asked while its response is valid"
    );
    let responder = OcspResponder::start(&server, "@OCSP@", "revoked", "root");
    server.reload(&config(&cached));
    server.log_has("the new configuration is in effect");
    assert_eq!(asked(&server, "client"), "200 SUCCESS", "over a reload, too");
    server.reload(&config(&format!("{ON} ssl_ocsp_cache off;")));
    myriad_tests::wait_for("the other configuration", || {
        asked(&server, "client") == "400 FAILED:certificate revoked"
    });
    // As in nginx, a result other than good is a rejection even if the client certificate is optional.
    server.reload(&config("ssl_verify_client optional; ssl_ocsp on;"));
    myriad_tests::wait_for("the other configuration", || asked(&server, "").starts_with("200"));
    assert_eq!(asked(&server, ""), "200 NONE");
    assert_eq!(asked(&server, "client"), "400 FAILED:certificate revoked");
    drop(responder);
}

#[test]
fn each_connection_has_its_authority_asked_over_http2_too() {
    let place = place();
    let responder = OcspResponder::start(&place, "@OCSP@", "good", "root");
    let server = Server::start(place, &config(ON));
    let origin = format!("https://127.0.0.1:{}/", server.port);
    let client = begin(&server, "client", &["--http2", &origin, &origin]);
    assert_eq!(ended(client), "200 SUCCESS 200 SUCCESS 200 SUCCESS");
    drop(responder);
    // A new connection queries the responder again.
    assert_eq!(asked(&server, "client"), "400 FAILED:certificate status request failed");
    server.log_has("OCSP responder failed");
    server.log_has("client SSL certificate verify error: (74:certificate status request failed)");
}

#[test]
fn whole_chain_is_asked_about_or_the_leaf_alone() {
    let place = place();
    // It answers for the intermediate authority, and has no data about certificates of the root, such as that of the
    // intermediate authority.
    let _responder = OcspResponder::start_for(&place, "@OCSP@", "middle", "below", "middle");
    let own = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own_port = own.local_addr().expect("an address").port();
    let server = Server::start(place, &config(ON));
    assert_eq!(asked(&server, "chain"), "200 SUCCESS");
    server.reload(&config("ssl_verify_client on; ssl_ocsp on;"));
    myriad_tests::wait_for("the other configuration", || asked(&server, "chain").starts_with("400"));
    assert_eq!(asked(&server, "chain"), "400 FAILED:certificate status request failed");
    // The configured responder replaces the responder in the certificates.
    let server = Server::start(
        self::place(),
        &config(&format!("{ON} ssl_ocsp_responder http://127.0.0.1:{own_port}/path;")),
    );
    let client = begin(&server, "client", &[]);
    let (mut asks, _) = own.accept().expect("a question");
    let mut text = [0; 12];
    std::io::Read::read_exact(&mut asks, &mut text).expect("the beginning of a question");
    assert_eq!(&text, b"GET /path/ME");
    drop(asks);
    assert_eq!(ended(client), "400 FAILED:certificate status request failed");
}

#[test]
fn unknown_or_wrongly_signed_ocsp_status_is_not_trusted() {
    for (index, signer, verdict) in [
        ("/dev/null", "root", "400 FAILED:certificate status unknown"),
        ("good", "other", "400 FAILED:certificate status request failed"),
    ] {
        let place = place();
        let _responder = OcspResponder::start(&place, "@OCSP@", index, signer);
        let server = Server::start(place, &config(ON));
        assert_eq!(asked(&server, "client"), verdict);
    }
}

#[test]
fn silent_responder_delays_no_other_client_and_untrusted_client_triggers_no_query() {
    let place = place();
    let silent = TcpListener::bind(place.fill("127.0.0.1:@OCSP@")).expect("the responder's port");
    let server = Server::start(place, &config("ssl_verify_client optional; ssl_ocsp on;"));
    silent.set_nonblocking(true).expect("a socket");
    assert_eq!(asked(&server, "stranger"), "400 FAILED:unable to verify the first certificate");
    let nobody = silent.accept().expect_err("the responder named by an untrusted certificate is not asked");
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    silent.set_nonblocking(false).expect("a socket");
    let waits = begin(&server, "client", &[]);
    let (question, _) = silent.accept().expect("a question");
    for _ in 0..3 {
        assert_eq!(asked(&server, ""), "200 NONE");
    }
    drop((question, silent));
    assert_eq!(ended(waits), "400 FAILED:certificate status request failed");
}
