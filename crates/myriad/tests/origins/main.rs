//! Tests of `fastcgi_*` directives, with the real binary and a scripted FastCGI application.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod requests;
mod targets;

use support::ServerSite;
use support::answer::{RawAnswer, ask};
use support::origin::FastcgiOrigin;

const LOOPBACK: &str = "127.0.0.1";
const OK: &str = "Content-Type: text/plain\r\n\r\nok";

/// Starts a site with these directives in a location that forwards to `origin`, and `http` in the `http` block.
fn site(origin: &FastcgiOrigin, location: &str, http: &str) -> ServerSite {
    let site = ServerSite::new();
    let (port, pass) = (site.port, origin.port);
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; {http} fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param URI $request_uri;
                 server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass 127.0.0.1:{pass}; {location} }} }} }}"
        ),
    );
    site.start()
}

fn get(site: &ServerSite, path: &str, fields: &[&str]) -> RawAnswer {
    let line = format!("GET {path} HTTP/1.1");
    let mut head = vec![line.as_str()];
    head.extend_from_slice(fields);
    ask((LOOPBACK, site.port), &head, b"")
}

/// Returns bytes whose values depend on their positions, so that lost or moved bytes are detected.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}
