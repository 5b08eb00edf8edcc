//! `-t --explain` and the inspector, compared with the responses to the same requests.

use std::process::Command;

use myriad_admin::protocol::monitoring::InspectReport;
use myriad_tests::{Cached, Origin, Request, Server, binary};

use super::{RULES, application, session};

/// Starts a server that stores pages for known visitors at `/page`, and others at `/plain`.
fn start_explained() -> (Server, Origin) {
    let server = format!(
        "{RULES} location /api {{ api; }} location /bypass {{ fastcgi_cache_bypass 1; fastcgi_pass @ORIGIN@; }}"
    );
    Cached { server: &server, ..Cached::default() }.start(|call| match call.uri() {
        "/plain" => call.answer("Content-Type: text/html", "plain"),
        _ => application(call),
    })
}

/// Returns what `-t --explain` prints about reading the cache.
fn explained(server: &Server, target: &str, cookie: &str) -> String {
    let url = format!("http://localhost{target}");
    let output = Command::new(binary())
        .args(["-t", "--explain", &url, "-H", &format!("Cookie: {cookie}"), "-c", "myriad.conf", "-p"])
        .arg(server.folder())
        .output()
        .expect("myriad starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = text.lines().find_map(|line| line.trim().strip_prefix("read  ->  "));
    read.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))).to_owned()
}

/// Returns the inspector's report about reading the cache of the running server.
fn inspected(server: &Server, target: &str, cookie: &str) -> String {
    let cookie = cookie.replace('=', "%3D").replace("; ", "%3B%20");
    let answer = server.get(&format!("/api/inspect?url=http://localhost{target}&cookie={cookie}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let report: InspectReport = serde_json::from_str(&answer.text()).expect("a report");
    report.read.unwrap_or_default()
}

#[test]
fn explanation_agrees_with_the_response_for_each_kind_of_visitor() {
    let (server, origin) = start_explained();
    for target in ["/page", "/plain"] {
        server.get(target);
    }
    let logged_in = session("ada");
    let calls = origin.count();
    for (target, cookie, expected) in [
        ("/page", "", "HIT"),
        ("/page", "_ga=1", "HIT"),
        ("/page", logged_in.as_str(), "HIT"),
        ("/page", "woocommerce_items_in_cart=1", "HIT"),
        ("/page", &format!("{logged_in}; wp-postpass_1=x"), "BYPASS"),
        ("/page", "comment_author_1=ada", "BYPASS"),
        ("/plain", "", "HIT"),
        ("/plain", &logged_in, "BYPASS"),
        ("/bypass", &logged_in, "BYPASS"),
    ] {
        let before = origin.count();
        let inspected = inspected(&server, target, cookie);
        let explained = explained(&server, target, cookie);
        assert_eq!(origin.count(), before, "an explanation sends no request: {target} {cookie}");
        let answer = server.fetch(&Request::get(target).field("Cookie", cookie));
        assert_eq!(answer.cache(), expected, "{target} {cookie}");
        let reads = |text: &str| text.starts_with("yes");
        assert_eq!(reads(&inspected), expected == "HIT", "{target} {cookie}: {inspected}");
        // Without the stored page, `-t` cannot determine whether it is marked for known visitors.
        if reads(&explained) == (expected == "HIT") {
            continue;
        }
        assert_eq!(target, "/plain", "{cookie}: {explained}");
        assert!(explained.starts_with("yes, if the origin has marked the page"), "{explained}");
    }
    assert!(origin.count() > calls);
}

#[test]
fn explanation_names_the_cookie_that_prevents_a_hit() {
    let (server, _origin) = start_explained();
    server.get("/plain");
    let read = inspected(&server, "/plain", &session("ada"));
    assert!(read.starts_with("no: the cookie wordpress_logged_in_1 is personal"), "{read}");
    assert!(
        read.ends_with("no page is cached that known visitors get without a comparison by the origin"),
        "{read}"
    );
    let read = explained(&server, "/page", "comment_author_1=ada");
    assert!(read.starts_with("no: the cookie comment_author_1 is personal"), "{read}");
}

#[test]
fn explanation_of_a_miss_does_not_use_up_the_attempt_of_a_known_visitor() {
    let (server, _origin) = start_explained();
    for _ in 0..2 {
        assert!(inspected(&server, "/page", &session("ada")).starts_with("yes, if"));
    }
    let answer = server.fetch(&Request::get("/page").field("Cookie", &session("ada")));
    assert_eq!(answer.cache(), "MISS");
}
