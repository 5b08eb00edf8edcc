//! `cache_keep_assets`: style sheets and scripts are available while stored pages reference them.

use std::fs;
use std::process::Command;

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server, Signal, binary, wait_for};

const STYLE: &str = "body { color: red }";

/// Application with one page that references files.
fn application(call: &mut Call) {
    match call.uri() {
        "/page" => call.answer(
            "Content-Type: text/html",
            "<head><link rel=stylesheet href='http://localhost/css/style.css?ver=1'><script defer src=/app.js></script>\
             <script src=/closed/own.js></script><script src=http://other.test/foreign.js></script>\
             <link rel=stylesheet href=/made.css><link rel=stylesheet href=/linked.txt></head>",
        ),
        "/made.css" => call.answer("Content-Type: text/css", "made"),
        _ => call.answer("Status: 404\r\nContent-Type: text/html", "nothing"),
    }
}

fn start(rules: &str) -> (Server, Origin) {
    let server = format!(
        "fastcgi_cache_valid 200 1h; {rules} gzip on;
         location /css/ {{ try_files $uri @application; }} location ~ \\.(js|txt|css)$ {{ try_files $uri @application; }}
         location /closed/ {{ deny all; }} location ^~ /closed/own {{ allow 127.0.0.1; deny all; try_files $uri @application; }}
         location @application {{ fastcgi_pass @ORIGIN@; }}"
    );
    let origin = Origin::start(application);
    let place = myriad_tests::Place::new();
    for (name, text) in [
        ("html/css/style.css", STYLE),
        ("html/app.js", "run()"),
        ("html/closed/own.js", "secret"),
        ("html/foreign.js", "foreign"),
        ("html/linked.txt", "text"),
        ("html/unnamed.css", "unnamed"),
    ] {
        place.write(name, text);
    }
    let http = "types { text/css css; text/javascript js; }";
    let server = Cached { http, server: &server, ..Cached::default() }.start_before(place, &origin.address);
    (server, origin)
}

fn remove(server: &Server, names: &[&str]) {
    for name in names {
        fs::remove_file(server.path("html").join(name)).expect("removed");
    }
}

/// Waits until a removed file is served from the cache.
fn is_served(server: &Server, target: &str) -> Answer {
    let mut answer = None;
    wait_for(&format!("{target} from the cache"), || {
        let came = server.get(target);
        let is_there = came.status == 200;
        answer = Some(came);
        is_there
    });
    answer.expect("an answer")
}

#[test]
fn file_that_a_stored_page_names_is_served_when_it_is_gone() {
    let (server, origin) = start("cache_keep_assets 1d;");
    server.get("/page");
    wait_for("both files", || kept(&server) == 2);
    assert_eq!(origin.calls(), ["GET /page"], "files are stored without a request to the origin");
    let mut shows = Command::new(binary());
    shows
        .args(["cache", "show", "http://localhost/css/style.css", "-c", "myriad.conf", "-p"])
        .arg(server.folder());
    let shown = String::from_utf8_lossy(&shows.output().expect("myriad runs").stdout).into_owned();
    assert!(shown.contains("asset=/css/style.css") && shown.contains("text/css"), "{shown}");
    remove(&server, &["css/style.css", "app.js"]);
    let style = is_served(&server, "/css/style.css?ver=1");
    assert_eq!(
        (style.text().as_str(), style.field("Content-Type"), style.cache()),
        (STYLE, Some("text/css"), "STALE")
    );
    assert_eq!(is_served(&server, "/app.js").text(), "run()");
    let tag = style.field("ETag").expect("a tag").to_owned();
    let again = Request::get("/css/style.css").field("If-None-Match", &tag);
    assert_eq!(server.fetch(&again).status, 304);
    assert_eq!(server.fetch(&Request::head("/css/style.css")).status, 200);
    assert_eq!(server.fetch(&Request::post("/css/style.css", "x")).status, 404);
}

/// Returns the number of stored assets.
fn kept(server: &Server) -> usize {
    let count = |folder: std::path::PathBuf| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let bytes = files.filter(|path| path.is_file()).filter_map(|path| fs::read(path).ok());
        bytes.filter(|bytes| bytes.windows(7).any(|part| part == b"\0asset=")).count()
    };
    count(server.path("cache"))
}

#[test]
fn only_public_files_referenced_by_page_are_retained() {
    let (server, _origin) = start("cache_keep_assets 1d;");
    server.get("/page");
    wait_for("both files", || kept(&server) == 2);
    remove(&server, &["closed/own.js", "foreign.js", "linked.txt", "unnamed.css"]);
    wait_for("the file to be gone", || server.get("/unnamed.css").status == 404);
    for target in ["/closed/own.js", "/foreign.js", "/linked.txt", "/unnamed.css"] {
        wait_for("the file to be gone", || server.get(target).status == 404);
    }
    assert_eq!(server.get("/made.css").text(), "made", "the application still generates this file");
}

#[test]
fn no_asset_is_retained_without_directive() {
    let (server, _origin) = start("");
    server.get("/page");
    remove(&server, &["css/style.css"]);
    wait_for("the file to be gone", || server.get("/css/style.css").status == 404);
    assert_eq!(kept(&server), 0);
}

#[test]
fn retained_asset_survives_restart_and_is_removed_by_purge() {
    let (mut server, _origin) = start("cache_keep_assets 1d; fastcgi_cache_purge on;");
    server.get("/page");
    wait_for("both files", || kept(&server) == 2);
    remove(&server, &["css/style.css"]);
    server.restart(Signal::QUIT);
    assert_eq!(server.get("/css/style.css").text(), STYLE);
    assert_eq!(server.fetch(&Request::new("PURGE", "/css/style.css")).status, 200);
    assert_eq!(server.get("/css/style.css").status, 404);
}
