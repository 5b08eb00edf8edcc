//! Export of spans to a collector, which is a real gRPC server with an independent decoder.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::SeqCst};

use myriad_tests::{HttpOrigin, Php, Place, Request, Server, Signal, signal, wait_for};
use serde_json::Value;

use super::{PARENT, STATE, TRACE, traced};

const COLLECTOR: &str = include_str!("collector.py");

/// Collector; killed on drop.
pub(crate) struct Collector {
    process: Child,
    /// File with the spans that it has received.
    file: PathBuf,
    port: u16,
}

impl Collector {
    /// Starts a collector with this protocol (`grpc`, `tls`, `http`) on a port, 0 for any.
    pub(crate) fn start(place: &Place, mode: &str, port: u16) -> Self {
        place.write("collector.py", COLLECTOR);
        let (file, told) = (place.path("spans"), place.path("spans.port"));
        let _ = std::fs::remove_file(&told);
        let mut command = Command::new("/usr/bin/python3");
        command.arg(place.path("collector.py")).arg(mode).arg(&file).arg(port.to_string());
        command.arg(place.path("collector.crt")).arg(place.path("collector.key"));
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("python3");
        wait_for("the collector, of the packages python3-grpcio and python3-protobuf", || told.exists());
        let port = place.read("spans.port").parse().expect("a port");
        Self { process, file, port }
    }

    fn batches(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the received spans.
    fn spans(&self) -> Vec<Value> {
        let batches = self.batches();
        batches.iter().flat_map(|batch| batch["spans"].as_array().cloned().unwrap_or_default()).collect()
    }

    /// Waits for `count` spans of requests (without child spans) and returns them.
    pub(crate) fn servers(&self, count: usize) -> Vec<Value> {
        let servers = || self.spans().into_iter().filter(|span| span["kind"] == 2).collect::<Vec<_>>();
        wait_for("spans", || servers().len() >= count);
        let found = servers();
        assert_eq!(found.len(), count, "{found:#?}");
        found
    }

    /// Returns the child spans of a span.
    pub(crate) fn parts(&self, of: &Value) -> Vec<Value> {
        self.spans().into_iter().filter(|span| span["parent"] == of["span"]).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        signal(self.process.id(), Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Returns a site that traces every request to a collector, with these directives in its exporter, in `http` and in its
/// server.
pub(crate) fn http(collector: &Collector, exporter: &str, http: &str, server: &str) -> String {
    format!(
        "otel_exporter {{ endpoint 127.0.0.1:{}; interval 20ms; {exporter} }} otel_trace on; {http}
        server {{ listen 127.0.0.1:@PORT@; {server} }}",
        collector.port
    )
}

pub(crate) fn server(exporter: &str, more: &str, locations: &str) -> (Collector, Server) {
    let place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let http = http(&collector, exporter, more, locations);
    (collector, Server::start(place, &http))
}

#[test]
fn span_attributes_match_nginx() {
    let (collector, server) = server("", "", "server_name localhost; location /ok { return 200 OK; }");
    let before = std::time::SystemTime::now();
    server.fetch(&traced("/ok?a=b").field("User-Agent", "a test"));
    let span = &collector.servers(1)[0];
    let told = &span["attributes"];
    for (name, value) in [
        ("http.method", "GET"),
        ("http.target", "/ok?a=b"),
        ("http.route", "/ok"),
        ("http.scheme", "http"),
        ("http.flavor", "1.1"),
        ("http.user_agent", "a test"),
        ("net.host.name", "localhost"),
        ("net.sock.peer.addr", "127.0.0.1"),
    ] {
        assert_eq!(told[name], value, "{name}: {span:#}");
    }
    for (name, value) in [
        ("http.request_content_length", 0),
        ("http.response_content_length", 2),
        ("http.status_code", 200),
        ("net.host.port", u64::from(server.port)),
    ] {
        assert_eq!(told[name], value, "{name}: {span:#}");
    }
    assert!(told["net.sock.peer.port"].as_u64().expect("a port") > 1023);
    assert_eq!(span["name"], "/ok");
    assert_eq!(span["status"], 0);
    assert_eq!(span["parent"], "");
    assert_ne!(span["trace"], TRACE, "the client's trace is ignored");
    let began = before.duration_since(std::time::UNIX_EPOCH).expect("a time").as_nanos() as u64;
    let (start, end) = (span["start"].as_u64().expect("a start"), span["end"].as_u64().expect("an end"));
    assert!(began <= start + 1_000_000 && start <= end && end < began + 60_000_000_000, "{began} {span:#}");
    let batch = &collector.batches()[0];
    assert_eq!(batch["resource"]["service.name"], "unknown_service:myriad");
    assert_eq!(batch["scope"][0], "myriad");
}

#[test]
fn failures_and_redirects_are_traced_and_disabled_locations_are_not() {
    let locations = "location /err { return 500; } location /off { otel_trace off; return 204; }
        rewrite ^/old$ /new permanent; location ~ ^/(a|b)$ { if ($arg_x) { return 403; } return 204; }
        location /redirected { error_page 404 = /page; return 404; } location /page { return 200 page; }";
    let (collector, server) = server("", "", locations);
    for target in ["/off", "/err", "/old", "/a", "/b?x=1", "/redirected"] {
        server.get(target);
    }
    let spans = collector.servers(5);
    let shown: Vec<_> = spans
        .iter()
        .map(|span| format!("{} {} {}", span["name"], span["attributes"]["http.status_code"], span["status"]))
        .collect();
    let expected =
        ["\"/err\" 500 2", "\"GET\" 301 0", "\"^/(a|b)$\" 204 0", "\"^/(a|b)$\" 403 0", "\"/page\" 200 0"];
    assert_eq!(shown, expected);
}

#[test]
fn names_attributes_and_resource_are_the_configurations() {
    let more =
        "otel_service_name shop; otel_resource_attr my.name 'my name'; otel_resource_attr my.name other;";
    let locations = "location / { otel_span_name \"page $uri\"; otel_span_attr http.request $request;
            otel_span_attr http.response.header.content.type $sent_http_content_type;
            otel_span_attr http.request.completion $request_completion; return 200 OK; }";
    let (collector, server) =
        server("header X-API-Token value; header Authorization 'Basic x';", more, locations);
    server.get("/custom");
    let span = &collector.servers(1)[0];
    assert_eq!(span["name"], "page /custom");
    let told = &span["attributes"];
    assert_eq!(told["http.request"], "GET /custom HTTP/1.1");
    assert_eq!(told["http.request.completion"], "OK");
    assert_eq!(told["http.response.header.content.type"][0], "text/plain");
    let batch = &collector.batches()[0];
    assert_eq!(batch["resource"]["service.name"], "shop");
    assert_eq!(batch["resource"]["my.name"], "other");
    assert_eq!(batch["fields"]["x-api-token"], "value");
    assert_eq!(batch["fields"]["authorization"], "Basic x");
}

#[test]
fn php_gets_trace_context_and_its_origin_span_is_child_of_request_span() {
    let mut place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let _php = Php::start(&mut place);
    place.write(
        "html/index.php",
        "<?php echo $_SERVER['HTTP_TRACEPARENT'] ?? 'none', ' ', $_SERVER['HTTP_TRACESTATE'] ?? 'none';",
    );
    let location = "root html; otel_trace_context propagate;
        location / { fastcgi_pass @PHP@; @PARAMS@ }";
    let server = Server::start(place, &http(&collector, "", "", location));
    let answer = server.fetch(&traced("/index.php"));
    let span = &collector.servers(1)[0];
    let id = span["span"].as_str().expect("an id");
    assert_eq!(answer.text(), format!("00-{TRACE}-{id}-01 {STATE}"));
    assert_eq!(span["trace"], TRACE);
    assert_eq!(span["parent"], PARENT);
    assert_eq!(span["state"], STATE);
    let parts = collector.parts(span);
    assert_eq!(parts.len(), 1, "{parts:#?}");
    let origin = &parts[0];
    assert_eq!(origin["kind"], 3);
    assert_eq!(origin["trace"], TRACE);
    assert_eq!(origin["flags"], 1);
    assert_eq!(origin["attributes"]["http.response.status_code"], 200);
    assert!(origin["attributes"]["server.address"].as_str().expect("an address").starts_with("unix:"));
    let moments =
        ["connected", "response head"].map(|name| origin["events"][name].as_u64().expect("a moment"));
    let (start, end) = (origin["start"].as_u64().expect("a start"), origin["end"].as_u64().expect("an end"));
    assert!(start <= moments[0] && moments[0] <= moments[1] && moments[1] <= end, "{origin:#}");
}

#[test]
fn cache_status_is_recorded_for_shortcut_hit_and_waiting_request() {
    let (sent, held) = std::sync::mpsc::channel::<()>();
    let (sent, held) = (sent, std::sync::Mutex::new(held));
    let origin = HttpOrigin::start(move |call| {
        if call.target == "/slow" {
            let _ = held.lock().expect("a lock").recv();
        }
        call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=600", "page");
    });
    let more = "proxy_cache_path @DIR@/zone keys_zone=zone:1m;";
    let locations = format!(
        "location / {{ proxy_pass http://{}; proxy_cache zone; proxy_cache_lock on; }}
        location = /status {{ otel_trace off; stub_status; }}",
        origin.address
    );
    let (collector, server) = server("", more, &locations);
    for _ in 0..4 {
        server.fetch(&Request::get("/page").field("User-Agent", "Googlebot/2.1"));
    }
    let spans = collector.servers(4);
    let status: Vec<_> = spans.iter().map(|span| span["attributes"]["myriad.cache.status"].clone()).collect();
    assert_eq!(status, ["MISS", "HIT", "HIT", "HIT"]);
    assert_eq!(spans[3]["attributes"]["user_agent.synthetic.type"], "bot");
    assert!(collector.parts(&spans[0]).len() == 1 && collector.parts(&spans[3]).is_empty());
    let mut clients = [server.connect(), server.connect()];
    clients[0].send(Request::get("/slow").bytes());
    wait_for("the fetch", || origin.count() == 2);
    clients[1].send(Request::get("/slow").bytes());
    let mut gone = server.connect();
    gone.send(Request::get("/slow").bytes());
    // They wait once the server has counted them: four pages, three clients, and the status requests.
    let mut looked = 0;
    wait_for("all three", || {
        looked += 1;
        begun(&server) == 4 + 3 + looked
    });
    let waits = || collector.spans().iter().filter(|span| span["name"] == "cache_lock").count();
    drop(gone);
    wait_for("the wait of who has gone", || waits() == 1);
    sent.send(()).expect("the origin waits");
    let answers = clients.each_mut().map(|client| client.answer().text());
    assert_eq!(answers, ["page", "page"]);
    wait_for("the other's wait", || waits() == 2);
}

/// Returns the number of requests that the server has begun, from its status page, including this request.
fn begun(server: &Server) -> u64 {
    let text = server.get("/status").text();
    let counts = text.lines().nth(2).and_then(|line| line.split_whitespace().nth(2));
    counts.and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn what_no_collector_would_take_is_sent_as_what_it_takes() {
    let (collector, server) = server("", "", "location / { otel_span_attr raw $arg_x; return 204; }");
    let mut request =
        b"GET /?x=\xff\xfe HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUser-Agent: \xc3(\xff".to_vec();
    request.extend(vec![b'u'; 6000]);
    request.extend(b"\r\n\r\n");
    let mut client = server.connect();
    client.send(request);
    client.rest();
    let span = &collector.servers(1)[0];
    let agent = span["attributes"]["http.user_agent"].as_str().expect("a text");
    assert!(agent.starts_with("\u{fffd}(\u{fffd}uuu") && agent.len() <= 4096, "{}", agent.len());
    assert!(span["attributes"]["raw"].as_str().expect("a text").contains('\u{fffd}'));
}

#[test]
fn batch_waits_for_a_collector_that_is_away_and_what_has_no_room_is_counted() {
    let place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let port = collector.port;
    let http = http(&collector, "batch_size 4; batch_count 2;", "", "location / { return 204; }");
    let server = Server::start(place, &http);
    server.get("/first");
    collector.servers(1);
    drop(collector);
    let mut client = server.connect();
    for number in 0..30 {
        // Clients receive their response immediately, regardless of the collector.
        assert_eq!(client.fetch(&Request::get(&format!("/away/{number}"))).status, 204);
    }
    server.log_has("OTel export failure: 127.0.0.1:");
    let collector = Collector::start(&server, "grpc", port);
    wait_for("spans that have waited", || collector.spans().len() > 8);
    server.log_has("is available again");
    server.log_has("OTel dropped records: ");
    let log = server.read("error.log");
    assert_eq!(log.matches("is unavailable (").count(), 1, "the message is logged once:\n{log}");
    server.get("/last");
    wait_for("the last", || {
        collector.spans().iter().any(|span| span["attributes"]["http.target"] == "/last")
    });
    // Earlier spans arrive as well. If the collector stopped before it had responded, the first batch is retried and
    // occupies one of the slots.
    let (last, others): (Vec<_>, Vec<_>) =
        collector.spans().into_iter().partition(|span| span["attributes"]["http.target"] == "/last");
    assert_eq!((last.len(), others.len()), (1, 1 + 8), "only the spans that fit into the queue");
}

#[test]
fn batch_is_sent_again_to_unavailable_collector_and_rejected_spans_are_logged() {
    let (collector, server) = server("", "", "location / { return 204; }");
    server.write("spans.sick", "");
    server.get("/");
    server.log_has("gRPC status 14: not now");
    std::fs::remove_file(server.path("spans.sick")).expect("removed");
    collector.servers(1);
    server.write("spans.picky", "");
    server.get("/");
    collector.servers(2);
    server.log_has("rejected 1 spans of a batch (too old)");
}

#[test]
fn reload_and_the_end_of_the_process_send_what_waits() {
    let place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let late = |name: &str| {
        http(&collector, "", &format!("otel_service_name {name};"), "location / { return 204; }")
            .replace("interval 20ms", "interval 1h")
    };
    let first = late("first");
    let mut server = Server::start(place, &first);
    server.get("/one");
    server.reload(&late("second"));
    wait_for("the new configuration", || {
        server.get("/again");
        collector.batches().iter().any(|batch| batch["resource"]["service.name"] == "first")
    });
    assert!(collector.spans().iter().any(|span| span["attributes"]["http.target"] == "/one"));
    server.get("/last");
    server.signal(Signal::QUIT);
    wait_for("the end", || server.ended());
    let last = collector
        .batches()
        .into_iter()
        .find(|batch| batch["resource"]["service.name"] == "second")
        .expect("a batch");
    assert!(
        last["spans"]
            .as_array()
            .expect("spans")
            .iter()
            .any(|span| span["attributes"]["http.target"] == "/last")
    );
}

#[test]
fn spans_go_by_http_where_the_endpoint_has_a_path() {
    let place = Place::new();
    let collector = Collector::start(&place, "http", 0);
    let http = http(&collector, "header X-Key 1;", "", "location / { return 204; }").replace(
        &format!("endpoint 127.0.0.1:{}", collector.port),
        &format!("endpoint http://127.0.0.1:{}/v1/traces", collector.port),
    );
    let server = Server::start(place, &http);
    server.get("/");
    collector.servers(1);
    assert_eq!(collector.batches()[0]["fields"]["x-key"], "1");
    server.write("spans.sick", "");
    server.get("/");
    server.log_has("status 503");
    std::fs::remove_file(server.path("spans.sick")).expect("removed");
    collector.servers(2);
}

#[test]
fn collector_proves_itself_by_tls() {
    let place = Place::new();
    openssl(
        &place,
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.crt",
    );
    openssl(
        &place,
        "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout collector.key -out collector.csr",
    );
    place.write("names", "subjectAltName=DNS:localhost\n");
    openssl(
        &place,
        "x509 -req -in collector.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile names -out collector.crt",
    );
    let collector = Collector::start(&place, "tls", 0);
    let by_tls = |trusted: &str| {
        http(&collector, trusted, "", "location / { return 204; }")
            .replace("endpoint 127.0.0.1", "endpoint https://localhost")
    };
    // Relative to the folder of the configuration.
    let trusting = by_tls("trusted_certificate authority.crt;");
    let doubting = by_tls("");
    let server = Server::start(place, &trusting);
    server.get("/trusted");
    collector.servers(1);
    server.reload(&doubting);
    wait_for("the new configuration", || {
        server.get("/doubted");
        server.read("error.log").contains("OTel export failure: localhost:")
    });
    assert!(server.read("error.log").to_lowercase().contains("certificate"));
    server.write(
        "myriad.conf",
        server.fill(&format!(
            "daemon off; events {{}} http {{ {} }}",
            trusting.replace("authority.crt", "none.crt")
        )),
    );
    let output = server.test_configuration();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("none.crt\" cannot be read"), "{said}");
}

/// The receiver's limit of a message is 4 MB: a longer message is rejected with all its spans.
#[test]
fn batch_is_no_longer_than_a_collector_takes() {
    let place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let conf = http(&collector, "", "large_client_header_buffers 4 16k;", "location / { return 204; }")
        .replace("interval 20ms", "interval 10s");
    let server = Server::start(place, &conf);
    let agent = "a".repeat(8000);
    for number in 0..400 {
        let target = format!("/{number}?{agent}");
        assert_eq!(server.fetch(&Request::get(&target).field("User-Agent", &agent)).status, 204);
    }
    server.signal(Signal::QUIT);
    wait_for("spans", || collector.spans().len() >= 400);
    assert!(!server.read("error.log").contains("OTel export failure"), "{}", server.read("error.log"));
}

/// Runs openssl in the folder of the test. Arguments are separated by spaces and contain none.
fn openssl(place: &Place, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(place.folder())
        .output()
        .expect("openssl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn outage_after_a_rejected_batch_is_logged_again() {
    let status = Arc::new(AtomicU16::new(503));
    let sent = Arc::clone(&status);
    let collector = HttpOrigin::start(move |call| {
        call.answer(&format!("HTTP/1.1 {} X", sent.load(SeqCst)), "");
    });
    let http = format!(
        "otel_exporter {{ endpoint http://{}/v1/traces; interval 20ms; }} otel_trace on;
        server {{ listen 127.0.0.1:@PORT@; location / {{ return 204; }} }}",
        collector.address
    );
    let server = Server::start(Place::new(), &http);
    let count = |text: &str| server.read("error.log").matches(text).count();
    server.get("/");
    server.log_has("is unavailable (");
    status.store(400, SeqCst);
    server.log_has("rejected 1 spans (status 400)");
    assert_eq!(count("is available again"), 1);
    status.store(503, SeqCst);
    server.get("/");
    wait_for("the second outage", || count("is unavailable (") == 2);
    status.store(200, SeqCst);
    wait_for("its end", || count("is available again") == 2);
}

#[test]
fn resource_that_is_not_utf8_is_refused() {
    let server = Server::start(Place::new(), "server { listen 127.0.0.1:@PORT@; }");
    for directive in ["otel_service_name", "otel_resource_attr name"] {
        let text = [b"events {} http { ", directive.as_bytes(), b" '\xff'; }"].concat();
        server.write("myriad.conf", text);
        let tested = server.test_configuration();
        let message = String::from_utf8_lossy(&tested.stderr).into_owned();
        assert!(message.contains("the attribute is not valid UTF-8"), "{directive}: {message}");
    }
}
