//! h2spec, the HTTP/2 conformance suite: all of its 145 cases.

use std::process::Command;

use myriad_tests::{Place, Server, certificate, tool};

/// Runs the suite against a server with these parameters of `listen`; returns its output.
///
/// The page is proxied, and the proxy waits for the complete request. A server that has responded before may reset the
/// stream with `NO_ERROR` (RFC 9113 section 8.1); h2spec expects the error of its later frames and accepts no other.
fn run(listen: &str, arguments: &[&str]) -> String {
    let place = Place::new();
    certificate(&place.path("own.crt"), &place.path("own.key"));
    place.write("html/index.html", "a page of some bytes");
    let server = Server::start(
        place,
        &format!(
            "ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key; http2 on;
             server {{ listen 127.0.0.1:@PORT@ {listen}; location / {{ proxy_pass http://unix:@DIR@/page.sock; }} }}
             server {{ listen unix:@DIR@/page.sock; root @DIR@/html; }}"
        ),
    );
    let mut command = Command::new(tool("h2spec"));
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-o", "5"]).args(arguments);
    let output = command.output().expect("h2spec runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{}", said.lines().last().unwrap_or_default());
    assert!(!server.read("error.log").contains("panicked"));
    said
}

#[test]
fn every_case_passes_over_tls() {
    let said = run("ssl", &["-t", "-k"]);
    assert!(said.contains("145 tests, 145 passed, 0 skipped, 0 failed"), "{said}");
}

/// The port accepts HTTP/1.1 as well: input that does not begin with the preface is parsed as HTTP/1.1, and is answered
/// with an error before the connection is closed. h2spec interprets the bytes `HTTP/1.1 400` as a frame.
#[test]
fn every_case_passes_with_prior_knowledge_but_for_a_preface_that_is_none() {
    let said = run("", &[]);
    assert!(said.contains("145 tests, 144 passed, 0 skipped, 1 failed"), "{said}");
    let failures = said.split("Failures:").nth(1).expect("what failed");
    assert!(failures.contains("Sends invalid connection preface"), "{said}");
    assert!(failures.contains("the frame header looked like an HTTP/1.1 header"), "{said}");
}
