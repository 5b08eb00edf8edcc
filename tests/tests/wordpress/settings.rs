//! Effects of `--set`, and response fields of the preset for browsers.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use myriad_tests::{Answer, Request, Server, WordPress};

use super::{browser, page, some_post, start};

fn set(site: &WordPress, settings: &[&str]) -> Server {
    let options: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    site.serve_with(&options)
}

fn twice(server: &Server, request: &Request) -> (String, String) {
    let seen = || server.fetch(request).cache().to_owned();
    (seen(), seen())
}

#[test]
fn rest_option_shares_only_public_wordpress_responses() {
    let site = WordPress::shared();
    let server = set(&site, &["rest=on"]);
    let get = |target: &str| browser(&server, target);
    for target in ["/wp-json/wp/v2/posts?per_page=1", "/wp-json/wp/v2/categories/?per_page=2"] {
        assert_eq!(twice(&server, &get(target)), ("MISS".into(), "HIT".into()), "{target}");
        assert_eq!(server.fetch(&get(&format!("{target}&utm_source=x"))).cache(), "HIT", "{target}");
        for own in [
            get(target).field("X-WP-Nonce", "0123456789"),
            get(target).field("Cookie", "wordpress_logged_in_0=v"),
            get(&format!("{target}&_wpnonce=0123456789")),
            get(target).field("Authorization", "Basic YTpi"),
        ] {
            assert_eq!(server.fetch(&own).cache(), "BYPASS", "{target}");
        }
        assert_ne!(server.fetch(&get(target).by("POST")).cache(), "HIT");
    }
    for target in [
        "/wp-json/",
        "/wp-json/wc/store/v1/cart",
        "/wp-json/wp/v2/settings",
        "/wp-json/wp/v2/users-x/",
        "/?rest_route=/wp/v2/posts",
        "/x/y/wp-json/wp/v2/posts",
    ] {
        assert_eq!(twice(&server, &get(target)), ("BYPASS".into(), "BYPASS".into()), "{target}");
    }
}

#[test]
fn searches_previews_and_xml_rpc_are_as_they_were_set() {
    let site = WordPress::shared();
    let server = set(&site, &["search=on", "link_previews=fresh", "xmlrpc=off", "purge=off", "frames=any"]);
    for target in ["/?s=bread", "/search/bread/"] {
        assert_eq!(twice(&server, &browser(&server, target)), ("MISS".into(), "HIT".into()), "{target}");
    }
    assert_eq!(page(&server, "/").field("X-Frame-Options"), None);
    assert_eq!(page(&server, "/").cache(), "HIT");
    let preview = browser(&server, "/").field("User-Agent", "WhatsApp/2.23.20.0 A");
    assert_eq!(server.fetch(&preview).cache(), "BYPASS");
    assert_eq!(page(&server, "/xmlrpc.php").status, 403);
    assert_eq!(server.fetch(&Request::post("//xmlrpc.php/x", "<a/>")).status, 403);
    for purge in [Request::new("PURGE", "/"), Request::new("PURGE", "/*"), Request::get("/purge/")] {
        assert_eq!(server.fetch(&purge).status, 403, "{purge:?}");
    }
    assert_eq!(page(&server, "/").cache(), "HIT");
}

/// Returns a text as `gzip -9` compresses it, for a file next to a plugin's file.
fn gzipped(text: &str) -> Vec<u8> {
    let mut child =
        Command::new("gzip").arg("-9").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    child.wait_with_output().expect("gzipped").stdout
}

#[test]
fn pages_written_by_plugins_are_served_to_anonymous_visitors() {
    let site = WordPress::shared();
    let server = set(&site, &["plugin_pages=on"]);
    let name = format!("written-{}", server.port);
    let files = [
        ("supercache", "index.html"),
        ("page_enhanced", "_index_slash.html"),
        ("wp-rocket", "index.html"),
        ("cache-enabler", "http-index.html"),
    ];
    for (folder, file) in files {
        let place = format!("wp-content/cache/{folder}/127.0.0.1/{name}-{folder}");
        let text = format!("<html>a page in a file of {folder}</html>");
        site.write(&format!("{place}/{file}"), &text);
        site.write(&format!("{place}/{file}.gz"), gzipped(&text));
        let target = format!("/{name}-{folder}/");
        let get = |target: &str| browser(&server, target);
        let is_file =
            |answer: &Answer| String::from_utf8_lossy(&answer.content()).contains("a page in a file of");
        for request in [get(&target), get(&format!("{target}?utm_source=x")), get(&target).accepting("gzip")]
        {
            let answer = server.fetch(&request);
            assert!(is_file(&answer) && answer.status == 200, "{folder}: {}", answer.text());
            assert_eq!(answer.field("Content-Type"), Some("text/html; charset=utf-8"), "{folder}");
            assert_eq!(answer.field("Cache-Control"), Some("max-age=3, must-revalidate"), "{folder}");
            assert_eq!(answer.field("X-Frame-Options"), Some("SAMEORIGIN"), "{folder}");
        }
        assert_eq!(server.fetch(&get(&target).accepting("gzip")).coding(), "gzip", "{folder}");
        let own = [
            get(&target).field("Cookie", "wordpress_logged_in_0=v"),
            get(&target).field("Cookie", "a=b; comment_author_1=v"),
            get(&target).field("Authorization", "Basic YTpi"),
            get(&target).field("X-Requested-With", "XMLHttpRequest"),
            get(&target).field("X-Forwarded-Proto", "https"),
            get(&target).field("User-Agent", "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36"),
            get(&target).by("POST"),
            get(&format!("{target}?a=b")),
            get(&format!("{target}?preview=true")),
            get(&format!("/{name}-{folder}")),
            get(&format!("/{target}")),
            get(&format!("/x/..{target}")),
            Request::get(&target).host("other.example"),
            Request::get(&target).host("..").field("X-A", "b"),
        ];
        for request in own {
            assert!(!is_file(&server.fetch(&request)), "{folder}: {request:?}");
        }
    }
}

#[test]
fn feed_written_by_plugin_has_its_media_type() {
    let site = WordPress::shared();
    let server = set(&site, &["plugin_pages=on"]);
    let cache = site.root().join("wp-content/cache/wp-rocket/127.0.0.1");
    let targets =
        ["/feed/", "/feed/atom/", "/comments/feed/", "/category/rivers/feed/", "/feed/podcast/", "/map.xml/"];
    for target in targets {
        let folder = cache.join(target.trim_matches('/'));
        fs::create_dir_all(&folder).expect("folders");
        let text = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel>in a file</channel></rss>";
        fs::write(folder.join("index.html"), text).expect("written");
        let answer = server.fetch(&browser(&server, target));
        assert!(!answer.text().contains("in a file"), "{target}");
        let is_feed = target.contains("feed/") && !target.contains("podcast");
        let media_type = answer.field("Content-Type").unwrap_or_default();
        assert_eq!(media_type.contains("xml"), is_feed, "{target}: {media_type}");
    }
    for folder in ["feed", "comments", "category", "map.xml"] {
        fs::remove_dir_all(cache.join(folder)).expect("removed");
    }
}

#[test]
fn sites_of_a_network_in_folders_share_the_files_of_one_wordpress() {
    let site = WordPress::shared();
    let server = set(&site, &["multisite=subdirectories"]);
    let evil = format!("evil-{}.php", server.port);
    site.write(&format!("wp-content/uploads/{evil}"), "<?php echo 'owned';");
    let style = "/wp-includes/css/dist/block-library/style.min.css";
    let answer = page(&server, &format!("/blog-2{style}?ver=6"));
    assert!(answer.body == fs::read(site.root().join(&style[1..])).expect("file"));
    assert_eq!(answer.field("Cache-Control"), Some("max-age=31536000"));
    let login = page(&server, "/blog-2/wp-login.php");
    assert_eq!((login.status, login.cache()), (200, "-"));
    assert!(login.text().contains("user_login"));
    let slash = page(&server, "/blog-2/wp-admin");
    assert_eq!(slash.status, 301);
    assert!(slash.field("Location").is_some_and(|to| to.ends_with("/blog-2/wp-admin/")));
    let admin = page(&server, "/blog-2/wp-admin/");
    assert_eq!(
        (admin.status, admin.cache()),
        (302, "BYPASS"),
        "anonymous visitors are redirected to the log-in page"
    );
    for closed in [
        format!("/blog-2/wp-content/uploads/{evil}"),
        "/blog-2/wp-config.php".to_owned(),
        "/blog-2/wp-includes/functions.php".to_owned(),
    ] {
        assert_eq!(page(&server, &closed).status, 404, "{closed}");
    }
    // Without a network, a folder has no special meaning.
    let plain = site.serve();
    assert_eq!(page(&plain, "/blog-2/wp-login.php").status, 404);
}

#[test]
fn security_headers_are_sent_exactly_once() {
    let (site, server) = start();
    let script = "<?php if (str_contains($_SERVER['PATH_INFO'], 'deny')) header('X-Frame-Options: DENY'); \
                  if (str_contains($_SERVER['PATH_INFO'], 'policy')) header(\"Content-Security-Policy: frame-ancestors 'self' https://a.example\"); \
                  header('X-Content-Type-Options: nosniff'); echo 'words';";
    site.write("framed.php", script);
    let framed = |target: &str| {
        let answer = page(&server, target);
        let sniffing: Vec<_> = answer.all("X-Content-Type-Options").collect();
        assert_eq!(sniffing, ["nosniff"], "{target}");
        let frames: Vec<_> = answer.all("X-Frame-Options").map(str::to_owned).collect();
        frames.join(" | ")
    };
    let port = server.port;
    for (target, frames) in [
        ("/".to_owned(), "SAMEORIGIN"),
        (format!("/framed.php/plain/{port}"), "SAMEORIGIN"),
        (format!("/framed.php/deny/{port}"), "DENY"),
        (format!("/framed.php/policy/{port}"), ""),
        (format!("{}embed/", some_post(&server)), ""),
        ("/wp-login.php".to_owned(), "SAMEORIGIN"),
        // A file that is not a page needs no protection against framing.
        ("/wp-includes/css/dist/block-library/style.min.css".to_owned(), ""),
    ] {
        for _ in 0..2 {
            assert_eq!(framed(&target), frames, "{target}");
        }
    }
    site.write("wp-content/uploads/drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
    let drawing = page(&server, "/wp-content/uploads/drawing.svg?ver=1");
    assert!(drawing.field("Content-Security-Policy").is_some_and(|policy| policy.contains("sandbox")));
    assert_eq!(drawing.all("Cache-Control").collect::<Vec<_>>(), ["max-age=31536000", "immutable"]);
    let plain = page(&server, "/wp-content/uploads/drawing.svg");
    assert_eq!(plain.all("Cache-Control").collect::<Vec<_>>(), ["max-age=604800"]);
    // Missing files are handled by WordPress, regardless of the version argument.
    let missing = page(&server, "/wp-content/uploads/missing.svg?ver=1");
    assert_eq!(missing.status, 404);
    assert!(missing.all("Cache-Control").all(|control| !control.contains("immutable")));
}
