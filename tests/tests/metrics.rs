//! Metrics of a load whose requests are all known, and the metrics page.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_tests::{
    Client, Gate, HttpOrigin, PATIENCE, Place, Reached, Request, Server, Transport, certificate,
    tls_handshake, wait_for, workspace,
};

/// Requests of a batch, sent at once on one connection: kind and number.
const BATCH: [(Kind, usize); 8] = [
    (Kind::Hit, 20),
    (Kind::Head, 5),
    (Kind::Revalidate, 5),
    (Kind::None, 4),
    (Kind::Plain, 10),
    (Kind::Post, 3),
    (Kind::Robot, 2),
    (Kind::Last, 1),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Hit,
    Head,
    Revalidate,
    None,
    Plain,
    Post,
    Robot,
    /// The connection closes after it.
    Last,
}

impl Kind {
    fn bytes(self) -> Vec<u8> {
        let request = match self {
            Self::Hit => Request::get("/page"),
            Self::Head => Request::head("/page"),
            Self::Revalidate => Request::get("/page").field("If-None-Match", "\"own\""),
            Self::None => Request::get("/none"),
            Self::Plain => Request::get("/plain"),
            Self::Post => Request::post("/plain", "0123456789"),
            Self::Robot => Request::get("/plain").field("User-Agent", "SemrushBot/7"),
            Self::Last => Request::get("/plain").field("Connection", "close"),
        };
        let request =
            if self == Self::Robot { request } else { request.field("User-Agent", "Firefox/133.0") };
        request.host("plain.test").bytes()
    }

    fn status(self) -> u16 {
        match self {
            Self::Revalidate => 304,
            Self::None => 404,
            _ => 200,
        }
    }
}

/// Expected counts of a load.
#[derive(Clone, Default)]
struct Expected {
    codes: BTreeMap<u16, u64>,
    hits: u64,
    uncached: u64,
    robots: u64,
    received: u64,
    sent: u64,
}

impl Expected {
    fn add(&mut self, kind: Kind) {
        *self.codes.entry(kind.status()).or_default() += 1;
        match kind {
            Kind::Hit | Kind::Head | Kind::Revalidate => self.hits += 1,
            _ => self.uncached += 1,
        }
        self.robots += u64::from(kind == Kind::Robot);
        self.received += kind.bytes().len() as u64;
    }

    fn requests(&self) -> u64 {
        self.codes.values().sum()
    }
}

/// Sends a batch on a new connection, reads all responses, and adds them to the expected counts.
fn batch(port: u16, expected: &mut Expected) {
    let mut client = Client::connect(port);
    for (kind, count) in BATCH {
        for _ in 0..count {
            expected.add(kind);
            client.send(kind.bytes());
        }
    }
    let answers = client.rest();
    let text = String::from_utf8_lossy(&answers);
    for code in [200, 304, 404] {
        let wanted: usize =
            BATCH.iter().filter(|(kind, _)| kind.status() == code).map(|(_, count)| count).sum();
        assert_eq!(text.matches(&format!("HTTP/1.1 {code} ")).count(), wanted, "{code}");
    }
    expected.sent += answers.len() as u64;
}

struct Site {
    server: Reached,
    _origin: HttpOrigin,
    /// Gate of the origin's responses to `/held`.
    gate: Arc<Gate>,
    plain: Place,
    http: String,
}

fn site(workers: u8) -> Site {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = HttpOrigin::start(move |call| {
        if call.target == "/held" {
            held.pass();
        }
        let body = vec![b'x'; 2000];
        call.answer(
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nETag: \"own\"\nCache-Control: max-age=600",
            body,
        );
    });
    let (mut place, plain) = (Place::new(), Place::new());
    certificate(&place.path("own.crt"), &place.path("own.key"));
    place.set("PLAIN", &plain.port.to_string());
    place.set("ORIGIN", &origin.address);
    let http = "proxy_cache_path @DIR@/cache keys_zone=pages:1m; access_log off; upstream app { server @ORIGIN@; }
         lingering_close off;
         server { listen 127.0.0.1:@PLAIN@ default_server; server_name plain.test; status_zone plain; http2 on; keepalive_requests 100000;
           location /page { status_zone pages; proxy_cache pages; proxy_pass http://app; proxy_cache_bypass $arg_bypass; }
           location /none { return 404; } location /plain { return 200 plain; } }
         server { listen 127.0.0.1:@PLAIN@; server_name ends.test; status_zone ends;
           location /drop { return 444; } location /held { proxy_pass http://app; } }
         server { listen 127.0.0.1:@PLAIN@; server_name localhost; location /metrics { metrics; } }
         server { listen 127.0.0.1:@PORT@ ssl; listen 127.0.0.1:@PORT@ quic; http2 on; server_name localhost; status_zone secure;
           ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key;
           location / { return 200 secure; } }";
    let server = Server::start_with(place, &format!("worker_processes {workers};"), http);
    let server = Reached { server, transport: Transport::Http1Tls };
    Site { server, _origin: origin, gate, plain, http: http.to_owned() }
}

type Values = HashMap<String, f64>;

/// Returns the values of the page by series, without the common prefix.
fn read(text: &str) -> Values {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let values = lines.map(|line| {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let series = series.strip_prefix("myriad_").expect("the beginning of all names");
        (series.to_owned(), value.parse().expect("a number"))
    });
    values.collect()
}

fn scrape(client: &mut Client) -> Values {
    let answer = client.fetch(&Request::get("/metrics"));
    assert_eq!(answer.status, 200);
    read(&answer.text())
}

/// Reads the page until it contains all expected values. A response is sent before it is counted, and a page may be
/// generated while a worker counts: it may contain one counter of a request but not another.
fn counted(client: &mut Client, wanted: &[(&str, u64)]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let values = scrape(client);
        let mut others = wanted.iter().filter(|(series, value)| of(&values, series) != *value);
        let Some((series, value)) = others.next() else { return };
        assert!(Instant::now() < deadline, "{series} is {} instead of {value}", of(&values, series));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn of(values: &Values, series: &str) -> u64 {
    values.get(series).copied().unwrap_or_default() as u64
}

/// Asserts that the counts of the server `plain` and of all requests equal the requests that were sent.
fn check(client: &mut Client, expected: &Expected, misses: u64) {
    let class = |class: u16| -> u64 {
        expected.codes.iter().filter(|(code, _)| *code / 100 == class).map(|(_, count)| count).sum()
    };
    let wanted = [
        (r#"server_requests_total{server_zone="plain"}"#, expected.requests()),
        (r#"server_requests_processing{server_zone="plain"}"#, 0),
        (r#"server_responses_total{server_zone="plain",code="2xx"}"#, class(2)),
        (r#"server_responses_total{server_zone="plain",code="3xx"}"#, class(3)),
        (r#"server_responses_total{server_zone="plain",code="4xx"}"#, class(4)),
        (r#"server_responses_total{server_zone="plain",code="5xx"}"#, 0),
        (r#"server_discarded_total{server_zone="plain"}"#, 0),
        (r#"server_received_bytes_total{server_zone="plain"}"#, expected.received),
        (r#"server_sent_bytes_total{server_zone="plain"}"#, expected.sent),
        (r#"location_requests_total{location_zone="pages"}"#, expected.hits + misses),
        (r#"cache_requests_total{zone="pages",cache="hit"}"#, expected.hits),
        (r#"cache_requests_total{zone="pages",cache="miss"}"#, misses),
        (r#"visitor_requests_total{bot="seo"}"#, expected.robots),
        (r#"request_seconds_count{cache="hit"}"#, expected.hits),
        (r#"first_byte_seconds_count{cache="hit"}"#, expected.hits),
        (r#"request_seconds_bucket{cache="hit",le="+Inf"}"#, expected.hits),
    ];
    counted(client, &wanted);
}

/// Stores the page in the cache: a miss.
fn warm(site: &Site, expected: &mut Expected) {
    let request = Request::get("/page").host("plain.test").field("Connection", "close");
    let mut client = Client::connect(site.plain.port);
    client.send(request.bytes());
    expected.sent += client.rest().len() as u64;
    expected.received += request.bytes().len() as u64;
    *expected.codes.entry(200).or_default() += 1;
}

#[test]
fn every_request_of_a_mixed_load_is_counted_once_also_over_a_reload() {
    let site = site(2);
    let mut metrics = Client::connect(site.plain.port);
    let mut expected = Expected::default();
    warm(&site, &mut expected);
    (0..20).for_each(|_| batch(site.plain.port, &mut expected));
    check(&mut metrics, &expected, 1);
    site.server.server.reload(&site.http);
    site.server.server.log_has("reconfigur");
    (0..5).for_each(|_| batch(site.plain.port, &mut expected));
    let mut metrics = Client::connect(site.plain.port);
    check(&mut metrics, &expected, 1);
    // Hits by GET include a body.
    counted(&mut metrics, &[(r#"saved_bytes_total{by="cache"}"#, 25 * 20 * 2000)]);
    wait_for("workers and versions of HTTP to have as many requests", || {
        let values = scrape(&mut metrics);
        let sum = |family: &str| -> u64 {
            values.keys().filter(|series| series.starts_with(family)).map(|series| of(&values, series)).sum()
        };
        sum("worker_requests_total{") == sum("requests_total{")
    });
}

#[test]
#[ignore = "a minute, and a release build: MYRIAD_TEST_BINARY=target/release/myriad"]
fn a_million_requests_are_counted_exactly() {
    let site = site(2);
    let mut expected = Expected::default();
    warm(&site, &mut expected);
    let own: Vec<Expected> = std::thread::scope(|scope| {
        let load = || {
            let mut own = Expected::default();
            (0..5000).for_each(|_| batch(site.plain.port, &mut own));
            own
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a load")).collect()
    });
    for one in own {
        for (code, count) in one.codes {
            *expected.codes.entry(code).or_default() += count;
        }
        expected.hits += one.hits;
        expected.robots += one.robots;
        expected.received += one.received;
        expected.sent += one.sent;
    }
    check(&mut Client::connect(site.plain.port), &expected, 1);
    println!("{} requests, {} bytes sent, all counted", expected.requests(), expected.sent);
}

#[test]
fn http_versions_and_handshakes_are_counted_separately() {
    let mut site = site(2);
    let requests = [Request::get("/"), Request::get("/a"), Request::head("/b")];
    for transport in [Transport::Http1Tls, Transport::Http2, Transport::Http3] {
        site.server.transport = transport;
        assert!(site.server.fetch_all(&requests).iter().all(|answer| answer.status == 200));
    }
    drop(tls_handshake(site.server.server.port, "localhost", |_| {}));
    // Input that is not a TLS hello.
    let mut stranger = Client::connect(site.server.server.port);
    stranger.send(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00");
    stranger.rest();
    let mut metrics = Client::connect(site.plain.port);
    let wanted = [
        (r#"requests_total{version="HTTP/1.1",tls="yes"}"#, 3),
        (r#"requests_total{version="HTTP/2.0",tls="yes"}"#, 3),
        (r#"requests_total{version="HTTP/3.0",tls="yes"}"#, 3),
        (r#"server_requests_total{server_zone="secure"}"#, 9),
        (r#"server_responses_total{server_zone="secure",code="2xx"}"#, 9),
        ("tls_handshakes_total", 4),
        (r#"tls_handshakes_failed_total{reason="other"}"#, 1),
        (r#"tls_handshakes_failed_total{reason="timeout"}"#, 0),
    ];
    counted(&mut metrics, &wanted);
}

#[test]
fn requests_without_an_answer_are_discarded() {
    let site = site(2);
    let mut metrics = Client::connect(site.plain.port);
    let ask = |target: &str| {
        let mut client = Client::connect(site.plain.port);
        client.send(Request::get(target).host("ends.test").bytes());
        client
    };
    assert!(ask("/drop").is_closed());
    let leaving = ask("/held");
    let processing = r#"server_requests_processing{server_zone="ends"}"#;
    counted(&mut metrics, &[(processing, 1)]);
    drop(leaving);
    let ended = [
        (processing, 0),
        ("requests_discarded_total", 2),
        (r#"server_discarded_total{server_zone="ends"}"#, 2),
        (r#"server_requests_total{server_zone="ends"}"#, 2),
    ];
    counted(&mut metrics, &ended);
    site.gate.open();
    // Requests that cannot be parsed count for the default server.
    let mut stranger = Client::connect(site.plain.port);
    stranger.send("GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    assert!(stranger.rest().starts_with(b"HTTP/1.1 400 "));
    let refused = [
        (r#"server_requests_total{server_zone="plain"}"#, 1),
        (r#"server_responses_total{server_zone="plain",code="4xx"}"#, 1),
    ];
    counted(&mut metrics, &refused);
}

#[test]
fn the_page_is_for_loopback_and_in_the_form_that_is_asked_for() {
    let site = site(1);
    let mut client = Client::connect(site.plain.port);
    let forms = [
        ("", "text/plain; version=0.0.4; charset=utf-8", false),
        ("text/plain", "text/plain; version=0.0.4; charset=utf-8", false),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            true,
        ),
    ];
    for (accept, media_type, has_end) in forms {
        let answer = client.fetch(&Request::get("/metrics").field("Accept", accept));
        assert_eq!(answer.field("Content-Type"), Some(media_type));
        assert_eq!(answer.text().ends_with("# EOF\n"), has_end, "{accept}");
    }
    for request in [
        Request::get("/metrics").field("X-Forwarded-For", "192.0.2.1"),
        Request::get("/metrics").host("localhost."),
    ] {
        let status = client.fetch(&request).status;
        assert!(matches!(status, 403 | 200), "{request:?}: {status}");
    }
    let passed_on = Request::get("/metrics").field("X-Forwarded-For", "192.0.2.1");
    assert_eq!(client.fetch(&passed_on).status, 403);
    assert_eq!(client.fetch(&Request::post("/metrics", "x")).status, 405);
}

/// Requires promtool (package `prometheus`), or the program in `MYRIAD_PROMTOOL`.
#[test]
fn promtool_finds_nothing_wrong_with_the_page() {
    let promtool = std::env::var_os("MYRIAD_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let site = site(1);
    warm(&site, &mut Expected::default());
    let text = Client::connect(site.plain.port).fetch(&Request::get("/metrics")).text();
    let started = Command::new(&promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut checking) = started else {
        eprintln!("promtool is not installed: the page was not checked by it");
        return;
    };
    std::io::Write::write_all(&mut checking.stdin.take().expect("piped"), text.as_bytes())
        .expect("promtool reads its input");
    let output = checking.wait_with_output().expect("promtool exits");
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.trim().is_empty(), "{told}");
}

/// Returns the names of metrics in a query of Grafana.
fn metrics_of(query: &str) -> impl Iterator<Item = &str> {
    let words =
        query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'));
    words.filter(|word| word.starts_with("myriad_"))
}

#[test]
fn every_metric_of_the_grafana_file_is_in_a_page() {
    let site = site(2);
    warm(&site, &mut Expected::default());
    let answer = Client::connect(site.plain.port).fetch(&Request::get("/metrics"));
    let text = answer.text();
    let known: HashSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next().map(str::to_owned))
        .collect();
    let file = std::fs::read_to_string(workspace().join("packaging/grafana/myriad.json")).expect("the file");
    let dashboard: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    assert!(queries.len() > 20, "{}", queries.len());
    for query in queries {
        for metric in metrics_of(query) {
            // Metrics of a PHP pool exist only if its status is queried; the heads of families always exist.
            let is_told = known.contains(metric) || text.contains(&format!("# TYPE {metric} "));
            assert!(is_told, "{metric} of {query}");
        }
    }
}

#[test]
fn every_metric_is_documented() {
    let site = site(1);
    let text = Client::connect(site.plain.port).fetch(&Request::get("/metrics")).text();
    let document = std::fs::read_to_string(workspace().join("docs/metrics.md")).expect("the document");
    let families: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE myriad_")?.split(' ').next()).collect();
    assert!(families.len() > 50, "{families:?}");
    for family in families {
        // The document describes the metrics of locations by those of servers.
        let is_known = family.starts_with("location_") || document.contains(&format!("`{family}`"));
        assert!(is_known, "docs/metrics.md lacks {family}");
    }
}

/// Collects all queries of a dashboard, including those of its variables.
fn collect<'a>(value: &'a serde_json::Value, queries: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if matches!(name.as_str(), "expr" | "query" | "definition") => {
                        queries.push(text);
                    }
                    _ => collect(value, queries),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, queries)),
        _ => {}
    }
}

/// Returns the resident memory of the worker process, in bytes.
fn memory(server: &Server) -> u64 {
    let worker = server.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Returns servers with one zone each, or with a common zone.
fn many(count: usize, apart: bool, ports: (u16, u16)) -> String {
    let mut http = format!(
        "server_names_hash_max_size 65536; access_log off;
         server {{ listen 127.0.0.1:{}; server_name localhost; location /metrics {{ metrics; }} }}",
        ports.0
    );
    for number in 0..count {
        let zone = if apart { number } else { 0 };
        let _ = writeln!(
            http,
            "server {{ listen 127.0.0.1:{}; server_name s{number}.test; status_zone zone-{zone:05}.example.org; return 200; }}",
            ports.1
        );
    }
    http
}

#[test]
#[ignore = "figures of a release build: MYRIAD_TEST_BINARY=target/release/myriad"]
fn five_thousand_servers_with_zones_take_little() {
    const COUNT: usize = 5000;
    let used = |apart: bool| {
        let (place, other) = (Place::new(), Place::new());
        let ports = (place.port, other.port);
        let server = Server::start_with(place, "worker_processes 2;", &many(COUNT, apart, ports));
        let mut client = Client::connect(ports.1);
        for number in 0..COUNT {
            let answer = client.fetch(&Request::get("/").host(&format!("s{number}.test")));
            assert_eq!(answer.status, 200);
            if answer.field("Connection") == Some("close") {
                client = Client::connect(ports.1);
            }
        }
        let before = memory(&server);
        let mut metrics = Client::connect(ports.0);
        let (mut took, mut length) = (Vec::new(), 0);
        for _ in 0..9 {
            let begun = Instant::now();
            length = metrics.fetch(&Request::get("/metrics")).body.len();
            took.push(begun.elapsed());
        }
        took.sort();
        (before, took, length)
    };
    let ((one, ..), (apart, took, length)) = (used(false), used(true));
    println!(
        "{COUNT} zones: {} bytes of memory each; a scrape of {length} bytes in {:?} (median), {:?} (worst of 9)",
        apart.saturating_sub(one) / COUNT as u64,
        took[4],
        took[8]
    );
    assert!(apart.saturating_sub(one) <= COUNT as u64 * 4096);
}
