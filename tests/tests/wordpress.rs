//! `myriad wordpress` in front of a real WordPress with its own MariaDB and php-fpm.

use std::sync::Arc;

use myriad_tests::{
    Answer, Client, Load, Php, Place, Request, Server, Visitor, WordPress, all_at_once, wait_for,
};

fn start() -> (Arc<WordPress>, Server) {
    let site = WordPress::shared();
    let server = site.serve();
    (site, server)
}

/// The request of a visitor's browser: WordPress builds its links from the host.
fn browser(server: &Server, target: &str) -> Request {
    Request::get(target).host(&format!("127.0.0.1:{}", server.port))
}

fn page(server: &Server, target: &str) -> Answer {
    server.fetch(&browser(server, target))
}

/// The administrator, logged in through the form as a browser does it.
fn administrator(site: &WordPress, server: &Server) -> Visitor {
    let (name, password) = site.administrator();
    let mut visitor = Visitor::new(server.port);
    assert_eq!(visitor.get("/wp-login.php").status, 200);
    assert!(visitor.has_cookie("wordpress_test_cookie"));
    let form = [
        ("log", name.as_str()),
        ("pwd", &password),
        ("wp-submit", "Log In"),
        ("testcookie", "1"),
        ("redirect_to", "/wp-admin/"),
    ];
    let answer = visitor.post("/wp-login.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert!(visitor.has_cookie("wordpress_logged_in_"));
    visitor
}

/// The address of the newest post, from the home page.
fn newest_post(server: &Server) -> String {
    let home = page(server, "/").text();
    let link = home.split("wp-block-post-title\"><a href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = link.expect("a post on the home page");
    link.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path")
}

#[test]
fn the_home_page_comes_from_the_cache_the_second_time() {
    let (site, server) = start();
    let before = site.php_requests();
    let first = page(&server, "/");
    assert_eq!((first.status, first.cache()), (200, "MISS"));
    assert!(first.text().contains("Ten Thousand Words"));
    for _ in 0..5 {
        let hit = page(&server, "/");
        assert_eq!(hit.cache(), "HIT");
        assert!(hit.content() == first.content());
        assert_eq!(hit.field("Set-Cookie"), None);
    }
    let tag = page(&server, "/").field("ETag").expect("a tag").to_owned();
    let repeat = server.fetch(&browser(&server, "/").field("If-None-Match", &tag));
    assert_eq!((repeat.status, repeat.body.len()), (304, 0));
    assert!(site.php_requests() > before, "PHP's log tells what reached it");
    assert_eq!(
        page(&server, "/?utm_source=letter&fbclid=abc").cache(),
        "HIT",
        "tracking arguments are no page of their own"
    );
}

#[test]
fn every_encoding_is_the_same_text() {
    let (_site, server) = start();
    let plain = page(&server, "/");
    assert_eq!(plain.coding(), "identity");
    for coding in ["gzip", "br"] {
        let request = browser(&server, "/").accepting(coding);
        let mut answer = server.fetch(&request);
        if coding == "gzip" {
            wait_for("a compressed home page", || {
                answer = server.fetch(&request);
                answer.coding() == coding
            });
            assert!(answer.body.len() * 3 < plain.body.len());
        }
        assert!(answer.content() == plain.content(), "{coding}");
    }
}

#[test]
fn posts_pages_archives_and_feeds_are_served() {
    let (_site, server) = start();
    let post = newest_post(&server);
    for target in [
        post.as_str(),
        "/about/",
        "/page/2/",
        "/category/rivers/",
        "/feed/",
        "/wp-sitemap.xml",
        "/robots.txt",
    ] {
        let answer = page(&server, target);
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(page(&server, target).cache(), "HIT", "{target}");
    }
    let missing = page(&server, "/no-such-page-at-all/");
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("<html"), "WordPress's own 404 page");
    let redirect = page(&server, post.trim_end_matches('/'));
    assert_eq!(redirect.status, 301, "WordPress's canonical address");
}

#[test]
fn who_is_logged_in_sees_their_own_page_and_the_others_do_not() {
    let (site, server) = start();
    let mut admin = administrator(&site, &server);
    for _ in 0..2 {
        let own = admin.get("/");
        assert_eq!((own.status, own.cache()), (200, "BYPASS"));
        assert!(own.text().contains("wpadminbar"));
        let stranger = page(&server, "/");
        assert!(!stranger.text().contains("wpadminbar"), "an administrator's page was shared");
        assert!(!stranger.text().contains("Howdy"));
    }
    assert_eq!(page(&server, "/").cache(), "HIT");
    assert!(admin.get("/").text().contains("wpadminbar"), "a shared page was given to the administrator");
    let dashboard = admin.get("/wp-admin/");
    assert_eq!((dashboard.status, dashboard.cache()), (200, "BYPASS"));
    assert!(dashboard.text().contains("Dashboard"));
    let stranger = page(&server, "/wp-admin/");
    assert_eq!(stranger.status, 302, "a stranger is sent to the log-in page");
}

#[test]
fn the_log_in_page_is_never_cached() {
    let (_site, server) = start();
    for _ in 0..3 {
        let answer = page(&server, "/wp-login.php");
        assert_eq!((answer.status, answer.cache()), (200, "BYPASS"));
        assert!(answer.field("Set-Cookie").is_some_and(|cookie| cookie.starts_with("wordpress_test_cookie")));
    }
    let mut visitor = Visitor::new(server.port);
    visitor.get("/wp-login.php");
    page(&server, "/");
    assert_eq!(visitor.get("/").cache(), "HIT", "the test cookie alone is nobody's");
    let refused = visitor.post("/wp-login.php", &[("log", "admin"), ("pwd", "wrong"), ("testcookie", "1")]);
    assert_eq!(refused.status, 200);
    assert!(!visitor.has_cookie("wordpress_logged_in_"));
}

#[test]
fn a_visitor_may_comment_and_sees_the_comment() {
    let (_site, server) = start();
    let post = newest_post(&server);
    let text = page(&server, &post).text();
    let id = text.split("name='comment_post_ID' value='").nth(1).and_then(|rest| rest.split('\'').next());
    let id = id.expect("the comment form").to_owned();
    let mut visitor = Visitor::new(server.port);
    let words = format!("A comment from a test, {}.", server.port);
    let form = [
        ("comment", words.as_str()),
        ("author", "Ada Example"),
        ("email", "ada@example.org"),
        ("comment_post_ID", &id),
        ("comment_parent", "0"),
        ("wp-comment-cookies-consent", "yes"),
    ];
    let answer = visitor.post("/wp-comments-post.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert!(visitor.has_cookie("comment_author_"));
    let own = visitor.get(&post);
    assert_eq!(own.cache(), "BYPASS", "who has commented gets pages with their name in the form");
    assert!(own.text().contains(&words));
    let stranger = page(&server, &post).text();
    assert!(!stranger.contains("ada@example.org"), "the form of a stranger knows nobody's address");
}

#[test]
fn a_post_is_published_through_the_rest_interface() {
    let (site, server) = start();
    let mut admin = administrator(&site, &server);
    let nonce = admin.get("/wp-admin/admin-ajax.php?action=rest-nonce").text();
    assert!(nonce.len() >= 10 && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nonce}");
    let slug = format!("published-by-a-test-{}", server.port);
    let body = format!(
        "{{\"title\":\"Published by a test\",\"slug\":\"{slug}\",\"status\":\"publish\",\"content\":\"Words.\"}}"
    );
    let request = Request::post("/wp-json/wp/v2/posts", body)
        .field("Content-Type", "application/json")
        .field("X-WP-Nonce", &nonce);
    let answer = admin.fetch(request);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let published = page(&server, &format!("/{slug}/"));
    assert_eq!(published.status, 200);
    assert!(published.text().contains("Published by a test"));
    assert_eq!(page(&server, &format!("/{slug}/")).cache(), "HIT");
    let unsigned = Request::post("/wp-json/wp/v2/posts", "{}").field("Content-Type", "application/json");
    assert_eq!(Visitor::new(server.port).fetch(unsigned).status, 401);
}

#[test]
fn what_must_not_be_cached_is_not() {
    let (_site, server) = start();
    for target in [
        "/?s=bread",
        "/wp-json/wp/v2/posts?per_page=1",
        "/?rest_route=/",
        "/?preview=true",
        "/wp-cron.php",
        "/?add-to-cart=1",
    ] {
        for _ in 0..2 {
            let answer = page(&server, target);
            assert_eq!(answer.cache(), "BYPASS", "{target}: {}", answer.status);
        }
    }
    let script = browser(&server, "/").field("X-Requested-With", "XMLHttpRequest");
    assert_eq!(server.fetch(&script).cache(), "BYPASS");
    let posted = Visitor::new(server.port).post("/", &[("a", "b")]);
    assert_eq!(posted.status, 200, "shops post to the front page: POST /?wc-ajax=...");
    assert_ne!(posted.cache(), "HIT");
}

#[test]
fn style_sheets_are_compressed_and_may_be_kept() {
    let (site, server) = start();
    let target = "/wp-includes/css/dist/block-library/style.min.css";
    let file = std::fs::read(site.root().join(&target[1..])).expect("file");
    let plain = page(&server, target);
    assert!(
        plain.body == file && plain.field("Content-Type").is_some_and(|kind| kind.starts_with("text/css"))
    );
    let mut packed = plain.clone();
    wait_for("the compressed style sheet", || {
        packed = server.fetch(&browser(&server, target).accepting("gzip"));
        packed.coding() == "gzip"
    });
    assert!(packed.content() == file && packed.body.len() * 3 < file.len());
    let versioned = page(&server, &format!("{target}?ver=6.1"));
    assert_eq!(versioned.field("Cache-Control"), Some("max-age=31536000"));
    let tag = packed.field("ETag").expect("a tag");
    let repeat = server.fetch(&browser(&server, target).accepting("gzip").field("If-None-Match", tag));
    assert_eq!(repeat.status, 304);
}

#[test]
fn what_is_nobody_s_business_is_not_there() {
    let (site, server) = start();
    std::fs::write(site.root().join(".htaccess"), "secret rules").expect("write");
    std::fs::write(site.root().join("wp-content/uploads/evil.php"), "<?php echo 'owned';").expect("write");
    for target in [
        "/wp-config.php",
        "/wp-config.php.bak",
        "/.htaccess",
        "/.git/config",
        "/wp-content/uploads/evil.php",
        "/wp-content/debug.log",
        "/wp-includes/functions.php",
        "/wp-admin/setup-config.php",
        "/wp-admin/includes/file.php",
        "/readme.html",
    ] {
        let answer = page(&server, target);
        assert!(matches!(answer.status, 403 | 404), "{target}: {}", answer.status);
        assert!(!answer.text().contains("owned") && !answer.text().contains("secret rules"), "{target}");
    }
    let xmlrpc = page(&server, "/xmlrpc.php");
    assert!(matches!(xmlrpc.status, 403..=405), "{}", xmlrpc.status);
    assert_ne!(xmlrpc.cache(), "HIT");
}

#[test]
fn a_rush_on_a_new_page_costs_php_one_request() {
    let (site, server) = start();
    let target = format!("/slow.php/300/rush-{}", server.port);
    let answers = all_at_once(server.port, 200, &Request::get(&target));
    // PHP's paths are nobody's pages to the preset when they are called by name, or a page of the cache: either way all
    // of them are answered.
    assert!(
        answers.iter().all(|answer| answer.status == 200 && answer.text().contains("rendered in 300 ms"))
    );
    let log = std::fs::read_to_string(site.root().join("../log/php-access.log")).unwrap_or_default();
    assert_eq!(log.lines().filter(|line| line.contains(&target)).count(), 1);
}

#[test]
fn php_killed_under_load_fails_no_visitor() {
    let site = WordPress::shared();
    let mut place = Place::new();
    let mut php = Php::start(&mut place);
    let socket = place.path("php.sock").display().to_string();
    // A minute of validity would hide what happens: with a second, nearly every page is stale.
    let server = site.serve_changed(place, &socket, |preset| {
        let line = "fastcgi_cache_valid 200 301 302 308 1m;";
        assert!(preset.contains(line));
        preset.replace(line, "fastcgi_cache_valid 200 301 302 308 1s;")
    });
    let post = newest_post(&server);
    let requests: Vec<_> =
        ["/", post.as_str(), "/about/", "/feed/"].map(|target| browser(&server, target)).into();
    for request in &requests {
        assert_eq!(server.fetch(request).status, 200);
    }
    let load = Load::start(server.port, 8, requests, |request, answer| {
        let right = answer.status == 200 && answer.text().contains("Ten Thousand Words");
        if right { Ok(()) } else { Err(format!("{request:?}: {}", answer.status)) }
    });
    load.wait_for(200);
    php.kill();
    let mut client = Client::connect(server.port);
    let home = browser(&server, "/");
    wait_for("stale pages", || matches!(client.fetch(&home).cache(), "STALE" | "UPDATING"));
    load.wait_for(1000);
    assert_eq!(client.fetch(&browser(&server, "/colophon/")).status, 502, "php-fpm is really gone");
    php.restart();
    assert_eq!(client.fetch(&browser(&server, "/colophon/")).status, 200, "the next request works");
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{:?}", &failures[..failures.len().min(5)]);
}
