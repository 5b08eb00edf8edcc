//! Purges of WordPress plugins, identical in every byte, with the WordPress preset and a real php-fpm.

use std::process::Command;

use myriad_tests::{Answer, Php, Place, Request, Server, binary, wait_for};

/// Script whose responses all differ; its changes send the fields of LiteSpeed Cache.
const INDEX: &str = "<?php
    $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
    if (str_contains($_SERVER['HTTP_SURROGATE_CAPABILITY'] ?? '', 'tags/1'))
        header('X-Cache-Tags: site-1,' . ($path === '/hello/' ? 'p-12,t-5' : 'p-1'));
    if (isset($_SERVER['X-LSCACHE'])) header('X-LiteSpeed-Tag: 5ab_' . ($path === '/other/' ? ',5ab_Po.60' : ',5ab_Po.61') . ',5ab_URL.' . md5($path));
    if ($path === '/wp-json/wp/v2/posts/60') header('X-LiteSpeed-Purge: public,5ab_Po.60,5ab_T.4,5ab_FD,5ab_D.202604,5ab_REST');
    elseif ($path === '/wp-admin/admin-post/') header('X-LiteSpeed-Purge: *');
    elseif ($_SERVER['REQUEST_METHOD'] === 'POST') header('X-LiteSpeed-Purge: public,tag=p-12');
    echo $_SERVER['REQUEST_URI'], ' ', uniqid(), str_repeat(' and more', 100);";

fn start() -> (Server, Php) {
    let mut place = Place::new();
    place.write("site/index.php", INDEX);
    for name in ["wp-config.php", "wp-includes/version.php", "wp-admin/index.php", "wp-content/index.php"] {
        place.write(&format!("site/{name}"), "<?php");
    }
    let php = Php::start(&mut place);
    let mut command = Command::new(binary());
    command.args(["wordpress", "--php", &place.fill("@PHP@"), "--root"]).arg(place.path("site"));
    command.arg("--prefix").arg(place.folder()).args(["--listen", &place.fill("127.0.0.1:@PORT@")]);
    let server = Server::run(place, command);
    // Until the recovery is complete, a purge is answered with 200 even if no page is known.
    wait_for("the end of recovery", || server.fetch(&wordpress("GET", "/purge/nothing/")).status == 404);
    (server, php)
}

/// Returns the file name of a page in nginx: the MD5 of its key, below folders of its last letters (`levels=1:2`).
fn file_of(server: &Server, target: &str) -> std::path::PathBuf {
    let key = format!("httpGETexample.org{target}");
    let output = Command::new("php").args(["-r", "echo md5($argv[1]);", "--", &key]).output().expect("php");
    let name = String::from_utf8(output.stdout).expect("a name");
    let (one, two) = (&name[31..], &name[29..31]);
    server.path("cache/wordpress").join(one).join(two).join(name.as_str())
}

#[test]
fn nginx_helper_and_panels_remove_the_files_of_pages() {
    let (server, _php) = start();
    fill(&server);
    let file = file_of(&server, "/hello/");
    wait_for("the file of the page", || file.exists());
    std::fs::remove_file(&file).expect("removed");
    wait_for("the end of the copy in memory", || visit(&server, "/hello/").cache() == "MISS");
    assert!(is_stored(&server, "/other/"));
    let folder = server.path("cache/wordpress");
    for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with('.') && entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path()).expect("removed");
        }
    }
    wait_for("the end of all copies", || visit(&server, "/other/").cache() == "MISS");
    wait_for("the end of the home page", || visit(&server, "/").cache() == "MISS");
}

/// Sends the request of a visitor.
fn visit(server: &Server, target: &str) -> Answer {
    server.fetch(&Request::get(target).host("example.org").accepting("gzip"))
}

fn is_stored(server: &Server, target: &str) -> bool {
    visit(server, target).cache() == "HIT"
}

fn fill(server: &Server) {
    for target in ["/", "/hello/", "/hello/feed/", "/other/"] {
        assert_eq!(visit(server, target).status, 200, "{target}");
        assert!(is_stored(server, target), "{target}");
    }
}

/// Adds the fields of WordPress's HTTP client.
fn wordpress(method: &str, target: &str) -> Request {
    Request::new(method, target)
        .host("example.org")
        .field("User-Agent", "WordPress/6.7; http://example.org")
        .field("Accept", "*/*")
        .field("Accept-Encoding", "deflate, gzip, br")
        .field("Referer", &format!("http://example.org{target}"))
        .field("Connection", "close")
}

#[test]
fn nginx_helper_purges_addresses_below_purge_path() {
    let (server, _php) = start();
    fill(&server);
    assert_eq!(server.fetch(&wordpress("GET", "/purge/hello/")).status, 200);
    assert_eq!(server.fetch(&wordpress("GET", "/purge/hello/feed/")).status, 200);
    for target in ["/purge/hello/", "/purge/hello/feed/atom/", "/purge/hello/amp/"] {
        assert_eq!(server.fetch(&wordpress("GET", target)).status, 404, "{target}");
    }
    assert!(is_stored(&server, "/other/") && is_stored(&server, "/"));
    assert!(!is_stored(&server, "/hello/") && !is_stored(&server, "/hello/feed/"));
}

#[test]
fn nginx_helper_and_others_purge_the_page_with_its_tracking_arguments() {
    let (server, _php) = start();
    assert_eq!(visit(&server, "/hello/?utm_source=letter").cache(), "MISS");
    assert_eq!(visit(&server, "/hello/").cache(), "HIT");
    assert_eq!(server.fetch(&wordpress("GET", "/purge/hello/")).status, 200);
    assert_eq!(visit(&server, "/hello/?utm_source=other").cache(), "MISS");
    assert_eq!(visit(&server, "/hello/?paged=2").cache(), "MISS");
    assert_eq!(server.fetch(&wordpress("GET", "/purge/hello/?paged=2")).status, 200);
    assert!(is_stored(&server, "/hello/") && !is_stored(&server, "/hello/?paged=2"));
}

#[test]
fn nginx_helper_purges_all() {
    let (server, _php) = start();
    fill(&server);
    assert_eq!(server.fetch(&wordpress("PURGE", "/purgeall")).status, 200);
    assert!(!is_stored(&server, "/") && !is_stored(&server, "/hello/"));
}

#[test]
fn cache_purge_plugin_for_nginx_purges_below_purge_path() {
    let (server, _php) = start();
    fill(&server);
    assert_eq!(server.fetch(&wordpress("GET", "/purge/")).status, 200);
    for target in ["/purge/feed/", "/purge/comments/feed/"] {
        assert_eq!(server.fetch(&wordpress("GET", target)).status, 404, "{target}");
    }
    assert!(is_stored(&server, "/hello/") && !is_stored(&server, "/"));
}

#[test]
fn proxy_cache_purge_sends_its_method_and_tags() {
    let (server, _php) = start();
    let by = |target: &str, method: &str| wordpress("PURGE", target).field("X-Purge-Method", method);
    fill(&server);
    assert_eq!(server.fetch(&by("/hello/", "default")).status, 200);
    assert!(is_stored(&server, "/other/") && !is_stored(&server, "/hello/"));
    fill(&server);
    let answer = server.fetch(&by("/", "tags").field("X-Cache-Tags-Pattern", "p-12|t-5"));
    assert_eq!((answer.status, answer.field("Cache-Purge-Result")), (200, Some("tags; count=1")));
    assert!(is_stored(&server, "/other/") && !is_stored(&server, "/hello/"));
    assert_eq!(server.fetch(&by("/.*", "regex")).status, 200);
    assert!(!is_stored(&server, "/other/") && !is_stored(&server, "/"));
    // Clients do not receive the tags.
    assert_eq!(visit(&server, "/hello/").field("X-Cache-Tags"), None);
}

#[test]
fn wp_rocket_purges_by_default_and_regex() {
    let (server, _php) = start();
    let by = |target: &str, method: &str| wordpress("PURGE", target).field("X-Purge-Method", method);
    fill(&server);
    assert_eq!(server.fetch(&by("/hello/.*", "regex")).status, 200);
    assert!(is_stored(&server, "/other/"));
    assert!(!is_stored(&server, "/hello/") && !is_stored(&server, "/hello/feed/"));
    assert_eq!(server.fetch(&by("/other/", "default")).status, 200);
    assert!(!is_stored(&server, "/other/"));
    fill(&server);
    assert_eq!(server.fetch(&by("/.*", "regex")).status, 200);
    assert!(!is_stored(&server, "/") && !is_stored(&server, "/other/"));
}

#[test]
fn w3_total_cache_sends_no_method_field() {
    let (server, _php) = start();
    fill(&server);
    assert_eq!(server.fetch(&wordpress("PURGE", "/hello/")).status, 200);
    assert_eq!(server.fetch(&wordpress("PURGE", "/")).status, 200);
    assert!(is_stored(&server, "/other/") && !is_stored(&server, "/hello/") && !is_stored(&server, "/"));
    assert_eq!(server.fetch(&wordpress("PURGE", "/.*")).status, 200);
    assert!(!is_stored(&server, "/other/") && !is_stored(&server, "/"));
    // Its purge of all sitemaps when a post is saved.
    for target in ["/", "/wp-sitemap.xml", "/wp-sitemap-posts-post-1.xml", "/a-sitemap-of-words/"] {
        visit(&server, target);
        assert!(is_stored(&server, target), "{target}");
    }
    let sitemaps = wordpress("PURGE", r"/([a-z0-9_\-]*?)sitemap([a-z0-9_\-]*)?\.(?:xml|xsl)");
    assert_eq!(server.fetch(&sitemaps).status, 200);
    assert!(is_stored(&server, "/") && is_stored(&server, "/a-sitemap-of-words/"));
    assert!(!is_stored(&server, "/wp-sitemap.xml") && !is_stored(&server, "/wp-sitemap-posts-post-1.xml"));
}

#[test]
fn purge_module_is_asked_with_a_star() {
    let (server, _php) = start();
    fill(&server);
    assert_eq!(server.fetch(&wordpress("PURGE", "/hello/*")).status, 200);
    assert!(is_stored(&server, "/other/"));
    assert!(!is_stored(&server, "/hello/") && !is_stored(&server, "/hello/feed/"));
}

#[test]
fn litespeed_cache_purges_in_its_answers() {
    let (server, _php) = start();
    fill(&server);
    let answer = server.fetch(&Request::post("/wp-comments-post", "comment=x").host("example.org"));
    assert_eq!((answer.status, answer.field("X-LiteSpeed-Purge")), (200, None));
    assert!(is_stored(&server, "/other/") && !is_stored(&server, "/hello/"));
    // Version 7 sends only tag names when a post is saved.
    fill(&server);
    let answer = server.fetch(&Request::post("/wp-json/wp/v2/posts/60", "{}").host("example.org"));
    assert_eq!((answer.status, answer.field("X-LiteSpeed-Purge")), (200, None));
    assert!(is_stored(&server, "/hello/") && !is_stored(&server, "/other/"));
    // A purge of everything from the back office applies to that host.
    server.fetch(&Request::post("/wp-admin/admin-post/", "").host("example.org"));
    assert!(!is_stored(&server, "/hello/") && !is_stored(&server, "/"));
    assert_eq!(visit(&server, "/").field("X-LiteSpeed-Tag"), None);
}

#[test]
fn unauthorized_clients_cannot_purge() {
    let (server, _php) = start();
    fill(&server);
    for request in [
        wordpress("GET", "/purge/hello/"),
        wordpress("PURGE", "/hello/"),
        wordpress("PURGE", "/.*").field("X-Purge-Method", "regex"),
        wordpress("PURGE", "/purgeall"),
        wordpress("BAN", "/"),
    ] {
        assert_eq!(server.fetch(&request.field("X-Forwarded-For", "192.0.2.1")).status, 403);
    }
    // The request of WordPress for a page of an alleged pingback.
    let pingback = wordpress("GET", "/purge/hello/").field("X-Pingback-Forwarded-For", "192.0.2.1");
    assert_eq!(server.fetch(&pingback).status, 403);
    assert!(is_stored(&server, "/hello/"));
    // A link that the application could be made to follow must purge at most one page.
    assert_eq!(server.fetch(&wordpress("GET", "/purge/*")).status, 404);
    assert!(is_stored(&server, "/hello/"));
}
