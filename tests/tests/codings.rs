//! Clients that accept none of the codings that the server produces, and an origin that produces other codings.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use myriad_tests::{Cached, Gate, Origin, Request, Server, Signal, binary, wait_for};

/// Location `/purge/page`, which purges the key of `/page`.
const PURGED_BY_KEY: &str =
    "fastcgi_cache_valid 1h; location ~ ^/purge(/.*)$ { fastcgi_cache_purge pages httpGETlocalhost$1; }";

/// Starts a site whose origin varies on `Accept-Encoding` (except `/plain`) and produces `deflate`.
fn serve() -> (Server, Origin) {
    let rules = format!("gzip on; fastcgi_cache_purge PURGE from all; {PURGED_BY_KEY}");
    let (server, origin) = Cached { server: &rules, ..Cached::default() }.start(|call| {
        let codings = call.param("HTTP_ACCEPT_ENCODING").to_owned();
        let vary = if call.uri().contains("plain") { "" } else { "\nVary: Accept-Encoding" };
        let coding = if codings.contains("deflate") { "\nContent-Encoding: deflate" } else { "" };
        let text = format!("{} for '{codings}'", call.number);
        call.answer(&format!("Content-Type: text/plain{vary}{coding}"), text);
    });
    server.wait_for_recoveries(1);
    (server, origin)
}

/// Returns cache status, coding and bytes of a page for a client that accepts `codings`.
fn see(server: &Server, target: &str, codings: &str) -> (String, String, String) {
    let answer = server.fetch(&Request::get(target).accepting(codings));
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    (answer.cache().to_owned(), answer.coding().to_owned(), text)
}

fn page(status: &str, coding: &str, text: &str) -> (String, String, String) {
    (status.to_owned(), coding.to_owned(), text.to_owned())
}

fn status(server: &Server, target: &str, codings: &str) -> String {
    see(server, target, codings).0
}

#[test]
fn a_client_of_codings_that_only_the_origin_makes_gets_a_page_of_its_own_and_browsers_never_get_that() {
    let (server, origin) = serve();
    assert_eq!(see(&server, "/page", "gzip, deflate"), page("MISS", "identity", "1 for ''"));
    assert_eq!(see(&server, "/page", "deflate"), page("MISS", "deflate", "2 for 'deflate'"));
    assert_eq!(see(&server, "/page", "x, y;q=0.5"), page("MISS", "identity", "3 for 'x,y'"));
    for _ in 0..3 {
        assert_eq!(
            see(&server, "/page", "Deflate;q=0.5, identity;q=0.1"),
            page("HIT", "deflate", "2 for 'deflate'")
        );
        assert_eq!(see(&server, "/page", "y,x"), page("HIT", "identity", "3 for 'x,y'"));
        for browsers in ["gzip, deflate, br, zstd", "gzip, deflate", "identity", "deflate, gzip", "*", "br"] {
            assert_eq!(see(&server, "/page", browsers), page("HIT", "identity", "1 for ''"), "{browsers}");
        }
        assert_eq!(server.get("/page").cache(), "HIT");
    }
    assert_eq!(origin.count(), 3);
}

#[test]
fn page_without_vary_on_encoding_is_shared_regardless_of_first_client() {
    let (server, origin) = serve();
    assert_eq!(status(&server, "/plain", "deflate"), "MISS");
    for codings in ["gzip, deflate, br", "deflate", "x", "gzip"] {
        assert_eq!(see(&server, "/plain", codings), page("HIT", "identity", "1 for ''"), "{codings}");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn shared_page_is_fetched_without_accept_encoding_regardless_of_first_client() {
    let (server, origin) = serve();
    assert_eq!(see(&server, "/page", "deflate"), page("MISS", "identity", "1 for ''"));
    for codings in ["deflate", "gzip", "deflate"] {
        assert_eq!(see(&server, "/page", codings), page("HIT", "identity", "1 for ''"), "{codings}");
    }
    assert_eq!(origin.count(), 1);
}

fn fill(server: &Server) {
    for codings in ["gzip", "deflate", "x"] {
        status(server, "/page", codings);
        assert_eq!(status(server, "/page", codings), "HIT", "{codings}");
    }
}

#[test]
fn a_purge_takes_the_pages_for_all_codings() {
    let (server, _origin) = serve();
    fill(&server);
    let purged = server.fetch(&Request::new("PURGE", "/page").accepting("deflate"));
    assert_eq!(purged.field("Cache-Purge-Result"), Some("url; count=3"));
    for codings in ["x", "deflate", "gzip"] {
        assert_ne!(see(&server, "/page", codings).2.chars().next(), Some('1'), "{codings}");
    }
}

#[test]
fn a_purge_of_the_key_takes_the_pages_for_all_codings() {
    let (server, _origin) = serve();
    fill(&server);
    let purged = server.get("/purge/page");
    assert_eq!((purged.status, purged.field("Cache-Purge-Result")), (200, Some("key; count=3")));
    for codings in ["x", "deflate", "gzip"] {
        assert_ne!(see(&server, "/page", codings).2.chars().next(), Some('1'), "{codings}");
    }
}

#[test]
fn encoded_page_in_flight_during_key_purge_is_not_served_to_later_clients() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let cached = Cached { server: PURGED_BY_KEY, ..Cached::default() };
    let (server, origin) = cached.start(move |call| {
        if call.number == 2 {
            held.pass();
        }
        call.answer("Content-Type: text/plain\nVary: Accept-Encoding", format!("{}", call.number));
    });
    assert_eq!(see(&server, "/page", "gzip").2, "1");
    thread::scope(|scope| {
        let before = scope.spawn(|| see(&server, "/page", "deflate").2);
        origin.wait_for(2);
        assert_eq!(server.get("/purge/page").status, 200);
        assert_eq!(see(&server, "/page", "gzip").2, "3");
        assert_eq!(see(&server, "/page", "deflate"), page("MISS", "identity", "4"));
        gate.open();
        assert_eq!(before.join().expect("an answer"), "2");
    });
    assert_eq!(see(&server, "/page", "deflate"), page("HIT", "identity", "4"));
}

/// Returns the cache file name of the page in nginx.
fn file_of(server: &Server, target: &str) -> PathBuf {
    use md5::{Digest, Md5};
    let digest = Md5::digest(format!("httpGETlocalhost{target}"));
    let name = digest.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
    server.path("cache").join(name)
}

#[test]
fn removal_of_page_file_removes_page_for_all_encodings() {
    let (server, origin) = serve();
    fill(&server);
    let file = file_of(&server, "/page");
    wait_for("the file", || file.exists());
    fs::remove_file(&file).expect("the file of the page");
    wait_for("the page to go", || status(&server, "/page", "gzip") != "HIT");
    assert_eq!(origin.count(), 4);
    assert_eq!(see(&server, "/page", "deflate").2, "5 for 'deflate'");
    assert_eq!(see(&server, "/page", "x").2, "6 for 'x'");
    assert_eq!(status(&server, "/page", "x"), "HIT");
}

/// Returns the number of files in the folder of a zone, without its hidden files.
fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
}

#[test]
fn a_flood_of_codings_makes_as_many_pages_as_variants_may_be() {
    let (server, origin) = serve();
    assert_eq!(server.get("/page").cache(), "MISS");
    for number in 0..40 {
        // Later clients receive the common page without an origin request.
        let expected = if number < 16 { "MISS" } else { "HIT" };
        assert_eq!(status(&server, "/page", &format!("x{number}")), expected, "{number}");
    }
    assert_eq!(origin.count(), 17);
    assert_eq!(see(&server, "/page", "x3"), page("HIT", "identity", "5 for 'x3'"));
    assert_eq!(server.get("/page").cache(), "HIT");
    assert_eq!(
        status(&server, "/page", &"x".repeat(100)),
        "HIT",
        "an unknown coding does not select a variant"
    );
    assert_eq!(origin.count(), 17);
    // The common page, the index of its variants, and sixteen variants.
    wait_for("no more files than variants may be", || files(&server.path("cache")) == 18);
}

/// Starts a site whose `/error/` and `/accel/` redirect clients of `deflate` internally to `/b/`, which bypasses the
/// cache and stores the response as the page of its path.
fn serve_bypass() -> (Server, Origin) {
    let rules = "fastcgi_cache_valid 200 1h;
        location /error/ { fastcgi_intercept_errors on; error_page 404 = $arg_to; fastcgi_pass @ORIGIN@; }
        location /accel/ { fastcgi_pass @ORIGIN@; }
        location /b/ { fastcgi_cache_key $uri; fastcgi_cache_bypass $arg_by; fastcgi_pass @ORIGIN@; }";
    Cached { server: rules, ..Cached::default() }.start(|call| {
        let path = call.param("SCRIPT_NAME").to_owned();
        let codings = call.param("HTTP_ACCEPT_ENCODING").to_owned();
        let head = "Content-Type: text/plain\nVary: Accept-Encoding";
        let to = call.uri().rsplit_once("to=").map_or("", |(_, to)| to);
        match (codings.as_str(), &path[..3]) {
            ("deflate", "/er") => call.answer("Status: 404 Not Found", "none"),
            ("deflate", "/ac") => call.answer(&format!("X-Accel-Redirect: {to}"), "none"),
            _ => {
                let text = format!("{} {path} for '{codings}'", call.number);
                call.answer(head, text);
            }
        }
    })
}

#[test]
fn a_place_that_a_client_of_other_codings_is_sent_on_to_stores_everybody_s_page_under_its_own_key() {
    for from in ["error", "accel"] {
        let (server, origin) = serve_bypass();
        // The second key is shorter than the suffix of keys for other codings.
        for (round, to) in ["/b/12345678", "/b/x"].into_iter().enumerate() {
            let first = 1 + round * 3;
            let target = format!("/{from}/?to={to}?by=1");
            assert_eq!(status(&server, &target, "gzip"), "MISS");
            let text = format!("{} {to} for ''", first + 2);
            assert_eq!(see(&server, &target, "deflate"), page("BYPASS", "identity", &text), "{target}");
            assert_eq!(see(&server, to, "gzip"), page("HIT", "identity", &text), "{target}");
            assert_eq!(origin.count(), first + 2);
        }
        let other = see(&server, "/b/", "gzip");
        assert_eq!((&*other.0, other.2.contains("/b/ for ''")), ("MISS", true), "{other:?}");
    }
}

#[test]
fn encoded_response_without_vary_is_served_only_to_clients_that_named_its_encoding() {
    for coding in ["deflate", "x-own, gzip", "gzip\nContent-Encoding: x-own"] {
        let rules = Cached { server: "fastcgi_cache_valid 1h;", ..Cached::default() };
        let (server, origin) = rules.start(move |call| {
            let text = format!("{} coded", call.number);
            match call.param("HTTP_ACCEPT_ENCODING") {
                "" => call.answer("Content-Type: text/plain\nVary: Accept-Encoding", "for all"),
                _ => call.answer(&format!("Content-Type: text/plain\nContent-Encoding: {coding}"), text),
            }
        });
        assert_eq!(see(&server, "/", "gzip"), page("MISS", "identity", "for all"));
        status(&server, "/", "deflate");
        assert_eq!(origin.count(), 2);
        for browsers in ["gzip, deflate", "br", "identity", "*"] {
            assert_eq!(see(&server, "/", browsers), page("HIT", "identity", "for all"), "{coding:?}");
        }
        assert_eq!(origin.count(), 2);
        if coding == "deflate" {
            assert_eq!(see(&server, "/", "deflate"), page("HIT", "deflate", "2 coded"));
        }
    }
}

#[test]
fn what_a_client_of_other_codings_has_the_origin_answer_does_not_replace_everybody_s_fresh_page() {
    let cached = Cached { server: "fastcgi_cache_valid any 1h;", ..Cached::default() };
    let (server, origin) = cached.start(|call| match call.param("HTTP_X_FORWARDED_HOST") {
        "" => call.answer("Content-Type: text/plain\nVary: Accept-Encoding", format!("{}", call.number)),
        host => {
            let head = format!("Status: 301 Moved\nLocation: http://{host}/");
            call.answer(&head, "elsewhere");
        }
    });
    assert_eq!(see(&server, "/", "gzip"), page("MISS", "identity", "1"));
    let request = || Request::get("/").field("X-Forwarded-Host", "elsewhere.example");
    assert_eq!(server.fetch(&request().accepting("deflate")).status, 301);
    assert_eq!(server.fetch(&request().accepting("deflate")).status, 301);
    assert_eq!(see(&server, "/", "gzip"), page("HIT", "identity", "1"));
    assert_eq!(see(&server, "/", "x"), page("MISS", "identity", "3"));
    assert_eq!(origin.count(), 3);
}

/// Returns the reported number of hits of the common page.
fn hits(server: &Server) -> String {
    let mut command = Command::new(binary());
    command.args(["cache", "show", "httpGETlocalhost/page"]).arg("-p").arg(server.folder());
    let output = command.args(["-c", "myriad.conf"]).output().expect("myriad starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("hits"));
    line.map(|count| count.trim().to_owned()).unwrap_or(text)
}

#[test]
fn a_client_of_other_codings_is_no_use_of_everybody_s_page() {
    let (server, _origin) = serve();
    fill(&server);
    assert_eq!(hits(&server), "1");
    for _ in 0..5 {
        assert_eq!(status(&server, "/page", "deflate"), "HIT");
    }
    assert_eq!(hits(&server), "1");
    assert_eq!(status(&server, "/page", "gzip"), "HIT");
    assert_eq!(hits(&server), "2");
}

#[test]
fn where_the_fetch_of_such_a_page_fails_everybody_s_page_stands_in() {
    let rules = "fastcgi_cache_valid 1h; fastcgi_cache_use_stale error http_503;";
    let (server, _origin) = Cached { server: rules, ..Cached::default() }.start(|call| {
        let status = if call.number == 1 { "" } else { "Status: 503 Busy\n" };
        call.answer(&format!("{status}Content-Type: text/plain\nVary: Accept-Encoding"), "the page");
    });
    assert_eq!(status(&server, "/page", "gzip"), "MISS");
    for codings in ["deflate", "x"] {
        let answer = server.fetch(&Request::get("/page").accepting(codings));
        assert_eq!((answer.status, &answer.body[..]), (200, &b"the page"[..]), "{codings}");
    }
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(9));
    encoder.write_all(text).expect("gzip");
    encoder.finish().expect("gzip")
}

/// The checksum of an archive applies to the bytes of its publisher: apt, pip and bazel verify it.
#[test]
fn an_archive_that_its_origin_sends_in_a_coding_reaches_all_clients_byte_for_byte() {
    let text: Vec<u8> = b"a line of an archive, and another\n".repeat(500);
    let packed = gzipped(&text);
    let archive = packed.clone();
    let (mut server, origin) = Cached {
        server: "gzip on; gzip_proxied any; gunzip off; fastcgi_cache_valid 1h;",
        ..Cached::default()
    }
    .start(move |call| {
        let kind = match call.uri() {
            "/archive.tar.gz" => {
                "Content-Type: application/gzip\nContent-Encoding: x-gzip\nETag: \"published\""
            }
            "/fixed" => {
                "Content-Type: text/html\nContent-Encoding: gzip\nCache-Control: no-transform, max-age=600"
            }
            _ => "Content-Type: text/html\nContent-Encoding: gzip",
        };
        call.answer(kind, archive.clone());
    });
    server.wait_for_recoveries(1);
    for round in 0..2 {
        for target in ["/archive.tar.gz", "/fixed"] {
            for (number, codings) in
                ["gzip", "identity", "br, gzip;q=0.1", "x-gzip", ""].into_iter().enumerate()
            {
                let answer = server.fetch(&Request::get(target).accepting(codings));
                let status = if (round, number) == (0, 0) { "MISS" } else { "HIT" };
                assert_eq!((answer.cache(), answer.body == packed), (status, true), "{target} {codings}");
                let coding = if target == "/fixed" { "gzip" } else { "x-gzip" };
                assert_eq!(answer.field("Content-Encoding"), Some(coding), "{target} {codings}");
                assert_eq!(
                    answer.field("Content-Length"),
                    Some(&*packed.len().to_string()),
                    "{target} {codings}"
                );
            }
        }
        let archive = server.get("/archive.tar.gz");
        assert_eq!(archive.field("ETag"), Some("\"published\""));
        let part = server.fetch(&Request::get("/archive.tar.gz").field("Range", "bytes=10-19"));
        assert_eq!((part.status, &part.body[..]), (206, &packed[10..20]));
        // A page is recoded for each client.
        assert_eq!(server.fetch(&Request::get("/page").accepting("identity")).body, text);
        let small = server.fetch(&Request::get("/page").accepting("gzip"));
        assert_eq!(small.coding(), "gzip");
        server.restart(Signal::TERM);
        server.wait_for_recoveries(1);
    }
    assert_eq!(origin.count(), 3);
}

#[test]
fn long_page_is_stored_compressed_for_its_first_clients() {
    let text =
        (0..30_000).fold(String::new(), |text, number| text + &format!("line {} of a page\n", number * 7919));
    let body = text.clone();
    let (server, _origin) =
        Cached { server: "fastcgi_cache_valid 1h; gzip on; gzip_types *;", ..Cached::default() }
            .start(move |call| call.answer("Content-Type: text/html", body.clone()));
    assert_eq!(server.fetch(&Request::get("/long").accepting("identity")).cache(), "MISS");
    let answer = server.fetch(&Request::get("/long").accepting("gzip"));
    assert_eq!((answer.cache(), answer.coding()), ("HIT", "gzip"));
    assert!(answer.body.len() < text.len() / 2, "{} bytes", answer.body.len());
    assert!(answer.text() == text);
}
