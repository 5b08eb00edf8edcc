//! Variants, encodings and ranges of a page.

use std::collections::BTreeSet;

use myriad_tests::{Answer, Cached, Origin, Request, Server, wait_for};

use super::{see, with};

/// Returns compressible text.
fn prose() -> String {
    (0..800)
        .map(|number| format!("Line {number} of a page that somebody reads.\n"))
        .collect::<Vec<_>>()
        .concat()
}

const ENCODINGS: &str = "fastcgi_cache_valid 1h; gzip on; brotli on; brotli_types text/plain; brotli_min_length 100; \
                         zstd on; zstd_types text/plain; zstd_min_length 100;";

fn serve_prose() -> (Server, Origin) {
    with(ENCODINGS).start(|call| call.answer("Content-Type: text/plain", prose()))
}

/// Sends requests until the stored page has this coding: a missing encoding is created in the background.
fn in_coding(server: &Server, accepted: &str, coding: &str) -> Answer {
    let request = Request::get("/page").accepting(accepted);
    let mut answer = server.fetch(&request);
    wait_for(&format!("the page in {coding} for {accepted:?}"), || {
        answer = server.fetch(&request);
        assert!(answer.content() == prose().into_bytes(), "{accepted:?}");
        answer.coding() == coding
    });
    assert_eq!(answer.cache(), "HIT");
    answer
}

#[test]
fn a_page_is_stored_in_every_encoding_and_chosen_by_quality() {
    let (server, origin) = serve_prose();
    let length = prose().len();
    for coding in ["gzip", "br", "zstd"] {
        assert!(in_coding(&server, coding, coding).body.len() * 4 < length, "{coding}");
    }
    for (accepted, coding) in [
        ("", "identity"),
        ("identity", "identity"),
        ("gzip;q=0", "identity"),
        ("*;q=0", "identity"),
        ("gzip;q=1.0, br;q=0.5, zstd;q=0.4", "gzip"),
        ("gzip;q=0.5, br;q=0.9", "br"),
        ("zstd;q=0.9, gzip;q=0.8, br;q=0", "zstd"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip;q=0.2, identity;q=0.7", "identity"),
        ("gzip;q=1.0;x=y", "gzip"),
        ("deflate, compress", "identity"),
    ] {
        let answer = server.fetch(&Request::get("/page").accepting(accepted));
        assert!(answer.content() == prose().into_bytes(), "{accepted:?}");
        // An undefined parameter may be interpreted either way, but the text must be the same.
        if !accepted.contains("x=y") {
            assert_eq!(answer.coding(), coding, "{accepted:?}");
        }
        assert!(answer.field("Vary").is_some_and(|vary| vary.contains("Accept-Encoding")), "{accepted:?}");
    }
    let everything = server.fetch(&Request::get("/page").accepting("gzip, deflate, br, zstd"));
    assert_ne!(everything.coding(), "identity");
    assert_eq!(origin.count(), 1, "the server encodes the page itself");
}

#[test]
fn every_encoding_has_an_etag_of_its_own_and_answers_304() {
    let (server, origin) = serve_prose();
    let mut tags = BTreeSet::new();
    for coding in ["identity", "gzip", "br", "zstd"] {
        let answer = in_coding(&server, coding, coding);
        let tag = answer.field("ETag").expect("a stored page gets a tag").to_owned();
        let repeat = Request::get("/page").accepting(coding).field("If-None-Match", &tag);
        let not_modified = server.fetch(&repeat);
        assert_eq!(
            (not_modified.status, not_modified.body.len(), not_modified.cache()),
            (304, 0, "HIT"),
            "{coding}"
        );
        assert_eq!(not_modified.field("ETag"), Some(tag.as_str()));
        assert!(not_modified.field("Vary").is_some());
        let other = Request::get("/page").accepting(coding).field("If-None-Match", "\"other\"");
        assert_eq!(server.fetch(&other).status, 200);
        assert!(!tag.starts_with("W/"), "{tag}");
        tags.insert(tag);
    }
    assert_eq!(tags.len(), 4, "{tags:?}");
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_range_of_a_stored_page_is_cut_from_it() {
    let (server, origin) = serve_prose();
    server.get("/page");
    let part = server.fetch(&Request::get("/page").field("Range", "bytes=5-14"));
    match part.status {
        206 => {
            assert_eq!(part.body, prose().as_bytes()[5..15]);
            assert_eq!(part.field("Content-Range"), Some(format!("bytes 5-14/{}", prose().len()).as_str()));
        }
        status => assert_eq!((status, part.body.len()), (200, prose().len())),
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn vary_separates_variants() {
    let (server, origin) = Cached::default().start(|call| {
        let language = call.param("HTTP_ACCEPT_LANGUAGE").to_owned();
        call.answer("Content-Type: text/plain\nVary: Accept-Language", format!("{language} {}", call.number));
    });
    let ask = |language: &str| see(&server, &Request::get("/a").field("Accept-Language", language));
    assert_eq!(ask("de"), ("MISS".into(), "de 1".into()));
    assert_eq!(ask("fr"), ("MISS".into(), "fr 2".into()));
    assert_eq!(ask("de"), ("HIT".into(), "de 1".into()));
    assert_eq!(ask("fr"), ("HIT".into(), "fr 2".into()));
    assert_eq!(see(&server, &Request::get("/a")), ("MISS".into(), " 3".into()));
    assert_eq!(origin.count(), 3);
}

#[test]
fn vary_on_accept_encoding_alone_does_not_multiply_the_page() {
    let (server, origin) =
        with(ENCODINGS).start(|call| call.answer("Content-Type: text/plain\nVary: Accept-Encoding", prose()));
    for accepted in ["gzip", "gzip, deflate", "gzip, deflate, br", "br;q=0.9", "identity", "zstd, gzip"] {
        let answer = server.fetch(&Request::get("/page").accepting(accepted));
        assert!(answer.content() == prose().into_bytes());
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn precompressed_response_is_not_recompressed_or_sent_to_unsuitable_client() {
    let packed = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(prose().as_bytes()).and_then(|()| encoder.finish()).expect("gzip")
    };
    let (server, _origin) = with(ENCODINGS).start(move |call| {
        if call.param("HTTP_ACCEPT_ENCODING").contains("gzip") {
            call.answer("Content-Type: text/plain\nContent-Encoding: gzip\nVary: Accept-Encoding", &packed);
        } else {
            call.answer("Content-Type: text/plain\nVary: Accept-Encoding", prose());
        }
    });
    for _ in 0..3 {
        for accepted in ["gzip", "identity", "br", "gzip, br"] {
            let answer = server.fetch(&Request::get("/page").accepting(accepted));
            assert!(
                answer.content() == prose().into_bytes(),
                "{accepted}: {} {}",
                answer.cache(),
                answer.coding()
            );
            assert!(
                answer.coding() == "identity" || accepted.contains(answer.coding()),
                "{accepted}: {}",
                answer.coding()
            );
        }
    }
}
