//! Browser on a WordPress site: all resources of a page load, without console messages.
//!
//! The test takes half a minute on a loaded machine, mostly for the site. `MYRIAD_CHROMIUM` specifies another browser
//! of that family.

use std::process::Command;

use myriad_tests::{Place, Server, WordPress, chromium, wait_for};

/// Starts the site with TLS, HTTP/2 and HTTP/3; every request is logged in `browser.log`.
fn serve(site: &WordPress, place: Place) -> Server {
    let port = place.port;
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-keyout"])
        .arg(place.path("own.key"))
        .arg("-out")
        .arg(place.path("own.crt"))
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let folder = place.folder().display().to_string();
    site.serve_changed(place, &site.php().display().to_string(), |preset| {
        let listen = format!("listen 127.0.0.1:{port}");
        let at = preset.find(&listen).expect("the preset's listen");
        let end = at + preset[at..].find(';').expect("the end of listen");
        let tls = format!(
            "{listen} ssl; {listen} quic; http2 on; ssl_certificate {folder}/own.crt; ssl_certificate_key {folder}/own.key; \
             access_log {folder}/browser.log browser"
        );
        let http = preset.find("http {").expect("the http block") + "http {".len();
        let format = "\nlog_format browser '$server_protocol $status $request_method $request_uri';\n";
        format!("{}{format}{}{tls}{}", &preset[..http], &preset[http..at], &preset[end..])
    })
}

#[test]
fn wordpress_loads_over_http2_without_a_word_on_the_console() {
    let site = WordPress::shared();
    let server = serve(&site, Place::new());
    // Otherwise the browser would switch to HTTP/3 after it has received `Alt-Svc`.
    visit(&server, "HTTP/2.0", &["--disable-quic".to_owned()]);
}

#[test]
fn wordpress_loads_over_http3_without_a_word_on_the_console() {
    let site = WordPress::shared();
    let server = serve(&site, Place::new());
    // For QUIC, the browser accepts an untrusted certificate only if its key is specified.
    let key = "openssl x509 -in \"$0\" -pubkey -noout | openssl pkey -pubin -outform der \
               | openssl dgst -sha256 -binary | base64";
    let key =
        Command::new("sh").args(["-c", key]).arg(server.path("own.crt")).output().expect("openssl runs");
    let key = String::from_utf8_lossy(&key.stdout).trim().to_owned();
    let options = [
        format!("--origin-to-force-quic-on=127.0.0.1:{}", server.port),
        format!("--ignore-certificate-errors-spki-list={key}"),
    ];
    visit(&server, "HTTP/3.0", &options);
}

/// Loads pages and asserts that all resources used `protocol`.
fn visit(server: &Server, protocol: &str, options: &[String]) {
    let asked = || server.read("browser.log").lines().count();
    let mut greetings = 0;
    for target in ["/", "/?p=1", "/wp-login.php"] {
        let url = format!("https://127.0.0.1:{}{target}", server.port);
        let loaded = chromium::load(server, &url, options, asked);
        let page = &loaded.page;
        assert!(page.contains("</html>") && page.contains("<title>"), "{target}: {page}");
        // jQuery Migrate logs a greeting, in the same format as errors.
        let is_greeting = |line: &&String| line.contains("JQMIGRATE: Migrate is installed");
        let complaints: Vec<&String> = loaded.console.iter().filter(|line| !is_greeting(line)).collect();
        assert!(complaints.is_empty(), "{target}: {complaints:#?}");
        greetings += loaded.console.len();
    }
    assert!(greetings > 0, "no console message was recorded, not even the expected ones");
    wait_for("the log", || server.read("browser.log").lines().count() > 10);
    let log = server.read("browser.log");
    for line in log.lines() {
        assert!(line.starts_with(&format!("{protocol} ")), "{line}");
        let status = line.split(' ').nth(1).unwrap_or_default();
        assert!(
            status.starts_with(['2', '3']) || line.contains("/?p=1") || line.ends_with("/favicon.ico"),
            "{line}"
        );
    }
}
