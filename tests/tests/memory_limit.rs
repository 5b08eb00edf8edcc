//! Memory of the worker process with `memory_limit`: order of evictions and rejections, and their messages.
//!
//! covers: memory_limit

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use myriad_tests::{Client, Origin, Place, Request, Server, binary, wait_for};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

/// Size of a page, in bytes.
const PAGE: usize = 200_000;
const LIMIT: u64 = 128 << 20;

/// Returns an incompressible page, different for each number.
fn page(number: u64) -> Vec<u8> {
    static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut random = fastrand::Rng::with_seed(7);
        std::iter::repeat_with(|| random.u8(b' '..b'~')).take(PAGE).collect()
    });
    let mut page = NOISE.clone();
    page[..8].copy_from_slice(&number.to_le_bytes());
    page
}

fn number(target: &str) -> u64 {
    target.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn origin() -> Origin {
    Origin::start(|call| {
        let body = page(number(call.uri()));
        call.answer("Content-Type: application/octet-stream", body);
    })
}

/// Starts a server with a zone of 512 MB, and locations that report its memory.
fn start(limit: &str, origin: &Origin) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    Server::start_with(place, &main(limit), HTTP)
}

fn main(limit: &str) -> String {
    format!("worker_processes 1; memory_limit {limit}; events {{ worker_connections 4096; }}")
}

const HTTP: &str = "
    access_log off; keepalive_requests 100000; fastcgi_param REQUEST_URI $request_uri; fastcgi_cache_path @DIR@/zone levels=1 keys_zone=pages:10m memory=512m inactive=1h; fastcgi_cache_key $uri;
    server { listen 127.0.0.1:@PORT@; location / { return 200 here; }
      location /pages/ { fastcgi_pass @ORIGIN@; fastcgi_cache pages; fastcgi_cache_valid 1h; }
      location /raw/ { fastcgi_pass @ORIGIN@; }
      location /api/ { api; } location /metrics { metrics; } }";

fn memory(server: &Server) -> Value {
    serde_json::from_str(&server.get("/api/memory").text()).expect("JSON")
}

fn figure(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of} is a number"))
}

fn part<'a>(memory: &'a Value, name: &str) -> &'a Value {
    let parts = memory["parts"].as_array().expect("parts");
    parts.iter().find(|part| part["part"] == name).unwrap_or_else(|| panic!("{name} in {memory}"))
}

/// Returns the resident memory of the worker process from the kernel, in bytes.
fn resident(server: &Server) -> u64 {
    status_of(server, "VmRSS:")
}

/// Returns the resident memory that the worker process has allocated, in bytes: without the pages of the binary, which
/// is large in builds for tests.
fn allocated(server: &Server) -> u64 {
    status_of(server, "RssAnon:")
}

fn status_of(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.workers()[0])).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn zone_fills_up_to_the_limit_and_what_is_hot_and_what_is_on_disk_is_served() {
    let origin = origin();
    let server = start("128m", &origin);
    let mut client = server.connect();
    let mut highest = 0;
    for number in 0..700_u64 {
        let answer = client.fetch(&Request::get(&format!("/pages/{number}")));
        assert_eq!((answer.status, answer.body.len()), (200, PAGE), "page {number}");
        // A page that is requested repeatedly.
        let hot = client.fetch(&Request::get("/pages/0"));
        assert!(hot.body == page(0), "page {number}");
        highest = highest.max(resident(&server));
    }
    assert!(highest < LIMIT, "{highest}");
    assert_eq!(origin.count(), 700, "each page was fetched once");
    // Pages that were evicted from memory are on disk.
    assert!(client.fetch(&Request::get("/pages/1")).body == page(1));
    assert_eq!(origin.count(), 700);
    let memory = memory(&server);
    assert_eq!((figure(&memory["limit_bytes"]), memory["refused_requests"].as_u64()), (LIMIT, Some(0)));
    let zone = part(&memory, "zone");
    assert_eq!((zone["zone"].as_str(), figure(&zone["configured_bytes"])), (Some("pages"), 512 << 20));
    let (used, cap) = (figure(&zone["bytes"]), figure(&zone["limit_bytes"]));
    assert!((16 << 20..=LIMIT).contains(&used) && cap < LIMIT, "{memory:#}");
    let known = memory["parts"].as_array().expect("parts").iter().filter(|part| part["part"] != "other");
    let known: u64 = known.map(|part| figure(&part["bytes"])).sum();
    let resident = figure(&memory["resident_bytes"]);
    // `other` is the remainder: it does not verify the other figures.
    let allocated = allocated(&server);
    assert!(known <= resident && used > allocated / 2 && used > known / 2, "{allocated}, {memory:#}");
    let metrics = server.get("/metrics").text();
    for line in [
        "memory_limit_bytes 134217728",
        "memory_part_bytes{part=\"zones\"} ",
        "memory_stage{stage=\"refusing\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let told = Command::new(binary())
        .args(["memory", "-p"])
        .arg(server.folder())
        .args(["-c", "myriad.conf"])
        .output();
    let told = String::from_utf8(told.expect("runs").stdout).expect("text");
    assert!(
        told.contains("of 128.0M") && told.contains("zone pages") && told.contains("reduced from"),
        "{told}"
    );
}

#[test]
fn limit_that_a_reload_lowers_shrinks_zones_and_one_that_it_takes_away_lets_them_grow() {
    let origin = origin();
    let server = start("off", &origin);
    let mut client = server.connect();
    for number in 0..600_u64 {
        client.fetch(&Request::get(&format!("/pages/{number}")));
    }
    assert_eq!(memory(&server)["limit_bytes"], Value::Null);
    let full = resident(&server);
    assert!(full > LIMIT, "{full}");
    let reload = |limit: &str| {
        let text = server.fill(&format!(
            "daemon off;\npid @DIR@/myriad.pid;\nerror_log @DIR@/error.log info;\n{}\nhttp {{ {HTTP} }}\n",
            main(limit)
        ));
        server.write("myriad.conf.new", text);
        std::fs::rename(server.path("myriad.conf.new"), server.path("myriad.conf")).expect("renamed");
        server.signal(myriad_tests::Signal::HUP);
    };
    reload("128m");
    server.log_has("\"memory_limit\" is 128 MB: ");
    wait_for("the zone to shrink", || resident(&server) < LIMIT / 100 * 85);
    wait_for("an end of the pressure", || memory(&server)["stage"] == "normal");
    let now = memory(&server);
    assert!(
        figure(&now["evicted_pages"]) > 100
            && figure(&now["begun"]["shrinking"]) == 1
            && figure(&now["begun"]["refusing"]) == 0,
        "{now:#}"
    );
    server.log_has("memory shortage resolved: ");
    assert!(server.get("/pages/599").body == page(599));
    assert_eq!(origin.count(), 600, "pages that left memory are on disk");
    reload("off");
    wait_for("the zone's own bound", || figure(&part(&memory(&server), "zone")["limit_bytes"]) == 512 << 20);
}

/// Returns idle clients after one request each; raises the limit of open files of this process to its maximum.
fn idle(server: &Server, count: usize) -> Vec<Client> {
    let own = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum }).expect("descriptors");
    let client = |_| {
        let mut client = server.connect();
        assert_eq!(client.fetch(&Request::get("/")).text(), "here");
        client
    };
    (0..count).map(client).collect()
}

#[test]
fn without_memory_idle_connections_are_closed_origins_spared_and_stored_pages_served() {
    let origin = origin();
    let server = start("off", &origin);
    let mut busy = server.connect();
    assert!(busy.fetch(&Request::get("/pages/7")).body == page(7));
    // Memory that the zone cannot free: it contains only this page.
    let mut clients = idle(&server, 200);
    let big = "x".repeat(1000);
    let headers = format!("X-Long: {big}\r\n").repeat(28);
    let heads: Vec<Client> = (0..2500)
        .map(|_| {
            let mut client = server.connect();
            client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}"));
            client
        })
        .collect();
    wait_for("heads that wait", || resident(&server) > 70 << 20);
    let text = server.read("myriad.conf").replace("memory_limit off", "memory_limit 64m");
    server.write("myriad.conf.new", text);
    std::fs::rename(server.path("myriad.conf.new"), server.path("myriad.conf")).expect("renamed");
    server.signal(myriad_tests::Signal::HUP);
    wait_for("a refusal", || busy.fetch(&Request::get("/raw/1")).status == 503);
    let asked = origin.count();
    assert!(busy.fetch(&Request::get("/pages/7")).body == page(7), "stored pages are served");
    server.log_has("requests to upstreams get 503");
    wait_for("the oldest to be closed", || clients[0].is_closed());
    // Connections with an incomplete head are closed last, which frees enough memory.
    wait_for("enough memory", || matches!(memory(&server)["stage"].as_str(), Some("normal" | "shrinking")));
    let now = memory(&server);
    assert!(figure(&now["closed_idle"]) >= 200 && figure(&now["closed_stalled"]) > 100, "{now:#}");
    assert!(
        busy.try_fetch(&Request::get("/pages/7")).is_ok_and(|answer| answer.body == page(7))
            || server.get("/pages/7").body == page(7)
    );
    assert!(figure(&now["refused_requests"]) > 0, "{now:#}");
    assert_eq!(origin.count(), asked, "the page was stored");
    drop(heads);
}

#[test]
fn invalid_memory_limit_is_rejected_with_minimum() {
    for wrong in ["1k", "63m", "0%", "101%", "x%", "much", "-1"] {
        let place = Place::new();
        place.write("myriad.conf", format!("memory_limit {wrong}; events {{ }}"));
        let (sound, said) = tested(place.folder());
        assert!(!sound, "{wrong}: {said}");
        assert!(said.contains(&format!("invalid value \"{wrong}\" in \"memory_limit\" directive")), "{said}");
        assert!(said.contains("a size of 64m or more"), "{said}");
    }
    for right in ["64m", "25%", "100%", "off", "1g"] {
        let place = Place::new();
        place.write(
            "myriad.conf",
            format!("memory_limit {right}; pid {}; events {{ }}", place.path("pid").display()),
        );
        let (sound, said) = tested(place.folder());
        assert!(sound, "{right}: {said}");
    }
}

fn tested(folder: &Path) -> (bool, String) {
    let output = Command::new(binary())
        .arg("-t")
        .arg("-p")
        .arg(folder)
        .args(["-c", "myriad.conf", "-e", "e.log"])
        .output();
    let output = output.expect("runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}
