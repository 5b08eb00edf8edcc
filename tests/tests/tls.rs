//! HTTPS, asked by the clients that people have: curl and openssl.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use myriad_tests::{Place, Server, tls_handshake, wait_for};
use rustls::compress::{BROTLI_DECOMPRESSOR, CertDecompressor, DecompressionFailed, ZLIB_DECOMPRESSOR};
use rustls::crypto::SupportedKxGroup;
use rustls::{CertificateCompressionAlgorithm, NamedGroup, ProtocolVersion};

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
fn client_that_understands_several_certificates_gets_the_one_it_prefers_unless_the_server_has_the_say() {
    let named = "ssl_certificate $ssl_server_name-rsa.crt; ssl_certificate_key $ssl_server_name-rsa.key; \
                 ssl_certificate $ssl_server_name.crt; ssl_certificate_key $ssl_server_name.key;";
    let rsa_first: [&[&str]; 2] = [
        &["-tls1_3", "-sigalgs", "RSA+SHA256:PSS+SHA256:ECDSA+SHA256"],
        &["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"],
    ];
    let ecdsa_first: [&[&str]; 2] = [
        &["-tls1_3", "-sigalgs", "ECDSA+SHA256:PSS+SHA256"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"],
    ];
    for (extra, follows) in
        [("", true), ("ssl_prefer_server_ciphers off;", true), ("ssl_prefer_server_ciphers on;", false)]
    {
        let place = place();
        for kind in ["crt", "key"] {
            place.write(&format!("one.test.{kind}"), place.read(&format!("one.{kind}")));
            place.write(&format!("one.test-rsa.{kind}"), place.read(&format!("one-rsa.{kind}")));
        }
        let server = Server::start(
            place,
            &format!(
                "server {{ listen 127.0.0.1:@PORT@ ssl; server_name fixed.test; {CERTIFICATES} {extra} return 200; }} \
                 server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {named} {extra} return 200; }}"
            ),
        );
        for name in ["fixed.test", "one.test"] {
            let is_rsa = |options: &[&str]| {
                let said = handshake(&server, &[&["-servername", name], options].concat());
                assert!(said.contains("Peer signature type"), "{said}");
                !said.contains("Peer signature type: ECDSA")
            };
            for (rsa, ecdsa) in rsa_first.iter().zip(&ecdsa_first) {
                assert_eq!(is_rsa(rsa), follows, "{name} {extra} {rsa:?}");
                assert!(!is_rsa(ecdsa), "{name} {extra} {ecdsa:?}");
            }
        }
    }
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

/// The group by which keys are agreed on with a client that has them all, and its version of TLS.
fn group(server: &Server) -> Option<NamedGroup> {
    let session = tls_handshake(server.port, "one.test", |_| {});
    assert_eq!(session.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    session.negotiated_key_exchange_group().map(SupportedKxGroup::name)
}

#[test]
fn key_exchange_is_post_quantum_unless_the_configuration_says_otherwise() {
    assert_eq!(group(&start("")), Some(NamedGroup::X25519MLKEM768));
    assert_eq!(group(&start("ssl_ecdh_curve X25519:prime256v1;")), Some(NamedGroup::X25519));
}

/// Opens what brotli or zlib compressed, and counts how often.
#[derive(Debug)]
struct Counting {
    inner: &'static dyn CertDecompressor,
    opened: AtomicUsize,
}

impl CertDecompressor for Counting {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        assert!(input.len() < output.len(), "{} of {}", input.len(), output.len());
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.inner.decompress(input, output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.inner.algorithm()
    }
}

#[test]
fn certificates_are_compressed_where_that_is_asked_for() {
    static BROTLI: Counting = Counting { inner: BROTLI_DECOMPRESSOR, opened: AtomicUsize::new(0) };
    static ZLIB: Counting = Counting { inner: ZLIB_DECOMPRESSOR, opened: AtomicUsize::new(0) };
    let connect = |server: &Server, with: &'static Counting| {
        let session = tls_handshake(server.port, "one.test", |config| config.cert_decompressors = vec![with]);
        let shown = session.peer_certificates().expect("certificates")[0].len();
        assert!(shown > 200, "{shown}");
        with.opened.load(Ordering::Relaxed)
    };
    let plain = start("");
    assert_eq!((connect(&plain, &BROTLI), connect(&plain, &ZLIB)), (0, 0));
    let compressed = start("ssl_certificate_compression on;");
    assert_eq!((connect(&compressed, &BROTLI), connect(&compressed, &ZLIB)), (1, 1));
    // The second time comes from the memory of what was compressed.
    assert_eq!(connect(&compressed, &BROTLI), 2);
}

#[test]
fn what_cannot_be_used_is_named_and_a_reload_with_it_keeps_the_old() {
    let place = place();
    place.write("empty.crt", "");
    place.write("broken.crt", "-----BEGIN CERTIFICATE-----\n@@@@\n-----END CERTIFICATE-----\n");
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
        (
            "ssl_certificate one.crt; ssl_certificate_key one.crt;",
            "\"one.crt\": it holds no private key in PEM",
        ),
        ("ssl_certificate broken.crt; ssl_certificate_key one.key;", "\"broken.crt\": its base64 is broken"),
        (
            "ssl_certificate one.crt; ssl_certificate_key one.key; ssl_trusted_certificate empty.crt;",
            "\"empty.crt\": it holds no certificate",
        ),
        (
            "ssl_certificate one.crt; ssl_certificate_key one.key; ssl_crl one.crt;",
            "\"one.crt\": it holds no revocation list",
        ),
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
        "[warn] 2 words of \"ssl_ciphers\" name no cipher that is spoken: NOSUCH (no cipher of OpenSSL); RC4-SHA (broken)",
        "docs/https.md",
    ] {
        assert_eq!(output.matches(said).count(), 1, "{said}: {output}");
    }
    assert!(output.contains("ssl_certificate expired.crt") && !output.contains("two.crt"), "{output}");
    server.log_has("the certificate \"expired.crt\" expired on ");
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "served");
}

/// A certificate by the key `one.key` that is valid between two days, written as `YYMMDD`.
fn dated(place: &Place, file: &str, from: &str, to: &str) {
    let run = |arguments: &[&str]| {
        let made = Command::new("openssl").args(arguments).current_dir(place.folder()).output();
        let made = made.expect("openssl runs");
        assert!(made.status.success(), "{}", text(&made.stderr));
    };
    place.write(
        "ca.cnf",
        "[ca]\ndefault_ca = own\n[own]\ndatabase = index\nserial = serial\nnew_certs_dir = .\npolicy = any\n\
         default_md = sha256\nunique_subject = no\n[any]\ncommonName = supplied\n",
    );
    place.write("index", "");
    place.write("serial", "01");
    run(&["req", "-new", "-key", "one.key", "-subj", "/CN=one.test", "-out", "dated.csr"]);
    let (from, to) = (format!("{from}000000Z"), format!("{to}000000Z"));
    let by = ["ca", "-batch", "-notext", "-selfsign", "-config", "ca.cnf", "-keyfile", "one.key"];
    let what = ["-in", "dated.csr", "-startdate", &from, "-enddate", &to, "-out", file];
    run(&[&by[..], &what].concat());
}

#[test]
fn certificates_out_of_their_time_are_warned_of_at_a_reload_too() {
    let place = place();
    dated(&place, "early.crt", "480101", "490101");
    dated(&place, "late.crt", "200101", "210101");
    let config = |file: &str| {
        format!(
            "server {{ listen 127.0.0.1:@PORT@ ssl; ssl_certificate {file}; ssl_certificate_key one.key; \
             return 200 {file}; }}"
        )
    };
    let server = Server::start(place, &config("one.crt"));
    for (file, said) in [
        (
            "early.crt",
            "[warn] the certificate \"early.crt\" is not valid before Wed, 01 Jan 2048 00:00:00 GMT",
        ),
        ("late.crt", "[warn] the certificate \"late.crt\" expired on Fri, 01 Jan 2021 00:00:00 GMT"),
    ] {
        server.reload(&config(file));
        // Before the check, which writes to the same log.
        server.log_has(&said["[warn] ".len()..]);
        wait_for(file, || text(&curl(&server, "one.test", "/", &[])) == file);
        let output = server.test_configuration();
        assert!(output.status.success() && text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}

#[test]
fn certificates_that_can_be_read_are_listed_beside_those_that_cannot() {
    let server = start("");
    let list = || {
        let listed = Command::new(myriad_tests::binary())
            .args(["certificates", "-c", "myriad.conf", "-p"])
            .arg(server.folder())
            .output()
            .expect("myriad runs");
        (listed.status.code(), text(&listed.stdout), text(&listed.stderr))
    };
    let (code, table, _) = list();
    assert!(code == Some(0) && table.contains("one.crt") && table.contains("two.crt"), "{table}");
    std::fs::remove_file(server.path("two.crt")).expect("removed");
    let (code, table, said) = list();
    assert_eq!(code, Some(1));
    let line = |file: &str| table.lines().find(|line| line.ends_with(file)).unwrap_or_default().to_owned();
    assert!(
        line("one.crt").starts_with("one.test ") && line("two.crt").contains("cannot be read"),
        "{table}"
    );
    assert!(
        said.contains("two.crt\": 2: No such file") && said.contains("ssl_certificate two.crt"),
        "{said}"
    );
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
    let output = text(&tested.stderr);
    assert!(tested.status.success() && output.contains(said), "{output}");
    let marked = format!(" {}\n", "^".repeat("https_only on".len()));
    assert!(output.contains(&marked), "the directive is shown, not the server: {output}");
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
