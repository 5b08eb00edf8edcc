//! Counts in the format of Prometheus, with the names of nginx-module-vts. The lines of each metric are consecutive, as
//! the format requires.

use std::fmt::{Display, Write};

use super::json::text as lossy;
use super::report::{PeerTraffic, TrafficReport};
use myriad_exchange::traffic::{DurationSums, TrafficKind, TrafficSums};
use myriad_policy::CacheStatus;

/// Prometheus page of nginx-module-vts being written.
struct VtsPage {
    text: String,
    /// Prefix of the names of metrics.
    prefix: &'static str,
}

/// Traffic counts of a server, filter, origin or cache zone, and its labels.
struct CountedObject<'a> {
    labels: String,
    sums: &'a TrafficSums,
}

impl VtsPage {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        self.push(format_args!("# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n"));
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let prefix = self.prefix;
        if labels.is_empty() {
            self.push(format_args!("{prefix}{name} {value}\n"));
        } else {
            self.push(format_args!("{prefix}{name}{{{labels}}} {value}\n"));
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Appends a metric with several lines per object: one for each value that `figures` returns, distinguished by
    /// `label`.
    fn family<'a, const N: usize>(
        &mut self,
        (name, help): (&str, &str),
        counted: &[CountedObject<'a>],
        figures: impl Fn(&'a TrafficSums) -> [(&'static str, u64); N],
        label: &str,
    ) {
        self.head(name, "counter", help);
        for CountedObject { labels, sums } in counted {
            for (value, figure) in figures(sums) {
                self.line(name, &format!("{labels},{label}=\"{value}\""), figure);
            }
        }
    }

    /// Appends the sum, the average and the histogram of times; `what` is `request` or `response`.
    fn durations(
        &mut self,
        report: &TrafficReport<'_>,
        part: &str,
        what: &str,
        counted: &[CountedObject<'_>],
    ) {
        let of = |sums: &TrafficSums| -> DurationSums {
            if what == "request" { sums.request.clone() } else { sums.response.clone() }
        };
        let total = format!("{part}_{what}_seconds_total");
        self.head(&total, "counter", "Total time in seconds");
        for CountedObject { labels, sums } in counted {
            self.line(&total, labels, seconds(of(sums).sum_ms));
        }
        let average = format!("{part}_{what}_seconds");
        self.head(&average, "gauge", "Average of the most recent times in seconds");
        for CountedObject { labels, sums } in counted {
            self.line(&average, labels, seconds(report.average(&of(sums).times)));
        }
        let histogram = format!("{part}_{what}_duration_seconds");
        self.head(&histogram, "histogram", "Times in seconds");
        for CountedObject { labels, sums } in counted {
            let durations = of(sums);
            if durations.buckets.is_empty() {
                continue;
            }
            for (bound, count) in &durations.buckets {
                let le = seconds(*bound);
                self.line(&format!("{histogram}_bucket"), &format!("{labels},le=\"{le}\""), count);
            }
            self.line(&format!("{histogram}_bucket"), &format!("{labels},le=\"+Inf\""), durations.count);
            self.line(&format!("{histogram}_sum"), labels, seconds(durations.sum_ms));
            self.line(&format!("{histogram}_count"), labels, durations.count);
        }
    }

    /// Appends the metrics that servers, filters and origins have in common.
    fn traffic(&mut self, report: &TrafficReport<'_>, part: &str, counted: &[CountedObject<'_>]) {
        let bytes = format!("{part}_bytes_total");
        self.family((&bytes, "Bytes of requests and responses"), counted, directions, "direction");
        let requests = format!("{part}_requests_total");
        self.family((&requests, "Requests by response status"), counted, classes, "code");
        self.durations(report, part, "request", counted);
    }
}

/// Returns the complete page in the Prometheus text format.
pub(super) fn text(report: &TrafficReport<'_>) -> String {
    let mut page = VtsPage { text: String::with_capacity(16 * 1024), prefix: "nginx_vts_" };
    main(&mut page, report);
    let servers: Vec<CountedObject<'_>> = report
        .of_kind(TrafficKind::Server)
        // A host whose name is that of the sum is counted only in the sum, so that no series occurs twice.
        .filter(|(key, _)| key.name() != report.shown.sum_key.as_bytes())
        .map(|(key, sums)| CountedObject {
            labels: format!("host=\"{}\"", escaped(&lossy(key.name()))),
            sums,
        })
        .collect();
    let total = report.total();
    let sum = CountedObject { labels: format!("host=\"{}\"", escaped(&report.shown.sum_key)), sums: &total };
    let servers: Vec<CountedObject<'_>> = servers.into_iter().chain([sum]).collect();
    page.traffic(report, "server", &servers);
    let cache = ("server_cache_total", "Requests by cache status");
    page.family(cache, &servers, cache_counts, "status");
    let filters: Vec<CountedObject<'_>> = report
        .of_kind(TrafficKind::Filter)
        .map(|(key, sums)| {
            let (group, name) = (escaped(&lossy(key.zone())), escaped(&lossy(key.name())));
            CountedObject { labels: format!("filter=\"{group}\",filter_name=\"{name}\""), sums }
        })
        .collect();
    if !filters.is_empty() {
        page.traffic(report, "filter", &filters);
        let cache = ("filter_cache_total", "Requests by cache status");
        page.family(cache, &filters, cache_counts, "status");
    }
    upstreams(&mut page, report);
    caches(&mut page, report);
    page.text
}

fn main(page: &mut VtsPage, report: &TrafficReport<'_>) {
    let version = env!("CARGO_PKG_VERSION");
    let host = escaped(&lossy(&report.request.runtime().hostname));
    page.head("info", "gauge", "Version of the server");
    let labels = format!("hostname=\"{host}\",module_version=\"{version}\",version=\"Myriad/{version}\"");
    page.line("info", &labels, 1);
    page.head("start_time_seconds", "gauge", "Start time of the server");
    page.line("start_time_seconds", "", seconds(report.began_ms));
    page.head("main_connections", "gauge", "Client connections and their requests");
    let now = &report.connections;
    for (status, count) in [
        ("accepted", now.accepted),
        ("active", now.active()),
        ("handled", now.accepted),
        ("reading", now.reading),
        ("requests", now.begun),
        ("waiting", now.waiting()),
        ("writing", now.writing()),
    ] {
        page.line("main_connections", &format!("status=\"{status}\""), count);
    }
    page.head("main_shm_usage_bytes", "gauge", "Memory used by the counters");
    let most = report.shown.zone.size * report.request.site.worker.all_counters.len() as u64;
    let (used, nodes) = report.used;
    for (size, figure) in [
        ("max_size", most),
        ("used_size", used),
        ("used_node", nodes),
        ("free_size", most.saturating_sub(used)),
    ] {
        page.line("main_shm_usage_bytes", &format!("shared=\"{size}\""), figure);
    }
}

fn upstreams(page: &mut VtsPage, report: &TrafficReport<'_>) {
    let upstreams = report.upstreams();
    let alone = report.of_kind(TrafficKind::Origin).map(|(key, sums)| {
        ("::nogroups", PeerTraffic { address: lossy(key.name()), config: None, sums: sums.clone() })
    });
    let grouped =
        upstreams.into_iter().flat_map(|(name, peers)| peers.into_iter().map(move |peer| (name, peer)));
    let peers: Vec<(&str, PeerTraffic)> = grouped.chain(alone).collect();
    if peers.is_empty() {
        return;
    }
    let counted: Vec<CountedObject<'_>> = peers
        .iter()
        .map(|(upstream, peer)| {
            let labels = format!("upstream=\"{}\",backend=\"{}\"", escaped(upstream), escaped(&peer.address));
            CountedObject { labels, sums: &peer.sums }
        })
        .collect();
    page.traffic(report, "upstream", &counted);
    page.durations(report, "upstream", "response", &counted);
}

fn caches(page: &mut VtsPage, report: &TrafficReport<'_>) {
    let caches = report.caches();
    if caches.is_empty() {
        return;
    }
    page.head("cache_usage_bytes", "gauge", "Size of cache zones");
    for (name, _, (most, used)) in &caches {
        let zone = escaped(name);
        for (size, figure) in [("max", most), ("used", used)] {
            page.line("cache_usage_bytes", &format!("cache_zone=\"{zone}\",cache_size=\"{size}\""), figure);
        }
    }
    let counted: Vec<CountedObject<'_>> = caches
        .iter()
        .map(|(name, sums, _)| CountedObject { labels: format!("cache_zone=\"{}\"", escaped(name)), sums })
        .collect();
    page.family(("cache_bytes_total", "Bytes of requests and responses"), &counted, directions, "direction");
    page.family(("cache_requests_total", "Requests by cache status"), &counted, cache_counts, "status");
}

fn directions(sums: &TrafficSums) -> [(&'static str, u64); 2] {
    [("in", sums.in_bytes), ("out", sums.out_bytes)]
}

fn classes(sums: &TrafficSums) -> [(&'static str, u64); 5] {
    let [one, two, three, four, five] = sums.classes;
    [("1xx", one), ("2xx", two), ("3xx", three), ("4xx", four), ("5xx", five)]
}

fn cache_counts(sums: &TrafficSums) -> [(&'static str, u64); 8] {
    let of = |status: CacheStatus| sums.cache[status as usize];
    [
        ("miss", of(CacheStatus::Miss)),
        ("bypass", of(CacheStatus::Bypass)),
        ("expired", of(CacheStatus::Expired)),
        ("stale", of(CacheStatus::Stale)),
        ("updating", of(CacheStatus::Updating)),
        ("revalidated", of(CacheStatus::Revalidated)),
        ("hit", of(CacheStatus::Hit)),
        ("scarce", 0),
    ]
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Escapes a label value, which a client may have chosen.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            letter => out.push(letter),
        }
    }
    out
}
