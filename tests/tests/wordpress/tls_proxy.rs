//! Site with https URLs, with an nginx in front that terminates TLS and forwards requests over http.

use std::fs;
use std::process::{Child, Command, Stdio};

use myriad_tests::{Answer, Client, Place, Request, Server, WordPress, certificate, signal, wait_for};
use rustix::process::Signal;

/// Host of the site, whose URLs in WordPress begin with https.
const HOST: &str = "shop.example";
/// Address of the client, as the proxy reports it.
const CLIENT: &str = "203.0.113.9";

/// WordPress uses a different URL for requests with [`HOST`] only, because other tests share the site.
const ADDRESS: &str = "<?php
if (($_SERVER['HTTP_HOST'] ?? '') === 'shop.example') {
    foreach (['home', 'siteurl'] as $name) add_filter(\"pre_option_$name\", fn() => 'https://shop.example');
}";

/// nginx with TLS in front of a server.
struct Proxy {
    place: Place,
    process: Child,
}

impl Proxy {
    fn start(server: &Server) -> Self {
        let mut place = Place::new();
        certificate(&place.path("proxy.crt"), &place.path("proxy.key"));
        place.set("SERVER", &server.port.to_string());
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path @DIR@/{name};"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid @DIR@/nginx.pid; error_log @DIR@/nginx.log; events {{ }}
             http {{ access_log off; {temporary} server {{ listen 127.0.0.1:@PORT@ ssl;
                 ssl_certificate @DIR@/proxy.crt; ssl_certificate_key @DIR@/proxy.key;
                 location / {{ proxy_pass http://127.0.0.1:@SERVER@; proxy_set_header Host $http_host;
                     proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-For {CLIENT}; }} }} }}"
        );
        place.write("nginx.conf", place.fill(&text));
        let process = Command::new("/usr/sbin/nginx")
            .args(["-p", &place.folder().display().to_string(), "-c"])
            .arg(place.path("nginx.conf"))
            .args(["-e", "stderr"])
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        wait_for("nginx", || Client::try_connect(place.port).is_ok());
        Self { place, process }
    }

    /// Sends a request over TLS with the cookies of the jar, and stores new cookies in it.
    fn ask(&self, target: &str, options: &[&str]) -> (u16, String, String) {
        let jar = self.place.path("jar");
        let output = Command::new("curl")
            .args(["-sSk", "--noproxy", "*", "--max-time", "30", "-D", "-"])
            .args(["--resolve", &format!("{HOST}:{}:127.0.0.1", self.place.port)])
            .args(["-H", &format!("Host: {HOST}"), "-b"])
            .arg(&jar)
            .arg("-c")
            .arg(&jar)
            .args(options)
            .arg(format!("https://{HOST}:{}{target}", self.place.port))
            .output()
            .expect("curl runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_owned(), body.to_owned())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        signal(self.process.id(), Signal::TERM);
        let _ = self.process.wait();
    }
}

/// Returns a field of a head.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (own, value) = line.split_once(": ")?;
        own.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn site_with_https_address() -> std::sync::Arc<WordPress> {
    let site = WordPress::shared();
    site.write("wp-content/mu-plugins/https-address.php", ADDRESS);
    site
}

#[test]
fn site_with_https_address_works_fully_through_tls_proxy() {
    let site = site_with_https_address();
    let server = site.serve();
    let proxy = Proxy::start(&server);

    let (status, _, form) = proxy.ask("/wp-login.php", &[]);
    assert!(status == 200 && form.contains("user_login"), "{status} {form}");
    assert!(form.contains("https://shop.example/wp-") && !form.contains("http://shop.example"), "{form}");
    let (status, head, body) = site.submit_login(|name, password| {
        let form = [
            format!("log={name}"),
            format!("pwd={password}"),
            "testcookie=1".to_owned(),
            "redirect_to=https://shop.example/wp-admin/".to_owned(),
        ];
        let options: Vec<&str> = form.iter().flat_map(|pair| ["--data-urlencode", pair]).collect();
        proxy.ask("/wp-login.php", &options)
    });
    assert_eq!((status, field(&head, "Location")), (302, Some("https://shop.example/wp-admin/")), "{body}");
    let (status, _, page) = proxy.ask("/wp-admin/", &[]);
    assert!(status == 200 && page.contains("wpadminbar"), "{status}");
    let (status, head, _) = proxy.ask("/wp-admin?x=1", &[]);
    assert_eq!((status, field(&head, "Location")), (301, Some("/wp-admin/?x=1")));

    fs::remove_file(proxy.place.path("jar")).expect("cookies");
    let target = format!("/category/rivers/?of={}", server.port);
    for expected in ["MISS", "HIT"] {
        let (status, head, page) = proxy.ask(&target, &[]);
        assert_eq!((status, field(&head, "X-Cache")), (200, Some(expected)), "{head}");
        assert!(page.contains("https://shop.example/wp-") && !page.contains("http://shop.example"), "{page}");
    }
    // A client that uses http has a separate page.
    let direct: Answer = server.fetch(&Request::get(&target).host(HOST));
    assert_eq!(direct.cache(), "MISS", "{}", direct.text());
}

#[test]
fn client_of_a_trusted_proxy_is_known_by_its_own_address_and_others_choose_none() {
    let site = site_with_https_address();
    site.write("who.php", "<?php header('Cache-Control: no-store'); echo $_SERVER['REMOTE_ADDR'], ' ', $_SERVER['SERVER_PORT'], ' ', $_SERVER['HTTP_HOST'];");
    let server = site.serve_with(&["--trusted-proxy", "127.0.0.1"]);
    let proxy = Proxy::start(&server);
    assert_eq!(proxy.ask("/who.php", &[]).2, format!("{CLIENT} 443 {HOST}"));
    let reported = Request::get("/who.php")
        .host("inner.example")
        .field("X-Forwarded-Host", "shop.example")
        .field("X-Forwarded-Proto", "https")
        .field("X-Forwarded-For", "198.51.100.7, 192.0.2.1");
    assert_eq!(server.fetch(&reported).text(), "192.0.2.1 443 shop.example");

    // Without the option, a local proxy may report the scheme, but neither address nor host.
    let server = site.serve();
    assert_eq!(server.fetch(&reported).text(), "127.0.0.1 443 inner.example");
    let proxy = Proxy::start(&server);
    assert_eq!(proxy.ask("/who.php", &[]).2, format!("127.0.0.1 443 {HOST}"));
}
