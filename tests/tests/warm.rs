//! `myriad warm` with a real WordPress: sitemap, access log, pages that are stale after a purge, encodings, errors.

use std::io::Write;
use std::process::{Command, Output};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use myriad_tests::{Answer, Place, Request, Server, WordPress, binary, wait_for, wait_for_progress};

fn ask(server: &Server, target: &str) -> Answer {
    server.fetch(&Request::get(target).host(&format!("127.0.0.1:{}", server.port)))
}

fn myriad(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).arg("-p").arg(server.folder());
    command.output().expect("myriad starts")
}

fn warm(server: &Server, arguments: &[&str]) -> Output {
    myriad(server, &[&["warm", "--budget", "2,100%", "--json", "--quiet"], arguments].concat())
}

/// Returns a figure of the totals.
fn figure(output: &Output, name: &str) -> u64 {
    let text = told(output);
    let value = text.split(&format!("\"{name}\":")).nth(1).and_then(|rest| rest.split([',', '}']).next());
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn url(server: &Server, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", server.port)
}

/// Returns paths of posts, from the sitemap.
fn posts(server: &Server) -> Vec<String> {
    let map = ask(server, "/wp-sitemap-posts-post-1.xml").text();
    let origin = url(server, "");
    map.split("<loc>")
        .skip(1)
        .filter_map(|rest| Some(rest.split('<').next()?.strip_prefix(&origin)?.to_owned()))
        .collect()
}

#[test]
fn sitemap_is_warmed_in_each_encoding_and_fresh_pages_are_left_out() {
    let site = WordPress::shared();
    let server = site.serve();
    let warmed = warm(&server, &[&url(&server, "/"), "--limit", "25", "--encodings", "br,gzip"]);
    assert!(warmed.status.success(), "{}", told(&warmed));
    assert_eq!((figure(&warmed, "asked"), figure(&warmed, "made")), (25, 25), "{}", told(&warmed));
    let posts = posts(&server);
    assert!(posts.len() >= 60, "{posts:?}");
    assert_eq!(ask(&server, &posts[3]).cache(), "HIT");
    // Fifty jobs of the lowest priority, which receive a fifth of a processor, and less while other programs run.
    let encodings_of = |page: &str| {
        let list = told(&myriad(&server, &["cache", "ls", "--match", page]));
        list.matches("gz,br").count() + list.matches("br,gz").count()
    };
    wait_for_progress(
        "both encodings",
        Duration::from_mins(3),
        || (encodings_of(&url(&server, "/")), encodings_of(&url(&server, &posts[3]))),
        |(_, of_post)| *of_post >= 1,
    );
    // Fresh pages are not requested again: PHP receives only the sitemap requests.
    let before = site.php_requests();
    let again = warm(&server, &[&url(&server, "/"), "--limit", "25"]);
    assert!(again.status.success(), "{}", told(&again));
    assert!(figure(&again, "fresh") >= 25, "{}", told(&again));
    assert_eq!(
        figure(&again, "asked"),
        figure(&again, "made"),
        "only pages that the first run did not reach: {}",
        told(&again)
    );
    assert_eq!(ask(&server, &posts[3]).cache(), "HIT");
    assert!(site.php_requests() >= before);
}

#[test]
fn page_that_php_streams_receives_each_encoding() {
    let site = WordPress::shared();
    let server = site.serve();
    // The first response starts before the page is complete, so that it has no stored encodings.
    let script = "<?php header('Content-Type: text/html'); echo str_repeat('<p>line</p>', 500); \
                  ob_end_flush(); flush(); usleep(300000); echo '<p>last</p>';";
    site.write("streamed.php", script);
    server.write(
        "access.log",
        "127.0.0.1 - - [24/Nov/2026:13:00:00 +0000] \"GET /streamed.php HTTP/1.1\" 200 612 \"-\" \"x\"\n",
    );
    let path = server.path("access.log").display().to_string();
    let warmed = warm(&server, &[&url(&server, "/"), "--log", &path, "--encodings", "br"]);
    assert!(warmed.status.success(), "{}", told(&warmed));
    assert_eq!((figure(&warmed, "made"), figure(&warmed, "failed")), (1, 0), "{}", told(&warmed));
    let page = url(&server, "/streamed.php");
    wait_for("brotli", || told(&myriad(&server, &["cache", "ls", "--match", &page])).contains("br"));
}

#[test]
fn log_is_warmed_hottest_first() {
    let site = WordPress::shared();
    let server = site.serve();
    let posts = posts(&server);
    let line = |path: &str, status: u16| {
        format!(
            "127.0.0.1 - - [24/Nov/2026:13:00:00 +0000] \"GET {path} HTTP/1.1\" {status} 612 \"-\" \"x\"\n"
        )
    };
    let mut log = line(&posts[0], 404).repeat(9);
    log += &line(&posts[1], 200).repeat(2);
    log += &line(&posts[2], 200).repeat(5);
    log += &line(&posts[3], 200);
    server.write("access.log", &log);
    let path = server.path("access.log").display().to_string();
    let warmed = warm(&server, &[&url(&server, "/"), "--log", &path, "--limit", "2"]);
    assert!(warmed.status.success(), "{}", told(&warmed));
    assert_eq!(figure(&warmed, "made"), 2);
    let states: Vec<_> = (0..4).map(|index| ask(&server, &posts[index]).cache().to_owned()).collect();
    assert_eq!(states, ["MISS", "HIT", "HIT", "MISS"]);
}

#[test]
fn stale_pages_are_refreshed_by_popularity_while_visitors_get_them() {
    let site = WordPress::shared();
    let server = site.serve();
    let posts = posts(&server);
    for (index, post) in posts.iter().enumerate().take(3) {
        // The last page is the most popular.
        for _ in 0..=index {
            ask(&server, post);
        }
    }
    let purged = myriad(&server, &["purge", "--all", "--soft", "--wait"]);
    assert!(purged.status.success(), "{}", told(&purged));
    let warmed = warm(&server, &["--by-heat", "--limit", "2", "--at", &format!("127.0.0.1:{}", server.port)]);
    assert!(warmed.status.success(), "{}", told(&warmed));
    assert_eq!((figure(&warmed, "renewed"), figure(&warmed, "made")), (2, 0), "{}", told(&warmed));
    assert_eq!((ask(&server, &posts[2]).cache(), ask(&server, &posts[1]).cache()), ("HIT", "HIT"));
    let cold = ask(&server, &posts[0]);
    assert!(
        matches!(cold.cache(), "STALE" | "UPDATING"),
        "a visitor gets the stale page at once: {}",
        cold.cache()
    );
}

#[test]
fn packed_sitemap_is_read_and_pages_of_other_sites_are_left_out() {
    let site = WordPress::shared();
    let server = site.serve();
    let posts = posts(&server);
    let map = format!(
        "<urlset><url><loc>{}</loc></url><url><loc>http://elsewhere.test/</loc></url></urlset>",
        url(&server, &posts[7])
    );
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(map.as_bytes()).expect("packed");
    site.write("wp-content/uploads/map.xml.gz", packed.finish().expect("packed"));
    let map = url(&server, "/wp-content/uploads/map.xml.gz");
    let warmed = warm(&server, &[&url(&server, "/"), "--sitemap", &map]);
    assert!(warmed.status.success(), "{}", told(&warmed));
    assert_eq!((figure(&warmed, "asked"), figure(&warmed, "failed")), (1, 0), "{}", told(&warmed));
    assert_eq!(ask(&server, &posts[7]).cache(), "HIT");
}

#[test]
fn requests_of_warming_come_last_at_php() {
    let site = WordPress::shared();
    let place = Place::new();
    let php = site.php().display().to_string();
    let server = site.serve_changed(place, &php, |preset| {
        preset.replacen("add_header X-Cache", "add_header X-Class $php_class always;\n add_header X-Cache", 1)
    });
    let class = |agent: &str| {
        let answer = server.fetch(&Request::get("/?p=1").host("localhost").field("User-Agent", agent));
        answer.field("X-Class").unwrap_or_default().to_owned()
    };
    assert_eq!(class("Myriad-Warm/0.1.0"), "last");
    assert_eq!(class("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), "normal");
}

#[test]
fn unwarmable_target_is_reported_with_remedy() {
    let site = WordPress::shared();
    let server = site.serve();
    let closed = Place::new();
    let nobody = format!("http://127.0.0.1:{}/", closed.port);
    let log = server.path("error.log").display().to_string();
    server.write("error.log", "no access log\n");
    for (arguments, status, part) in [
        (vec![nobody.as_str()], 1, "check that Myriad is running, or give its address with --at"),
        (vec!["http://127.0.0.1/", "--log", "/nowhere.log"], 1, "/nowhere.log"),
        (vec!["http://127.0.0.1/", "--log", &log], 1, "check that the format is `combined`"),
        (vec!["--by-heat", "--socket", "/nowhere.sock"], 1, "no Myriad server is running"),
        (vec!["--by-heat"], 2, "\"asked\":0"),
    ] {
        let output = warm(&server, &arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(part), "{arguments:?}: {}", told(&output));
    }
}
