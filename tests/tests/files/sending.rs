//! Sending of files: validators, ranges, encodings, changes on disk.

use std::collections::BTreeSet;
use std::fs;

use myriad_tests::{Answer, Client, Place, Request, Server, wait_for};

use super::{FILES, content, serve, style};

#[test]
fn a_repeat_visitor_gets_304() {
    let server = serve();
    let first = server.get("/digits.txt");
    let (tag, date) = (
        first.field("ETag").expect("ETag").to_owned(),
        first.field("Last-Modified").expect("date").to_owned(),
    );
    let matching = |name: &str, value: &str| server.fetch(&Request::get("/digits.txt").field(name, value));
    let not_modified = matching("If-None-Match", &tag);
    assert_eq!((not_modified.status, not_modified.field("ETag")), (304, Some(tag.as_str())));
    assert_eq!(
        not_modified.field("Content-Length").unwrap_or("0"),
        "0",
        "no length, because a client could wait for a body"
    );
    assert_eq!(matching("If-None-Match", "*").status, 304);
    assert_eq!(
        matching("If-None-Match", &format!("\"other\", W/{tag}")).status,
        304,
        "a list, compared weakly"
    );
    assert_eq!(matching("If-None-Match", "\"other\"").status, 200);
    assert_eq!(matching("If-Modified-Since", &date).status, 304);
    assert_eq!(matching("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT").status, 200);
    assert_eq!(matching("If-Modified-Since", "nonsense").status, 200);
    assert_eq!(matching("If-Match", &tag).status, 200);
    assert_eq!(matching("If-Match", "\"other\"").status, 412);
    assert_eq!(matching("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT").status, 412);
    let both =
        Request::get("/digits.txt").field("If-None-Match", "\"other\"").field("If-Modified-Since", &date);
    assert_eq!(
        server.fetch(&both).status,
        200,
        "If-None-Match takes precedence over the date (RFC 9110 section 13.2.2)"
    );
}

#[test]
fn ranges_cut_what_was_asked_for() {
    let server = serve();
    let range = |range: &str| server.fetch(&Request::get("/digits.txt").field("Range", range));
    for (asked, bytes, named) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=4-", "456789", "bytes 4-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
        ("bytes=-99", "0123456789", "bytes 0-9/10"),
    ] {
        let answer = range(asked);
        assert_eq!((answer.status, content(&answer).as_str()), (206, bytes), "{asked}");
        assert_eq!(answer.field("Content-Range"), Some(named), "{asked}");
    }
    let outside = range("bytes=10-");
    assert_eq!((outside.status, outside.field("Content-Range")), (416, Some("bytes */10")));
    for nonsense in ["bytes=a-b", "lines=1-2", "bytes"] {
        let answer = range(nonsense);
        assert!(matches!(answer.status, 200 | 416), "{nonsense}: {}", answer.status);
    }
    assert_eq!(server.get("/digits.txt").field("Accept-Ranges"), Some("bytes"));
}

#[test]
fn several_ranges_come_as_parts() {
    let server = serve();
    let answer = server.fetch(&Request::get("/digits.txt").field("Range", "bytes=0-1,5-6,-1"));
    assert_eq!(answer.status, 206);
    let kind = answer.field("Content-Type").expect("type");
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("parts");
    let part = |range: &str, bytes: &str| {
        format!(
            "--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes {range}/10\r\n\r\n{bytes}\r\n"
        )
    };
    let expected =
        part("0-1", "01") + &part("5-6", "56") + &part("9-9", "9") + &format!("--{boundary}--\r\n");
    assert_eq!(content(&answer).trim_start_matches("\r\n"), expected);
}

#[test]
fn if_range_gives_the_whole_when_the_file_changed() {
    let server = serve();
    let whole = server.get("/digits.txt");
    let ask = |condition: &str| {
        server
            .fetch(&Request::get("/digits.txt").field("Range", "bytes=0-1").field("If-Range", condition))
            .status
    };
    assert_eq!(ask(whole.field("ETag").expect("ETag")), 206);
    assert_eq!(ask(whole.field("Last-Modified").expect("date")), 206);
    assert_eq!(ask("\"other\""), 200);
    assert_eq!(ask("Thu, 01 Jan 1970 00:00:00 GMT"), 200);
}

#[test]
fn a_large_file_arrives_whole_and_in_ranges() {
    let server = serve();
    let large = fs::read(server.path("html/large.txt")).expect("file");
    let mut client = server.connect();
    assert!(client.fetch(&Request::get("/large.txt")).body == large);
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..20 {
        let from = random.usize(..large.len());
        let to = random.usize(from..large.len());
        let answer = client.fetch(&Request::get("/large.txt").field("Range", &format!("bytes={from}-{to}")));
        assert_eq!(answer.status, 206);
        assert!(answer.body == large[from..=to], "bytes {from}-{to}");
    }
}

/// Sends requests until the response has this coding: stronger encodings are created in the background.
fn in_coding(server: &Server, target: &str, accepted: &str, coding: &str) -> Answer {
    let mut answer = server.fetch(&Request::get(target).accepting(accepted));
    wait_for(&format!("{target} in {coding}"), || {
        answer = server.fetch(&Request::get(target).accepting(accepted));
        answer.coding() == coding
    });
    answer
}

#[test]
fn a_file_is_compressed_as_the_visitor_accepts_and_decodes_to_the_same() {
    let server = serve();
    let plain = server.get("/style.css");
    assert_eq!(plain.coding(), "identity");
    assert!(content(&plain) == style());
    let mut tags = BTreeSet::from([plain.field("ETag").expect("ETag").to_owned()]);
    for (accepted, coding) in
        [("gzip", "gzip"), ("gzip, deflate", "gzip"), ("gzip;q=0.5, identity;q=0.1", "gzip")]
    {
        let answer = in_coding(&server, "/style.css", accepted, coding);
        assert!(content(&answer) == style(), "{accepted}");
        assert!(answer.body.len() * 4 < style().len(), "{accepted}: {} bytes", answer.body.len());
        assert_eq!(answer.field("Vary"), Some("Accept-Encoding"));
        tags.extend(answer.field("ETag").map(str::to_owned));
    }
    for accepted in
        ["identity", "gzip;q=0", "*;q=0, identity", "deflate", "gzip;q=0.1, identity;q=0.9", "x-unknown"]
    {
        let answer = server.fetch(&Request::get("/style.css").accepting(accepted));
        assert_eq!(answer.coding(), "identity", "{accepted}");
        assert!(content(&answer) == style(), "{accepted}");
        assert_eq!(answer.field("Vary"), Some("Accept-Encoding"), "every representation has `Vary`");
    }
    for target in ["/short.css", "/picture.png", "/digits.txt"] {
        assert_eq!(server.fetch(&Request::get(target).accepting("gzip")).coding(), "identity", "{target}");
    }
}

#[test]
fn what_is_not_compressed_yet_comes_in_a_coding_that_the_client_takes() {
    let server = serve();
    for (number, (codings, coding)) in
        [("br", "br"), ("zstd", "zstd"), ("br;q=1, gzip;q=0", "br")].into_iter().enumerate()
    {
        // The file has not been requested before.
        let name = format!("/first{number}.css");
        server.write(&format!("html{name}"), style());
        let first = server.fetch(&Request::get(&name).accepting(codings));
        assert!(["identity", coding].contains(&first.coding()), "{codings}: {}", first.coding());
        in_coding(&server, &name, codings, coding);
    }
}

#[test]
fn a_compressed_file_has_validators_and_ranges_of_its_own() {
    let server = serve();
    let plain = server.get("/style.css");
    let packed = in_coding(&server, "/style.css", "gzip", "gzip");
    let tag = packed.field("ETag").expect("ETag");
    let again = server.fetch(&Request::get("/style.css").accepting("gzip").field("If-None-Match", tag));
    assert_eq!(again.status, 304);
    if !tag.starts_with("W/") {
        assert_ne!(Some(tag), plain.field("ETag"), "a strong tag names one representation");
    }
    let part = server.fetch(&Request::get("/style.css").accepting("gzip").field("Range", "bytes=0-9"));
    match (part.status, part.coding()) {
        (206, "gzip") => assert_eq!(part.body, packed.body[..10]),
        (206, "identity") => assert_eq!(part.body, style().as_bytes()[..10]),
        (200, _) => assert!(content(&part) == style()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn brotli_and_zstd_are_offered_where_they_are_on() {
    let place = Place::new();
    place.write("html/style.css", style());
    let http = format!("brotli on; brotli_types text/css; zstd on; zstd_types text/css;\n{FILES}");
    let server = Server::start(place, &http);
    for (accepted, coding) in [
        ("br", "br"),
        ("zstd", "zstd"),
        ("gzip", "gzip"),
        ("gzip;q=0.2, br;q=0.1", "gzip"),
        ("gzip;q=0, br;q=0, zstd", "zstd"),
    ] {
        let answer = in_coding(&server, "/style.css", accepted, coding);
        assert!(content(&answer) == style(), "{accepted}");
        assert!(answer.body.len() * 4 < style().len(), "{accepted}");
    }
}

#[test]
fn gzip_static_sends_precompressed_file() {
    let place = Place::new();
    place.write("html/page.txt", "plain");
    place.write("html/page.txt.gz", "packed elsewhere");
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html; gzip_static on; gzip_vary on; }";
    let server = Server::start(place, http);
    let packed = server.fetch(&Request::get("/page.txt").accepting("gzip"));
    assert_eq!((packed.coding(), packed.body.as_slice()), ("gzip", b"packed elsewhere".as_slice()));
    assert_eq!(server.get("/page.txt").body, b"plain");
}

#[test]
fn a_file_that_changes_is_noticed() {
    let server = serve();
    let before = server.fetch(&Request::get("/style.css").accepting("gzip"));
    in_coding(&server, "/style.css", "gzip", "gzip");
    server.write("html/style.css.new", "/* another one */ ".repeat(100));
    fs::rename(server.path("html/style.css.new"), server.path("html/style.css")).expect("rename");
    wait_for("the new file", || content(&server.get("/style.css")).starts_with("/* another"));
    let after = server.fetch(&Request::get("/style.css").accepting("gzip"));
    assert!(content(&after).starts_with("/* another"), "the compressed copy changes with it");
    assert_ne!(after.field("ETag"), before.field("ETag"));
    fs::remove_file(server.path("html/style.css")).expect("remove");
    wait_for("its absence", || server.get("/style.css").status == 404);
    server.write("html/style.css", "back");
    wait_for("its return", || content(&server.get("/style.css")) == "back");
}

#[test]
fn a_file_that_shrinks_in_place_is_never_padded() {
    let server = serve();
    assert_eq!(content(&server.get("/digits.txt")), "0123456789");
    server.write("html/digits.txt", "012");
    wait_for("the shorter file", || {
        let Ok(answer) = Client::connect(server.port).try_fetch(&Request::get("/digits.txt")) else {
            return false;
        };
        let text = content(&answer);
        assert!(text == "0123456789" || text == "012", "{text:?}");
        text == "012"
    });
}
