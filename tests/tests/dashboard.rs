//! covers: dashboard
//!
//! Dashboard of a real WordPress under load, in a browser: the figures match the requests, purging requires the secret,
//! the console is empty, and the page is accessible. `MYRIAD_CHROMIUM` specifies another browser of that family.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use myriad_tests::{Place, Request, Server, WordPress, workspace};
use serde_json::Value;

/// Hits of one page, and of another: together fewer than the hits per second that rankings count exactly.
const HITS: usize = 40;
const FEWER: usize = 15;
/// Page that repeats the value of a cookie that it sets. The preset stores pages that set this cookie.
const VISIT: &str = "<?php setcookie('pvc_visits', 'visit-7f3a9c'); echo '<p>Visit: visit-7f3a9c</p>';";
/// Text that would create an element if it were parsed as markup.
const MARKUP: &str = "/?q=<img/src=x/onerror=document.title=1>";

#[test]
fn built_page_is_what_its_source_makes() {
    let output = Command::new(workspace().join("scripts/check-dashboard")).output().expect("the script runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn every_panel_shows_what_was_asked_of_wordpress() {
    built_page_is_what_its_source_makes();
    let site = WordPress::shared();
    site.write("visit.php", VISIT);
    let server = member_of_a_cluster(&site);
    let port: u16 = server.read("dashboard/port").trim().parse().expect("the dashboard's port");
    let host = format!("127.0.0.1:{}", server.port);
    ask(&server, &host);
    let page = format!("http://{host}/");
    let secret = server.read("dashboard/secret").trim().to_owned();
    let seen = look(port, &secret, &page, None);
    let text = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();

    assert_eq!(seen["complaints"], Value::Array(Vec::new()), "console messages");
    assert_eq!(seen["elsewhere"], Value::Array(Vec::new()), "requests to other hosts");
    assert_eq!(seen["axe"], Value::Array(Vec::new()), "accessibility");
    assert_eq!(
        (seen["wide"].as_i64(), seen["narrow"].as_i64()),
        (Some(0), Some(0)),
        "nothing is wider than the window"
    );

    // The counts equal the number of requests above.
    let top = rows(&seen, "top-pages");
    assert!(top[0][0].starts_with("/\n") && top[0][1] == (HITS + 1).to_string(), "{top:?}");
    assert!(top[1][0].starts_with("/?page_id=2\n") && top[1][1] == (FEWER + 1).to_string(), "{top:?}");
    let misses = rows(&seen, "top-misses");
    let personal =
        misses.iter().find(|row| row[0].starts_with("/?p=2\n")).expect("the page that bypassed the cache");
    assert!(personal[1] == "5" && personal[2].starts_with("BYPASS"), "{personal:?}");
    let slow = rows(&seen, "top-slow");
    // The first page of a new site may take longer.
    let of_it = slow.iter().find(|row| row[0].starts_with("/slow.php?ms=700")).expect("a slow page");
    assert!(of_it[1].contains('m'), "{slow:?}");
    let zone = zone(port, &secret);
    let (served, asked) = (
        count(&zone, &["hit", "stale", "updating"]),
        count(&zone, &["hit", "stale", "updating", "miss", "expired", "revalidated"]),
    );
    let ratio = format!(
        "{} hits of {asked} requests, {} bypassed",
        percent(served, asked),
        count(&zone, &["bypass"])
    );
    assert!(text("zones").contains(&ratio), "{ratio}: {}", text("zones"));
    assert!(text("zones").contains("Memory") && text("zones").contains("Disk"), "{}", text("zones"));
    assert!(rows(&seen, "origins")[0][0].contains("php.sock"), "{}", seen["origins"]);
    assert!(!rows(&seen, "workers").is_empty() && !rows(&seen, "servers").is_empty());
    for chart in seen["charts"].as_array().expect("charts") {
        assert_eq!(chart["drawn"], true, "{chart}");
        assert!(!chart["sentence"].as_str().unwrap_or_default().is_empty(), "{chart}");
    }

    let leak = "127.0.0.1/visit.php: value of the new cookie \"pvc_visits\" in the body";
    assert!(text("leaks").contains(leak), "{}", text("leaks"));

    for part in [
        "disconnected",
        "purges wait for the connection to Valkey",
        "Limits",
        "TLS session keys",
        "Certificates",
    ] {
        assert!(text("cluster").contains(part), "{part}: {}", text("cluster"));
    }

    // Client input is shown as text.
    let titles = seen["titles"].to_string();
    assert!(titles.contains("<img/src=x") || titles.contains("%3Cimg"), "{titles}");
    assert_eq!((seen["images"].as_i64(), seen["scripts"].as_i64()), (Some(0), Some(1)));

    // With the keyboard, and as a table.
    assert!(text("readout").contains("hit "), "{}", text("readout"));
    assert!(seen["table"].as_i64() > Some(0), "{}", seen["table"]);

    assert!(text("inspected").contains("Stored: 1 variant"), "{}", text("inspected"));
    assert!(text("inspected").contains("location"), "{}", text("inspected"));

    // Without the secret no figures are shown; the link that contains the secret removes it from the URL.
    assert!(text("locked").contains("need a secret"), "{}", text("locked"));
    assert!(text("locked_wrong").contains("That secret is wrong"), "{}", text("locked_wrong"));
    assert_eq!(seen["refusals"].as_i64(), Some(2));
    assert_eq!(text("address"), format!("http://127.0.0.1:{port}/"));

    assert_eq!(seen["purge_secret"].as_bool(), Some(false), "the page does not ask for the secret again");
    assert!(text("purged").starts_with("Done: ") && !text("purged").contains(" 0 "), "{}", text("purged"));
    assert!(
        text("purge_log").contains("127.0.0.1/") && text("purge_log").contains("by a"),
        "{}",
        text("purge_log")
    );
    assert_eq!(server.get("/").cache(), "MISS", "it is purged");
}

/// Starts a server that belongs to a cluster without a Valkey server.
fn member_of_a_cluster(site: &WordPress) -> Server {
    let place = Place::new();
    let secret = place.path("cluster.secret");
    std::fs::write(&secret, "0123456789abcdef".repeat(4)).expect("written");
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("a mode");
    // The workers run as this user if the tests run as root.
    let _ = chown(&secret, Some(65534), None);
    site.serve_in(place, &["--cluster", "redis://127.0.0.1:1"])
}

/// Sends requests: hits, misses, bypasses, slow pages, a page that is not shared, and a URL that contains markup.
fn ask(server: &Server, host: &str) {
    let fetch = |target: &str, cookie: &str| {
        let request = Request::get(target).host(host);
        let request = if cookie.is_empty() { request } else { request.field("Cookie", cookie) };
        server.fetch(&request)
    };
    let cached = |target: &str, hits: usize| {
        assert_eq!(fetch(target, "").cache(), "MISS", "{target}");
        (0..hits).for_each(|_| assert_eq!(fetch(target, "").cache(), "HIT", "{target}"));
    };
    cached("/", HITS);
    cached("/?page_id=2", FEWER);
    for _ in 0..5 {
        fetch("/?p=2", "wordpress_logged_in_x=admin");
    }
    assert_eq!(fetch("/slow.php?ms=700", "").status, 200);
    assert_eq!(fetch("/visit.php", "").cache(), "MISS");
    for _ in 0..3 {
        fetch(MARKUP, "PHPSESSID=1");
    }
}

/// Returns the observations of the browser.
fn look(port: u16, secret: &str, url: &str, folder: Option<&str>) -> Value {
    let mut command = Command::new("node");
    command.arg(workspace().join("dashboard/tests/look.mjs"));
    command.args([&format!("http://127.0.0.1:{port}/"), secret, url]).args(folder);
    let output = command.output().expect("node runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn rows(seen: &Value, id: &str) -> Vec<Vec<String>> {
    let rows = seen[id].as_array().cloned().unwrap_or_default();
    let cells = |row: &Value| row.as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| cells(row).iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect())
        .collect()
}

/// Returns the requests of the zone from the API.
fn zone(port: u16, secret: &str) -> Value {
    let request =
        Request::get("/cache").host("localhost").field("Authorization", &format!("Bearer {secret}"));
    let answer = myriad_tests::Client::connect(port).fetch(&request);
    let told: Value = serde_json::from_slice(&answer.content()).expect("JSON");
    told["zones"][0]["requests"].clone()
}

fn count(zone: &Value, names: &[&str]) -> u64 {
    names.iter().map(|name| zone[*name].as_u64().unwrap_or_default()).sum()
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all as f64)
}
