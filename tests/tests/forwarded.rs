//! Scheme and host as reported by clients and proxies (`forwarded_scheme_from`, `forwarded_host_from`): clients of a
//! trusted proxy and other clients never share a page, regardless of the order of requests.

use std::process::Command;

use myriad_tests::{HttpOrigin, Place, Server};

/// Sends a request from a loopback address; returns the cache status and the body.
fn ask(server: &Server, from: &str, target: &str, fields: &[&str]) -> (String, String) {
    let mut command = Command::new("curl");
    command.args(["-sS", "--noproxy", "*", "--max-time", "20", "--interface", from]);
    command.args(["-w", "\n%header{x-cache}"]);
    for field in fields {
        command.args(["-H", field]);
    }
    let output =
        command.arg(format!("http://127.0.0.1:{}{target}", server.port)).output().expect("curl runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.to_owned(), body.to_owned())
}

/// The proxy is 127.0.0.1, other clients are 127.0.0.2.
const SITE: &str = "
    proxy_cache_path @DIR@/cache keys_zone=pages:1m;
    forwarded_scheme_from 127.0.0.1; forwarded_host_from 127.0.0.1;
    server { listen 127.0.0.1:@PORT@; server_name _; add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h; proxy_set_header Host $host; \
        proxy_set_header X-Scheme $scheme; proxy_cache_key $scheme$host$request_uri; shared_fetch_headers on; } }";

fn start(origin: &HttpOrigin) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    Server::start(place, SITE)
}

/// Returns an origin that responds with the scheme and host that it received.
fn origin() -> HttpOrigin {
    HttpOrigin::start(|call| {
        let told = |name: &str| call.field(name).unwrap_or_default().to_owned();
        let text = format!("{} {}", told("X-Scheme"), told("Host"));
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", &text);
    })
}

#[test]
fn scheme_that_an_untrusted_client_claims_makes_and_reads_no_page_of_a_proxy_s_clients() {
    let origin = origin();
    let server = start(&origin);
    let (proxy, other) = ("127.0.0.1", "127.0.0.2");
    let https = ["Host: shop.test", "X-Forwarded-Proto: https"];
    for target in ["/first-by-other", "/first-by-proxy"] {
        let order = if target == "/first-by-other" { [other, proxy] } else { [proxy, other] };
        for round in ["MISS", "HIT", "HIT"] {
            for from in order {
                let page = if from == proxy { "https shop.test" } else { "http shop.test" };
                let expected = (round.to_owned(), page.to_owned());
                assert_eq!(ask(&server, from, target, &https), expected, "{from} {target}");
            }
        }
        // The same page as over http without the field.
        let plain = ask(&server, other, target, &["Host: shop.test"]);
        assert_eq!(plain, ("HIT".to_owned(), "http shop.test".to_owned()));
    }
}

#[test]
fn host_that_a_proxy_reports_is_the_host_and_that_of_others_is_not() {
    let origin = origin();
    let server = start(&origin);
    let fields = ["Host: inner.test", "X-Forwarded-Host: shop.test"];
    for status in ["MISS", "HIT", "HIT"] {
        let page = (status.to_owned(), "http shop.test".to_owned());
        assert_eq!(ask(&server, "127.0.0.1", "/", &fields), page);
        let page = (status.to_owned(), "http inner.test".to_owned());
        assert_eq!(ask(&server, "127.0.0.2", "/", &fields), page);
    }
    // The page is shared with clients that send this host in `Host`.
    let page = ("HIT".to_owned(), "http shop.test".to_owned());
    assert_eq!(ask(&server, "127.0.0.2", "/", &["Host: shop.test"]), page);
    assert_eq!(ask(&server, "127.0.0.1", "/", &["Host: shop.test", "X-Forwarded-Host: shop.test"]), page);
}
