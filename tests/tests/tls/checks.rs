//! Configuration check of certificates and directives.

use std::process::Command;

use myriad_tests::{Place, Server, wait_for};

use super::{CERTIFICATES, curl, place, start, text};

#[test]
fn unusable_tls_setting_is_reported_and_reload_retains_old_configuration() {
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
            "\"two.key\" does not match the certificate",
        ),
        ("ssl_certificate none.crt; ssl_certificate_key one.key;", "none.crt"),
        (
            "ssl_certificate empty.crt; ssl_certificate_key one.key;",
            "\"empty.crt\": the file contains no certificate",
        ),
        (
            "ssl_certificate one.crt; ssl_certificate_key one.crt;",
            "\"one.crt\": the file contains no private key in PEM format",
        ),
        (
            "ssl_certificate broken.crt; ssl_certificate_key one.key;",
            "\"broken.crt\": the base64 text is invalid",
        ),
        (
            "ssl_certificate one.crt; ssl_certificate_key one.key; ssl_trusted_certificate empty.crt;",
            "\"empty.crt\": the file contains no certificate",
        ),
        (
            "ssl_certificate one.crt; ssl_certificate_key one.key; ssl_crl one.crt;",
            "\"one.crt\": the file contains no certificate revocation list",
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
fn expired_certificate_and_unsupported_ciphers_are_warned_about_and_served() {
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
        "[warn] 2 words of \"ssl_ciphers\" select no supported cipher: NOSUCH (not an OpenSSL cipher); RC4-SHA (broken)",
        "docs/https.md",
    ] {
        assert_eq!(output.matches(said).count(), 1, "{said}: {output}");
    }
    assert!(output.contains("ssl_certificate expired.crt") && !output.contains("two.crt"), "{output}");
    server.log_has("the certificate \"expired.crt\" expired on ");
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "served");
}

/// Creates a certificate with the key `one.key` that is valid between two days, as `YYMMDD`.
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
fn readable_certificates_are_listed_next_to_unreadable_ones() {
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
fn configuration_test_reads_tls_files_even_without_client_verification() {
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
    let said = "\"https_only\" redirects to HTTPS";
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
fn changed_certificate_file_is_used_after_reload() {
    let config = |text: &str| {
        format!(
            "server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; ssl_certificate one.crt; \
             ssl_certificate_key one.key; return 200 {text}; }}"
        )
    };
    let server = Server::start(place(), &config("old"));
    let asked = |authority: &str| {
        let authority = server.path(authority);
        let believed = ["--no-insecure", "--cacert", authority.to_str().expect("a path")];
        text(&curl(&server, "one.test", "/", &believed))
    };
    std::fs::copy(server.path("one.crt"), server.path("before.crt")).expect("a copy");
    super::certificate(&server, "one", "one.test", "ec");
    assert_eq!((asked("before.crt").as_str(), asked("one.crt").as_str()), ("old", ""));
    server.reload(&config("new"));
    wait_for("the new configuration", || asked("one.crt") == "new");
    assert_eq!(asked("before.crt"), "");
}
