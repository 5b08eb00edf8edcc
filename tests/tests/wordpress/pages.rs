//! Pages for readers: stored, in every encoding, cached by browsers.

use myriad_tests::wait_for;

use super::{browser, page, some_post, start};

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
    assert!(site.php_requests() > before, "the log of PHP contains the requests");
    assert_eq!(
        page(&server, "/?utm_source=letter&fbclid=abc").cache(),
        "HIT",
        "tracking arguments are not part of the key"
    );
}

#[test]
fn every_encoding_is_the_same_text() {
    let (_site, server) = start();
    let plain = page(&server, "/");
    assert_eq!(plain.coding(), "identity");
    for coding in ["gzip", "br", "zstd"] {
        let request = browser(&server, "/").accepting(coding);
        let mut answer = server.fetch(&request);
        wait_for(&format!("a home page in {coding}"), || {
            answer = server.fetch(&request);
            answer.coding() == coding
        });
        assert!(answer.body.len() * 3 < plain.body.len(), "{coding}");
        assert!(answer.content() == plain.content(), "{coding}");
    }
}

#[test]
fn posts_pages_archives_and_feeds_are_served() {
    let (_site, server) = start();
    let post = some_post(&server);
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
    let redirect = page(&server, post.trim_end_matches('/'));
    assert_eq!(redirect.status, 301, "WordPress's canonical address");
}

#[test]
fn not_found_page_is_cached_briefly_despite_no_cache() {
    let (site, server) = start();
    let missing = page(&server, "/no-such-page-at-all/");
    assert_eq!((missing.status, missing.cache()), (404, "MISS"));
    let said = missing.field("Cache-Control").expect("a `Cache-Control` of WordPress");
    assert!(said.contains("no-cache") && missing.text().contains("<html"), "WordPress's own 404 page");
    if !said.contains("private") {
        assert_eq!(page(&server, "/no-such-page-at-all/").cache(), "HIT");
    }
    site.write("gone.php", "<?php http_response_code(404); echo 'gone';");
    for status in ["MISS", "HIT"] {
        let gone = page(&server, "/gone.php");
        assert_eq!((gone.status, gone.cache(), &*gone.text()), (404, status, "gone"));
    }
}

/// Returns the seconds from March 1 of the year 0 to an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn moment(date: &str) -> u64 {
    let parts: Vec<&str> = date.split([' ', ':']).collect();
    let number = |index: usize| parts[index].parse::<u64>().expect("a number");
    let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
    let month = months.iter().position(|name| *name == parts[2]).expect("a month") as u64;
    // In years that begin in March, the leap day is the last day.
    let year = number(3) - u64::from(month >= 10);
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + number(1) - 1;
    ((days * 24 + number(4)) * 60 + number(5)) * 60 + number(6)
}

#[test]
fn style_sheets_are_compressed_and_cacheable() {
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
    for (target, days) in [(target, 7), (&*format!("{target}?ver=6.1"), 365)] {
        let answer = page(&server, target);
        let seconds: u64 = days * 24 * 3600;
        assert_eq!(answer.field("Cache-Control"), Some(&*format!("max-age={seconds}")), "{target}");
        let kept =
            moment(answer.field("Expires").expect("Expires")) - moment(answer.field("Date").expect("Date"));
        assert!(kept.abs_diff(seconds) <= 1, "{target}: {kept}");
    }
    let tag = packed.field("ETag").expect("a tag");
    let repeat = server.fetch(&browser(&server, target).accepting("gzip").field("If-None-Match", tag));
    assert_eq!(repeat.status, 304);
}
