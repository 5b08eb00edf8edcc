//! Observation of a running server: live events, top pages with miss reasons, purges, tags, history, inspector.

use std::sync::Arc;
use std::time::Duration;

use myriad_admin::protocol::monitoring::{
    HistoryReport, InspectReport, LeakReport, LiveTick, PurgeEvent, TagsReport, TopPage, TopsReport,
};
use myriad_tests::{
    Answer, Client, Gate, HttpOrigin, Place, Request, Server, Signal, wait_for, wait_patiently_for,
};

const HTTP: &str = "
    proxy_cache_path @DIR@/cache keys_zone=pages:4m;
    gzip on; gzip_types text/plain; gzip_min_length 100; access_log off;
    server {
        listen 127.0.0.1:@PORT@; server_name localhost; status_zone seen;
        add_header X-Cache $upstream_cache_status always;
        location / {
            proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h;
            proxy_cache_bypass $arg_fresh;
        }
        location /pass/ { proxy_pass http://@ORIGIN@; }
        location /api { api; }
        location /change { api write=on secret_sha256=db2dd5637d8a91cb560f62fbb4981678eb925f0ecc1e63f4c43890b35eb1b996; }
    }";

fn start() -> (Server, HttpOrigin) {
    let origin = HttpOrigin::start(|call| {
        let (status, more) = match call.target.as_str() {
            "/cookie" => ("200 OK", "\nSet-Cookie: a=b"),
            "/private" => ("200 OK", "\nCache-Control: private"),
            "/tagged" => ("200 OK", "\nCache-Tag: one two"),
            "/broken" => ("503 No", ""),
            _ => ("200 OK", ""),
        };
        if call.target == "/greeting" {
            let text = format!("Cookies: {}", call.field("Cookie").unwrap_or_default());
            return call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", text);
        }
        let head = format!("HTTP/1.1 {status}\nContent-Type: text/plain{more}");
        call.answer(&head, "a page that is long enough to be compressed ".repeat(20));
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    (Server::start(place, HTTP), origin)
}

fn ask(server: &Server, path: &str) -> String {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(answer.field("Cache-Control"), Some("no-store"));
    answer.text()
}

fn tops(server: &Server, by: &str) -> Vec<TopPage> {
    let told = ask(server, &format!("/api/tops?by={by}&limit=200"));
    let report: TopsReport = serde_json::from_str(&told).expect("a report");
    assert_eq!(report.by, by);
    report.pages.into_iter().filter(|page| !page.url.contains("/api")).collect()
}

fn page<'a>(pages: &'a [TopPage], url: &str) -> &'a TopPage {
    pages.iter().find(|page| page.url.ends_with(url)).unwrap_or_else(|| panic!("no {url} among {pages:?}"))
}

fn purges(server: &Server) -> Vec<PurgeEvent> {
    let told: serde_json::Value = serde_json::from_str(&ask(server, "/api/purges")).expect("JSON");
    serde_json::from_value(told["purges"].clone()).expect("purges")
}

fn purge(server: &Server, body: &str) -> Answer {
    let request = Request::post("/change/purge", body).field("Content-Type", "application/json");
    server.fetch(&request.field("Authorization", "Bearer the secret of a site"))
}

/// Client of the event stream.
struct Events {
    client: Client,
    read: String,
}

impl Events {
    fn open(server: &Server) -> Self {
        let mut client = server.connect();
        client.send(Request::get("/api/live").bytes());
        let head = client.head();
        assert_eq!((head.status, head.field("Content-Type")), (200, Some("text/event-stream")));
        Self { client, read: String::new() }
    }

    /// Returns the data of the next event of that kind.
    fn next(&mut self, kind: &str) -> String {
        let begins = format!("event: {kind}\ndata: ");
        loop {
            if let Some((_, rest)) = self.read.split_once(&begins)
                && let Some((data, rest)) = rest.split_once("\n\n")
            {
                let data = data.to_owned();
                self.read = rest.to_owned();
                return data;
            }
            let more = self.client.some();
            assert!(!more.is_empty(), "the events ended after {}", self.read);
            self.read.push_str(&String::from_utf8_lossy(&more));
        }
    }

    fn tick(&mut self) -> LiveTick {
        serde_json::from_str(&self.next("tick")).expect("a tick")
    }
}

#[test]
fn pages_are_ranked_and_misses_have_their_reasons() {
    let (server, _origin) = start();
    for (target, times) in
        [("/a", 6), ("/cookie", 3), ("/private", 2), ("/pass/x", 2), ("/broken", 1), ("/a?fresh=1", 2)]
    {
        (0..times).for_each(|_| drop(server.get(target)));
    }
    server.fetch(&Request::get("/a").field("Cookie", "wordpress_logged_in_1=x"));
    server.fetch(&Request::post("/a", "x"));
    let misses = tops(&server, "misses");
    for (url, count, reason) in [
        ("/cookie", 3.0, "set-cookie"),
        ("/private", 2.0, "private"),
        ("/pass/x", 2.0, "no cache here"),
        ("/a?fresh=*", 2.0, "cache_bypass"),
    ] {
        let page = page(&misses, url);
        assert_eq!((page.count, page.over, page.reason.as_deref()), (count, 0.0, Some(reason)), "{url}");
    }
    let of_a: Vec<_> =
        page(&misses, "/a").reasons.iter().map(|known| (&*known.reason, known.count)).collect();
    assert_eq!(of_a, [("method", 1), ("not stored", 1), ("personal cookie", 1)]);
    assert_eq!(page(&misses, "/broken").status, 503);
    let requests = tops(&server, "requests");
    assert_eq!((page(&requests, "/a").requests, page(&requests, "/a").misses), (Some(8), 3));
    assert!(requests[0].url.ends_with("/a"), "{requests:?}");
    assert!(page(&tops(&server, "slow"), "/a").slowest_ms.is_some());
    let bytes = tops(&server, "bytes");
    assert!(page(&bytes, "/a").count > page(&bytes, "/broken").count);
    let reasons = ask(&server, "/api/reasons");
    for page in &misses {
        for known in &page.reasons {
            assert!(reasons.contains(&format!("\"{}\":", known.reason)), "{} has no sentence", known.reason);
        }
    }
}

#[test]
fn purges_are_logged_and_subsequent_misses_name_them() {
    let (server, _origin) = start();
    for target in ["/a", "/tagged", "/other"] {
        server.get(target);
    }
    let tags: TagsReport = serde_json::from_str(&ask(&server, "/api/tags")).expect("tags");
    assert_eq!(
        tags.tags.iter().map(|tag| (&*tag.tag, tag.pages)).collect::<Vec<_>>(),
        [("one", 1), ("two", 1)]
    );
    assert!(tags.complete && tags.looked_at == 3, "{tags:?}");
    let of_page = format!("/api/tags?page=http://localhost:{}/a", server.port);
    assert!(ask(&server, &of_page).contains("\"tags\":[]"));
    let mut events = Events::open(&server);
    events.tick();
    assert_eq!(
        purge(&server, "{\"urls\":[\"http://localhost/a\"],\"tags\":[\"one\"],\"wildcards\":[\"*/oth*\"]}")
            .status,
        200
    );
    let mut told: Vec<PurgeEvent> =
        (0..3).map(|_| serde_json::from_str(&events.next("purge")).expect("a purge")).collect();
    // The log has purges in the order in which they were saved.
    told.sort_by(|one, other| one.kind.cmp(&other.kind));
    let words: Vec<_> = told.iter().map(|purge| (&*purge.kind, &*purge.what, &*purge.by)).collect();
    assert_eq!(
        words,
        [
            ("tags", "tags one", "administrator"),
            ("url", "localhost/a", "administrator"),
            ("wildcard", "*/oth*", "administrator")
        ]
    );
    assert_eq!((told[0].pages, told[1].pages), (Some(1), Some(1)));
    wait_for("the count of the wildcard", || purges(&server).iter().all(|purge| purge.pages == Some(1)));
    assert_eq!(purges(&server).len(), 3);
    for target in ["/a", "/tagged", "/other"] {
        assert_eq!(server.get(target).cache(), "MISS");
        let misses = tops(&server, "misses");
        assert_eq!(page(&misses, target).reason.as_deref(), Some("purged"), "{target}");
    }
}

#[test]
fn new_and_changed_findings_of_the_leak_guard_are_events() {
    let (server, _origin) = start();
    let mut events = Events::open(&server);
    events.tick();
    let greet = || server.fetch(&Request::get("/greeting").field("Cookie", "name=Margarete"));
    let mut next = || serde_json::from_str::<LeakReport>(&events.next("leak")).expect("a finding");
    greet();
    // The verification may be complete before the tick.
    let finding =
        std::iter::repeat_with(&mut next).find(|finding| finding.state != "suspected").expect("a state");
    assert_eq!(
        (&*finding.zone, &*finding.page, &*finding.state, &*finding.what),
        ("pages", "localhost/greeting", "confirmed", "value of the request's cookie \"name\" in the body")
    );
    greet();
    server.fetch(&Request::get("/greeting").field("Cookie", "city=Rotterdam"));
    assert!(next().what.contains("\"city\""), "a known finding is only counted");
}

#[test]
fn ticks_report_activity_and_stop_with_configuration() {
    let (server, _origin) = start();
    let mut events = Events::open(&server);
    let before_any = events.tick();
    let before = before_any.total;
    for target in ["/a", "/a", "/a", "/a", "/b", "/pass/x"] {
        server.get(target);
    }
    let (mut hits, mut timed, mut last) = (0, 0, before_any);
    // The time of a request is recorded at its end, possibly after the event of its lookup.
    while last.total.cache.hit < before.cache.hit + 3 || last.total.fetches < before.fetches + 3 || timed < 3
    {
        last = events.tick();
        hits += last.delta.cache.hit;
        if let Some(times) = last.first_byte.hit {
            timed += times.count;
            assert!(times.p50 > 0.0 && times.p50 <= times.p99 && times.p99 <= times.max, "{times:?}");
        }
    }
    assert_eq!(timed, 3);
    assert_eq!((hits, last.total.cache.miss - before.cache.miss), (3, 2), "deltas add up to totals");
    assert_eq!(last.readers, 1);
    assert!(last.total.status_2xx >= before.status_2xx + 6, "{last:?}");
    assert!(
        last.connections.active >= 1 && last.workers.iter().map(|worker| worker.requests).sum::<u64>() >= 6
    );
    let zone = &last.zones[0];
    assert_eq!((&*zone.zone, zone.memory.pages, zone.requests.hit), ("pages", 2, 3));
    let mut codings = Vec::new();
    wait_patiently_for("the codings of the zone", Duration::from_secs(30), || {
        codings = events.tick().zones[0].encodings.clone();
        codings.iter().any(|known| known.coding == "identity" && known.pages == 2)
    });
    server.reload(HTTP);
    // The stream is completed; the connection remains open for the next request.
    events.client.until(|read| read.ends_with(b"0\r\n\r\n"));
    let mut events = Events::open(&server);
    assert_eq!(events.tick().reloads, 1);
    server.signal(Signal::QUIT);
    events.client.until(|read| read.ends_with(b"0\r\n\r\n"));
}

#[test]
fn live_readers_are_limited_and_unauthorized_clients_get_nothing() {
    let (server, _origin) = start();
    let readers: Vec<Events> = (0..32).map(|_| Events::open(&server)).collect();
    let refused = server.get("/api/live");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().starts_with("{\"error\":\""));
    drop(readers);
    wait_for("a free connection slot", || {
        server.fetch(&Request::head("/api/live")).status == 200 && {
            let mut client = server.connect();
            client.send(Request::get("/api/live").bytes());
            client.head().status == 200
        }
    });
    for path in ["live", "tops", "history", "purges", "tags", "reasons", "inspect?url=/"] {
        let foreign = server.fetch(&Request::get(&format!("/api/{path}")).host("evil.test"));
        assert_eq!(foreign.status, 403, "{path}");
        let wrong = server.fetch(&Request::post(&format!("/api/{path}"), ""));
        assert_eq!((wrong.status, wrong.field("Allow")), (405, Some("GET, HEAD")), "{path}");
    }
    for path in [
        "tops?by=x",
        "tops?limit=0",
        "history?step=7",
        "history?range=0",
        "purges?limit=x",
        "tags?page=",
        "inspect",
        "live?x=1",
    ] {
        let wrong = server.get(&format!("/api/{path}"));
        assert_eq!(wrong.status, 400, "{path}");
        assert!(wrong.text().starts_with("{\"error\":\""), "{path}: {}", wrong.text());
    }
}

/// Returns the hits of the last ten minutes, from completed steps.
fn hits(server: &Server) -> u64 {
    let report: HistoryReport =
        serde_json::from_str(&ask(server, "/api/history?range=600")).expect("a history");
    assert!(report.kept && report.step_s == 10 && report.at_ms.len() == report.points);
    assert_eq!(report.series.requests.len(), report.points);
    report.series.hit.iter().flatten().sum()
}

#[test]
fn history_survives_restarts_and_damaged_history_is_harmless() {
    let (mut server, _origin) = start();
    // A step has ten seconds.
    let patience = Duration::from_secs(40);
    (0..6).for_each(|_| drop(server.get("/a")));
    wait_patiently_for("the end of the step", patience, || hits(&server) == 5);
    server.restart(Signal::KILL);
    wait_for("what was written before a crash", || hits(&server) == 5);
    wait_for("the page from its file", || server.get("/a").cache() == "HIT");
    server.restart(Signal::QUIT);
    wait_patiently_for("what was done before the end", patience, || hits(&server) == 6);
    let history = server.path("cache.history");
    server.restart_after(Signal::QUIT, || std::fs::write(&history, "no history").expect("a file"));
    server.log_has("(it is not a history file, or is truncated)");
    assert_eq!(hits(&server), 0);
}

#[test]
fn request_that_ends_during_the_shutdown_is_in_the_history() {
    let gate = Arc::new(Gate::new());
    let origin_gate = Arc::clone(&gate);
    let origin = HttpOrigin::start(move |call| {
        origin_gate.pass();
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", "late");
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let mut server = Server::start(place, HTTP);
    std::thread::scope(|scope| {
        let client = server.connect();
        let late = scope.spawn(move || { client }.fetch(&Request::get("/late")));
        wait_for("the request at the origin", || origin.count() == 1);
        server.signal(Signal::QUIT);
        let address = ("127.0.0.1", server.port);
        wait_for("the end of the listener", || std::net::TcpStream::connect(address).is_err());
        gate.open();
        assert_eq!(late.join().expect("an answer").status, 200);
    });
    assert!(server.ended());
    server.start_again();
    let misses = || -> u64 {
        let report: HistoryReport =
            serde_json::from_str(&ask(&server, "/api/history?range=600")).expect("a history");
        report.series.miss.iter().flatten().sum()
    };
    wait_patiently_for("the late request in the history", Duration::from_secs(40), || misses() == 1);
}

#[test]
fn inspector_reports_request_handling_and_stored_page() {
    let (server, origin) = start();
    let inspect = |arguments: &str| -> InspectReport {
        serde_json::from_str(&ask(&server, &format!("/api/inspect?{arguments}"))).expect("a report")
    };
    let url = format!("url=http://localhost:{}/a", server.port);
    let report = inspect(&url);
    assert_eq!(report.server.as_deref(), Some("localhost"));
    assert_eq!(report.location.as_deref(), Some("location /"));
    assert_eq!((report.zone.as_deref(), report.read.as_deref()), (Some("pages"), Some("yes")));
    assert_eq!(report.store.as_deref(), Some("yes: 200 for 1h"));
    assert!(report.key.is_some() && report.stored.is_empty());
    assert!(
        report.lines.iter().any(|line| line.at.as_deref().is_some_and(|at| at.starts_with("myriad.conf:")))
    );
    assert_eq!(origin.count(), 0, "the explanation sends no request to the origin");
    server.get("/a");
    let before = tops(&server, "requests");
    let report = inspect(&url);
    assert_eq!((report.stored.len(), report.stored[0].status), (1, 200));
    let report = inspect(&format!("{url}&cookie=wordpress_logged_in_1%3Dx"));
    assert!(
        report.read.as_deref().is_some_and(|read| read.starts_with("no: the cookie wordpress_logged_in_1"))
    );
    assert_eq!(inspect("url=/pass/x").location.as_deref(), Some("location /pass/"));
    assert_eq!(tops(&server, "requests").len(), before.len(), "the explanation does not count as a request");
    let zone = ask(&server, "/api/9/http/server_zones/seen");
    assert!(zone.contains("\"processing\":1,"), "only this request is in progress: {zone}");
    assert_eq!(server.get("/api/inspect?url=http://localhost:1/").status, 400);
}
