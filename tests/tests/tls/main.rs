//! HTTPS with common clients: curl and openssl.

mod checks;
mod handshakes;
mod requests;

use std::process::{Command, Stdio};

use myriad_tests::{Place, Server};

/// Returns a folder with the certificates of two servers: `one.test` with ECDSA and RSA, `two.test` with ECDSA.
fn place() -> Place {
    let place = Place::new();
    for (file, name, kind) in
        [("one", "one.test", "ec"), ("one-rsa", "one.test", "rsa"), ("two", "two.test", "ec")]
    {
        certificate(&place, file, name, kind);
    }
    place.write("html/page.txt", "a page");
    place
}

fn certificate(place: &Place, file: &str, name: &str, kind: &str) {
    let (key, certificate) = (place.path(&format!("{file}.key")), place.path(&format!("{file}.crt")));
    let options: &[&str] = match kind {
        "rsa" => &["-newkey", "rsa:2048"],
        _ => &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    };
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", &format!("/CN={name}")])
        .args(options)
        .arg("-keyout")
        .arg(key)
        .arg("-out")
        .arg(certificate)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

const CERTIFICATES: &str = "ssl_certificate one.crt; ssl_certificate_key one.key; \
                            ssl_certificate one-rsa.crt; ssl_certificate_key one-rsa.key;";

/// Starts a server `one.test` and a server `two.test` on one port.
fn start(extra: &str) -> Server {
    let http = format!(
        "server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {CERTIFICATES} root @DIR@/html; {extra} \
           location /facts {{ return 200 '$scheme $https $ssl_protocol $ssl_cipher $ssl_server_name \
             $ssl_session_reused $ssl_alpn_protocol'; }} }} \
         server {{ listen 127.0.0.1:@PORT@ ssl; server_name two.test; ssl_certificate two.crt; \
           ssl_certificate_key two.key; return 200 'two over $ssl_server_name'; }}"
    );
    Server::start(place(), &http)
}

/// Returns the output of curl for a path of a host; the certificates are self-signed.
fn curl(server: &Server, host: &str, path: &str, options: &[&str]) -> Vec<u8> {
    let port = server.port;
    let output = Command::new("curl")
        .args(["-sk", "--max-time", "20", "--noproxy", "*", "--resolve", &format!("{host}:{port}:127.0.0.1")])
        .args(options)
        .arg(format!("https://{host}:{port}{path}"))
        .output()
        .expect("curl runs");
    output.stdout
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the output of `openssl s_client`.
fn handshake(server: &Server, options: &[&str]) -> String {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", server.port)])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    text(&output.stdout) + &text(&output.stderr)
}
