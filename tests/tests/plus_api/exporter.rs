//! `prometheus-nginx-exporter` of Debian with Myriad.

use std::process::{Child, Command, Stdio};

use myriad_tests::{Client, Place, Request, wait_for};

use super::{SITE, Site};

/// Running exporter; killed on drop.
struct Exporter {
    child: Child,
    port: u16,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Exporter {
    fn start(uri: &str, arguments: &[&str]) -> Self {
        let port = Place::new().port;
        let child = Command::new("prometheus-nginx-exporter")
            .args(["-nginx.scrape-uri", uri, "-web.listen-address", &format!("127.0.0.1:{port}")])
            .args(arguments)
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus-nginx-exporter is installed");
        Self { child, port }
    }

    /// Returns its metrics: each line that is not a comment.
    fn metrics(&self) -> Vec<String> {
        wait_for("the exporter listens", || Client::try_connect(self.port).is_ok());
        let request = Request::get("/metrics").field("Connection", "close");
        let text = Client::connect(self.port).fetch(&request).text();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }
}

/// Returns the value of a metric, by the prefix of its line.
#[track_caller]
fn value(metrics: &[String], name: &str) -> f64 {
    let line = metrics.iter().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("there is no {name}: {metrics:#?}"));
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
}

#[test]
fn exporter_reads_stub_status() {
    let site = Site::start(SITE);
    let exporter = Exporter::start(&format!("http://127.0.0.1:{}/stub_status", site.server.port), &[]);
    let metrics = exporter.metrics();
    assert!((value(&metrics, "nginx_up") - 1.0).abs() < f64::EPSILON, "{metrics:#?}");
    for name in ["accepted", "active", "handled", "reading", "waiting", "writing"] {
        value(&metrics, &format!("nginx_connections_{name}"));
    }
    assert!(value(&metrics, "nginx_http_requests_total") >= 1.0);
}

#[test]
fn exporter_reads_the_api_as_that_of_nginx_plus() {
    let site = Site::start(SITE);
    for path in ["/", "/", "/missing", "/rare", "/kept"] {
        site.server.get(path);
    }
    let uri = format!("http://127.0.0.1:{}/plus", site.server.port);
    let metrics = Exporter::start(&uri, &["-nginx.plus"]).metrics();
    let is = |name: &str, expected: f64| {
        let value = value(&metrics, name);
        assert!(
            (value - expected).abs() < f64::EPSILON,
            "{name} is {value}, and not {expected}: {metrics:#?}"
        );
    };
    is("nginxplus_up", 1.0);
    for name in ["accepted", "active", "dropped", "idle"] {
        value(&metrics, &format!("nginxplus_connections_{name}"));
    }
    for name in [
        "http_requests_total",
        "http_requests_current",
        "ssl_handshakes",
        "ssl_handshakes_failed",
        "ssl_session_reuses",
    ] {
        value(&metrics, &format!("nginxplus_{name}"));
    }
    let first = format!("server=\"{}\",upstream=\"shop\"", site.one);
    for (name, expected) in
        [("state", 1.0), ("requests", 4.0), ("fails", 0.0), ("unavail", 0.0), ("active", 0.0)]
    {
        is(&format!("nginxplus_upstream_server_{name}{{{first}}}"), expected);
    }
    for name in ["sent", "received", "header_time", "response_time"] {
        value(&metrics, &format!("nginxplus_upstream_server_{name}{{{first}}}"));
    }
    let ok = format!("nginxplus_upstream_server_responses{{code=\"2xx\",{first}}}");
    is(&ok, 3.0);
    is("nginxplus_upstream_zombies{upstream=\"shop\"}", 0.0);
    value(&metrics, "nginxplus_upstream_keepalives{upstream=\"shop\"}");
    let of_server = "server_zone=\"front\"";
    // The requests of the exporter are counted as well.
    assert!(value(&metrics, &format!("nginxplus_server_zone_requests{{{of_server}}}")) >= 5.0);
    is(&format!("nginxplus_server_zone_responses{{code=\"4xx\",{of_server}}}"), 1.0);
    for name in ["processing", "discarded", "received", "sent"] {
        value(&metrics, &format!("nginxplus_server_zone_{name}{{{of_server}}}"));
    }
    is("nginxplus_location_zone_requests{location_zone=\"kept\"}", 1.0);
    is("nginxplus_limit_request_passed{zone=\"often\"}", 1.0);
    is("nginxplus_limit_connection_passed{zone=\"many\"}", 3.0);
}

#[test]
fn stub_status_is_read_as_the_template_of_zabbix_reads_it() {
    let site = Site::start(SITE);
    let text = site.server.get("/stub_status").text();
    let found = |pattern: &str| {
        let pattern = pcre2::bytes::Regex::new(pattern).expect("a pattern");
        let found = pattern.captures(text.as_bytes()).expect("no limit");
        let found = found.unwrap_or_else(|| panic!("{pattern:?} finds nothing in {text}"));
        let group = |group: usize| String::from_utf8_lossy(&found[group]).parse::<u64>();
        (1..found.len()).all(|number| group(number).is_ok())
    };
    let line = r"server accepts handled requests\s+([0-9]+) ([0-9]+) ([0-9]+)";
    for pattern in
        [r"Active connections: ([0-9]+)", line, r"Reading: ([0-9]+) Writing: ([0-9]+) Waiting: ([0-9]+)"]
    {
        assert!(found(pattern), "{pattern}");
    }
}
