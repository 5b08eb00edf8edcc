//! HTTPS, asked by the clients that people have: curl and openssl.

use std::process::{Command, Stdio};

use myriad_tests::{Place, Server, wait_for};

/// A place with two servers' certificates: `one.test` by ECDSA and by RSA, `two.test` by ECDSA.
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

/// A server `one.test` and a server `two.test` on one port.
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

/// curl's output for a path of a host; the certificates are nobody's.
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

/// What `openssl s_client` says of a connection.
fn handshake(server: &Server, options: &[&str]) -> String {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", server.port)])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn page_and_variables_come_over_both_versions() {
    let server = start("");
    assert_eq!(text(&curl(&server, "one.test", "/page.txt", &[])), "a page");
    let facts = |options: &[&str]| text(&curl(&server, "one.test", "/facts", options));
    let three = facts(&["--tlsv1.3"]);
    assert!(three.starts_with("https on TLSv1.3 TLS_AES_"), "{three}");
    assert!(three.ends_with(" one.test . http/1.1"), "{three}");
    let two = facts(&["--tls-max", "1.2", "--no-alpn", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"]);
    assert_eq!(two, "https on TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 one.test . ");
}

#[test]
fn several_requests_share_a_connection_and_large_bodies_pass_both_ways() {
    let large: Vec<u8> = (0..3_000_000u32).map(|index| ((index * 7) >> 3) as u8).collect();
    let server = start("location /echo { return 200 $content_length; }");
    server.write("html/large.bin", &large);
    server.write("sent.bin", &large[..200_000]);
    assert!(curl(&server, "one.test", "/large.bin", &[]) == large);
    let port = server.port;
    let again = format!("https://one.test:{port}/page.txt");
    let both = curl(&server, "one.test", "/page.txt", &[&again, "-w", "%{num_connects} "]);
    assert_eq!(text(&both), "a page1 a page0 ");
    let sent = format!("@{}", server.path("sent.bin").display());
    assert_eq!(text(&curl(&server, "one.test", "/echo", &["--data-binary", &sent])), "200000");
}

#[test]
fn client_gets_the_certificate_of_the_server_it_names_and_one_it_understands() {
    let server = start("");
    assert!(handshake(&server, &["-servername", "two.test"]).contains("CN = two.test"));
    assert!(handshake(&server, &["-servername", "unknown.test"]).contains("CN = one.test"));
    assert!(handshake(&server, &["-noservername"]).contains("CN = one.test"));
    assert_eq!(text(&curl(&server, "two.test", "/", &[])), "two over two.test");
    let kind = |scheme: &str| handshake(&server, &["-servername", "one.test", "-sigalgs", scheme]);
    assert!(kind("ecdsa_secp256r1_sha256").contains("ECDSA"));
    assert!(kind("rsa_pss_rsae_sha256").contains("RSA-PSS"));
}

#[test]
fn plain_http_to_the_port_is_told_so_and_may_be_led_on() {
    let server = start("");
    let answer = server.get("/");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("The plain HTTP request was sent to HTTPS port"));
    let server = start("error_page 497 301 =307 https://$host:$server_port$request_uri;");
    let answer = server.get("/a?b");
    assert_eq!(answer.status, 307);
    assert!(answer.field("Location").is_some_and(|location| location.starts_with("https://")));
}

#[test]
fn sessions_are_resumed_also_after_a_reload() {
    let server = start("");
    let saved = server.path("session.pem");
    let saved = saved.to_str().expect("a path of text");
    let version = ["-tls1_2", "-servername", "one.test"];
    assert!(handshake(&server, &[&version[..], &["-sess_out", saved]].concat()).contains("New, TLSv1.2"));
    let resumed = || handshake(&server, &[&version[..], &["-sess_in", saved]].concat());
    assert!(resumed().contains("Reused, TLSv1.2"));
    server.signal(myriad_tests::Signal::HUP);
    server.log_has("reconfigur");
    assert!(resumed().contains("Reused, TLSv1.2"));
}

#[test]
fn a_server_that_rejects_handshakes_shows_no_certificate() {
    let http = format!(
        "server {{ listen 127.0.0.1:@PORT@ ssl default_server; ssl_reject_handshake on; }} \
         server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {CERTIFICATES} return 200 one; }}"
    );
    let server = Server::start(place(), &http);
    let refused = handshake(&server, &["-servername", "two.test"]);
    assert!(refused.contains("unrecognized name") && !refused.contains("CN ="), "{refused}");
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "one");
}

#[test]
fn versions_ciphers_and_groups_are_those_of_the_configuration() {
    let server =
        start("ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-CHACHA20-POLY1305; ssl_ecdh_curve secp384r1;");
    let spoken = handshake(&server, &["-servername", "one.test"]);
    assert!(spoken.contains("New, TLSv1.2, Cipher is ECDHE-RSA-CHACHA20-POLY1305"), "{spoken}");
    assert!(spoken.contains("384"), "{spoken}");
    assert!(!handshake(&server, &["-servername", "one.test", "-tls1_3"]).contains("New, TLSv1.3"));
}

#[test]
fn what_cannot_be_used_is_named_and_a_reload_with_it_keeps_the_old() {
    let place = place();
    place.write("empty.crt", "");
    let config = |lines: &str| {
        format!("server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {lines} return 200 old; }}")
    };
    let server = Server::start(place, &config(CERTIFICATES));
    for (lines, said) in [
        (
            "ssl_certificate one.crt; ssl_certificate_key two.key;",
            "\"two.key\" does not belong to the certificate",
        ),
        ("ssl_certificate none.crt; ssl_certificate_key one.key;", "none.crt"),
        ("ssl_certificate empty.crt; ssl_certificate_key one.key;", "\"empty.crt\": it holds no certificate"),
        ("ssl_certificate one.crt; ssl_certificate_key one.crt;", "\"one.crt\""),
        ("ssl_certificate one.crt;", "no \"ssl_certificate_key\" is defined"),
        ("", "no \"ssl_certificate\" is defined"),
        ("ssl_ciphers AES128-SHA; ssl_certificate one.crt; ssl_certificate_key one.key;", "no cipher of"),
        ("ssl_protocols SSLv3; ssl_certificate one.crt; ssl_certificate_key one.key;", "TLSv1.2"),
    ] {
        server.reload(&config(lines).replace("old", "new"));
        let tested = server.test_configuration();
        let output = text(&tested.stderr);
        assert!(!tested.status.success() && output.contains(said), "{lines}: {output}");
    }
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "old");
    server.reload(&config(CERTIFICATES).replace("old", "new"));
    wait_for("the sound one", || text(&curl(&server, "one.test", "/", &[])) == "new");
}

#[test]
fn certificate_out_of_its_time_and_ciphers_that_nobody_speaks_are_warned_of_and_served() {
    let place = place();
    let (key, expired) = (place.path("one.key"), place.path("expired.crt"));
    let made = Command::new("openssl")
        .args(["x509", "-days", "-1", "-in"])
        .arg(place.path("one.crt"))
        .arg("-signkey")
        .arg(key)
        .arg("-out")
        .arg(expired)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let server = Server::start(
        place,
        "ssl_ciphers HIGH:NOSUCH:RC4-SHA:!aNULL; \
         server { listen 127.0.0.1:@PORT@ ssl; server_name one.test; \
           ssl_certificate expired.crt; ssl_certificate_key one.key; return 200 served; } \
         server { listen 127.0.0.1:@PORT@ ssl; server_name two.test; \
           ssl_certificate two.crt; ssl_certificate_key two.key; return 200 two; }",
    );
    let tested = server.test_configuration();
    let output = text(&tested.stderr);
    assert!(tested.status.success(), "{output}");
    for said in [
        "[warn] the certificate \"expired.crt\" expired on ",
        "[warn] \"NOSUCH\" is no cipher",
        "[warn] \"RC4-SHA\" is broken",
    ] {
        assert_eq!(output.matches(said).count(), 1, "{said}: {output}");
    }
    assert!(output.contains("ssl_certificate expired.crt") && !output.contains("two.crt"), "{output}");
    server.log_has("the certificate \"expired.crt\" expired on ");
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "served");
}

#[test]
fn files_of_tls_are_read_by_the_check_though_nobody_is_asked_for_a_certificate() {
    let server = start("");
    for directive in ["ssl_crl", "ssl_trusted_certificate", "ssl_dhparam"] {
        let config = format!(
            "server {{ listen 127.0.0.1:@PORT@ ssl; {CERTIFICATES} {directive} nosuch.pem; return 200 new; }}"
        );
        server.reload(&config);
        let tested = server.test_configuration();
        let output = text(&tested.stderr);
        assert!(!tested.status.success(), "{directive}: {output}");
        assert!(output.contains("nosuch.pem\": 2: No such file"), "{output}");
    }
}

#[test]
fn https_only_that_leads_nowhere_is_warned_of() {
    let said = "\"https_only\" leads visitors of this server to https";
    let server = Server::start(place(), "server { listen 127.0.0.1:@PORT@; https_only on; }");
    let tested = server.test_configuration();
    assert!(tested.status.success() && text(&tested.stderr).contains(said), "{}", text(&tested.stderr));
    let sound = format!("server {{ listen unix:@DIR@/tls.sock ssl; {CERTIFICATES} }}");
    for (lines, beside) in [
        ("https_only on port=8443;", ""),
        ("https_only on; set_real_ip_from 10.0.0.1;", ""),
        ("https_only on;", &*sound),
    ] {
        server.reload(&format!("server {{ listen 127.0.0.1:@PORT@; {lines} }} {beside}"));
        let tested = server.test_configuration();
        let output = text(&tested.stderr);
        assert!(tested.status.success() && !output.contains(said), "{lines}: {output}");
    }
}

#[test]
fn plain_request_to_a_port_of_tls_is_refused_though_another_visitor_had_the_page() {
    let server = start("location /short/ { }");
    server.write("html/short/page.txt", "for sessions only");
    let target = "/short/page.txt";
    for _ in 0..3 {
        assert_eq!(curl(&server, "one.test", target, &[]), b"for sessions only");
    }
    for _ in 0..3 {
        let mut client = server.connect();
        // The bytes that curl's requests hold as far as the rules read them.
        let host = format!("one.test:{}", server.port);
        client.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        let answer = client.answer();
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}
