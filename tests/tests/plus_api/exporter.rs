//! `prometheus-nginx-exporter`, as Debian packages it, before Myriad.

use std::process::{Child, Command, Stdio};

use myriad_tests::{Client, Place, Request, wait_for};

use super::{SITE, Site};

/// A running exporter, ended when dropped.
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

    /// Its metrics: each line that is no comment.
    fn metrics(&self) -> Vec<String> {
        wait_for("the exporter listens", || Client::try_connect(self.port).is_ok());
        let request = Request::get("/metrics").field("Connection", "close");
        let text = Client::connect(self.port).fetch(&request).text();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }
}

/// The value of a metric, by the beginning of its line.
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
