//! covers: optimize optimize_filters optimize_exclude
//! WebP copies of images, under the URL of the image.

use std::fs;
use std::process::Command;

use jpeg_encoder::{ColorType, Encoder};
use myriad_tests::{Answer, Cached, Origin, Place, Request, Server, Signal, binary, wait_for};

/// `Accept` of Chromium for images.
const ACCEPT: &str = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
const SIZE: u16 = 160;

/// Returns a photograph with soft colors as JPEG. `shade` changes one of them.
fn photograph(shade: u8) -> Vec<u8> {
    let wave = |value: f64| (128.0 + 100.0 * value.sin()) as u8;
    let mut pixels = Vec::new();
    for y in 0..SIZE {
        for x in 0..SIZE {
            let (x, y) = (f64::from(x), f64::from(y));
            pixels.extend([wave(x / 9.0 + y / 31.0), wave(y / 13.0), shade]);
        }
    }
    let mut file = Vec::new();
    Encoder::new(&mut file, 92).encode(&pixels, SIZE, SIZE, ColorType::Rgb).expect("encoded");
    file
}

/// Starts a server with an image in a file. `rules` are directives of its location.
fn start(rules: &str) -> (Server, Origin) {
    start_with("", rules)
}

/// Starts a server as [`start`] does. `zone` are parameters of the cache zone.
fn start_with(zone: &str, rules: &str) -> (Server, Origin) {
    let origin = Origin::start(|call| call.answer("Content-Type: text/html", "a page"));
    let place = Place::new();
    place.write("html/images/i.jpg", photograph(100));
    let server = format!(
        "fastcgi_cache_valid 200 1h; add_header Form $optimized; optimize safe; optimize_budget 100%;
         location = /metrics {{ metrics; }}
         location /images/ {{ expires 1h; add_header Form $optimized; {rules} }}"
    );
    let http = "types { image/jpeg jpg; image/png png; image/webp webp; text/css css; }";
    let cached = Cached { http, zone, server: &server, ..Cached::default() };
    (cached.start_before(place, &origin.address), origin)
}

fn browser(server: &Server) -> Answer {
    server.fetch(&Request::get("/images/i.jpg").field("Accept", ACCEPT))
}

/// Requests the image until its copy is sent.
fn copied(server: &Server) -> Answer {
    let mut answer = None;
    wait_for("the copy of the image", || {
        let came = browser(server);
        let is_copy = came.field("Content-Type") == Some("image/webp");
        answer = Some(came);
        is_copy
    });
    answer.expect("an answer")
}

/// Returns a counter of the server's metrics.
fn counter(server: &Server, name: &str) -> u64 {
    let text = server.get("/metrics").text();
    let line = text.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
    let value =
        line.and_then(|line| line.rsplit(' ').next()).unwrap_or_else(|| panic!("no {name} in {text}"));
    value.parse().expect("a number")
}

#[test]
fn browser_that_accepts_webp_gets_a_smaller_copy_under_the_same_url() {
    let (server, origin) = start("");
    let original = photograph(100);
    let first = browser(&server);
    assert_eq!((first.status, &first.body, first.field("Vary")), (200, &original, Some("Accept")));
    let copy = copied(&server);
    assert!(
        copy.body.starts_with(b"RIFF") && copy.body.len() * 10 <= original.len() * 9,
        "{}",
        copy.body.len()
    );
    assert_eq!((copy.field("Vary"), copy.field("Form")), (Some("Accept"), Some("safe")));
    assert_eq!(copy.field("Cache-Control"), first.field("Cache-Control"));
    let tag = copy.field("ETag").expect("a tag");
    assert_ne!(first.field("ETag"), Some(tag));
    let request = |method: fn(&str) -> Request| method("/images/i.jpg").field("Accept", ACCEPT);
    assert_eq!(server.fetch(&request(Request::get).field("If-None-Match", tag)).status, 304);
    let head = server.fetch(&request(Request::head));
    assert_eq!(head.field("Content-Length"), Some(&*copy.body.len().to_string()));
    // All others get the file: without the type, with a rejection of it, with a wildcard only, and for parts.
    for accept in ["", "image/jpeg", "image/webp;q=0", "image/*,*/*"] {
        let other = server.fetch(&Request::get("/images/i.jpg").field("Accept", accept));
        assert_eq!(
            (&other.body, other.field("Vary"), other.field("Form")),
            (&original, Some("Accept"), None)
        );
    }
    let part = server.fetch(&request(Request::get).field("Range", "bytes=0-9"));
    assert_eq!((part.status, &part.body[..]), (206, &original[..10]));
    assert_eq!(counter(&server, "myriad_cache_optimized_images_total"), 1);
    let saved = counter(&server, "myriad_cache_optimizer_saved_image_bytes_total");
    assert_eq!(saved as usize, original.len() - copy.body.len());
    assert_eq!(origin.calls(), [""; 0], "the origin gets no request");
}

#[test]
fn changed_file_never_gets_the_copy_of_its_predecessor() {
    let (server, _origin) = start("");
    let before = copied(&server);
    let changed = photograph(20);
    fs::write(server.path("html/images/i.jpg"), &changed).expect("written");
    // Information about files is cached for one second.
    wait_for("the changed file", || browser(&server).body == changed);
    let after = copied(&server);
    assert_ne!(after.body, before.body);
    fs::write(server.path("html/images/i.jpg"), "no image").expect("written");
    wait_for("the other file", || browser(&server).text() == "no image");
}

#[test]
fn copy_is_available_after_a_restart() {
    let (mut server, _origin) = start("");
    let before = copied(&server);
    let has_copy = |path: std::path::PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(7).any(|part| part == b"\0image="))
    };
    wait_for("the file of the copy", || {
        fs::read_dir(server.path("cache")).expect("a folder").flatten().any(|entry| has_copy(entry.path()))
    });
    server.restart(Signal::QUIT);
    let after = copied(&server);
    assert_eq!((&after.body, after.field("Vary")), (&before.body, Some("Accept")));
    assert_eq!(counter(&server, "myriad_cache_optimized_images_total"), 0);
}

#[test]
fn image_without_a_similar_smaller_copy_is_examined_once() {
    let (server, _origin) = start("");
    // Noise with the best quality of WebP is longer.
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> =
        std::iter::repeat_with(|| random.u8(..)).take(usize::from(SIZE) * usize::from(SIZE) * 3).collect();
    let mut file = Vec::new();
    Encoder::new(&mut file, 20).encode(&noise, SIZE, SIZE, ColorType::Rgb).expect("encoded");
    fs::write(server.path("html/images/i.jpg"), &file).expect("written");
    wait_for("the examination", || {
        assert_eq!(browser(&server).body, file);
        counter(&server, "myriad_cache_optimizer_unchanged_images_total") > 0
    });
    (0..5).for_each(|_| assert_eq!(browser(&server).body, file));
    assert_eq!(counter(&server, "myriad_cache_optimizer_unchanged_images_total"), 1);
}

#[test]
fn long_file_gets_a_copy() {
    let (server, _origin) = start("");
    // Comments of 60,000 bytes each, so that the file is not held in memory.
    let comment = [&b"\xff\xfe\xea\x62"[..], &vec![b'c'; 60_000]].concat();
    let long = [&b"\xff\xd8"[..], &comment.repeat(100), &photograph(100)[2..]].concat();
    fs::write(server.path("html/images/i.jpg"), &long).expect("written");
    assert_eq!(browser(&server).body, long);
    assert!(copied(&server).body.len() < 10_000);
}

#[test]
fn copy_that_does_not_fit_into_the_zone_is_not_made_for_each_request() {
    let (server, _origin) = start_with("memory=1k", "");
    let original = photograph(100);
    let attempts = || counter(&server, "myriad_cache_optimizer_milliseconds_total");
    wait_for("the reason", || {
        assert_eq!(browser(&server).body, original);
        shown(&server).1.contains(": the cache zone has no memory for the copy, next attempt in ")
    });
    let before = attempts();
    (0..5).for_each(|_| assert_eq!(browser(&server).body, original));
    // Images are examined one after another, so that another image is examined only after a copy of this one was made.
    fs::write(server.path("html/images/j.jpg"), "no image".repeat(1000)).expect("written");
    wait_for("another examination", || {
        server.fetch(&Request::get("/images/j.jpg").field("Accept", ACCEPT));
        counter(&server, "myriad_cache_optimizer_unchanged_images_total") > 0
    });
    // The examination of a file that is no image takes a fraction of the time for a copy.
    let after = attempts();
    assert!(2 * (after - before) <= before, "{before} {after}");
}

/// Returns the output of `myriad optimize show` for the image.
fn shown(server: &Server) -> (Option<i32>, String) {
    let mut show = Command::new(binary());
    show.args(["optimize", "show", "http://localhost/images/i.jpg", "-c", "myriad.conf", "-p"]);
    let output = show.arg(server.folder()).output().expect("myriad runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn command_shows_the_copy_of_an_image_or_why_there_is_none() {
    let (server, _origin) = start("");
    assert_eq!(shown(&server), (Some(2), String::new()));
    let copy = copied(&server);
    let (_, text) = shown(&server);
    let line = text.lines().nth(1).unwrap_or_default().replace(',', "");
    let expected = format!("  {} bytes as WebP instead of {} bytes", copy.body.len(), photograph(100).len());
    assert_eq!(line, expected, "{text}");
    fs::write(server.path("html/images/i.jpg"), "no image".repeat(1000)).expect("written");
    wait_for("the reason", || {
        browser(&server);
        shown(&server)
            == (
                Some(0),
                "http://localhost/images/i.jpg
  no copy of 8,000 bytes: it is no image\n"
                    .to_owned(),
            )
    });
}

#[test]
fn settings_and_access_rules_prevent_copies() {
    for rules in [
        "optimize off;",
        "optimize_filters -convert_jpeg_to_webp;",
        "optimize_exclude /images/*;",
        "satisfy any; allow 127.0.0.1; deny all;",
        "image_filter test;",
    ] {
        let (server, _origin) = start(rules);
        (0..3).for_each(|_| {
            let answer = browser(&server);
            assert_eq!((answer.status, answer.field("Content-Type")), (200, Some("image/jpeg")), "{rules}");
            assert_eq!(answer.field("Vary"), None, "{rules}");
        });
        assert_eq!(counter(&server, "myriad_cache_optimized_images_total"), 0, "{rules}");
    }
}
