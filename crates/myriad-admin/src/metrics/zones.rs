//! Metrics of servers, locations and cache zones.

use std::sync::atomic::Ordering::Relaxed;

use super::text::MetricsPage;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::traffic::{CACHE_NAMES, CacheZoneCount, TrafficSnapshot, ZoneSums};
use myriad_store::page::PageZone;

/// Values of the label `code` for classes of response statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Appends the metrics of cache zones and of traffic zones (`status_zone`).
pub(super) fn write(now: &TrafficSnapshot, runtime: &Runtime, page: &mut MetricsPage) {
    let mut family = page.gauge("server_requests_processing", "Requests in flight, by server zone");
    for zone in &now.servers {
        family.line(&[("server_zone", &zone.name)], zone.processing);
    }
    traffic(&now.servers, &SERVERS, page);
    traffic(&now.locations, &LOCATIONS, page);
    cache_counts(now, page);
    cache_sizes(runtime, page);
}

/// Names of the metrics for a kind of traffic zone (servers, locations).
struct ZoneMetricNames {
    label: &'static str,
    requests: &'static str,
    responses: &'static str,
    discarded: &'static str,
    received: &'static str,
    sent: &'static str,
}

const SERVERS: ZoneMetricNames = ZoneMetricNames {
    label: "server_zone",
    requests: "server_requests_total",
    responses: "server_responses_total",
    discarded: "server_discarded_total",
    received: "server_received_bytes_total",
    sent: "server_sent_bytes_total",
};

const LOCATIONS: ZoneMetricNames = ZoneMetricNames {
    label: "location_zone",
    requests: "location_requests_total",
    responses: "location_responses_total",
    discarded: "location_discarded_total",
    received: "location_received_bytes_total",
    sent: "location_sent_bytes_total",
};

fn traffic(zones: &[ZoneSums], names: &ZoneMetricNames, page: &mut MetricsPage) {
    let one = |page: &mut MetricsPage, name, help, of: fn(&ZoneSums) -> u64| {
        let mut family = page.counter(name, help);
        for zone in zones {
            family.line(&[(names.label, &zone.name)], of(zone));
        }
    };
    one(page, names.requests, "Requests, by zone", |zone| zone.requests);
    let mut family = page.counter(names.responses, "Responses, by zone and status class");
    for zone in zones {
        for (class, count) in CLASSES.iter().zip(zone.classes()) {
            family.line(&[(names.label, &zone.name), ("code", class)], count);
        }
    }
    one(page, names.discarded, "Requests completed without a response, by zone", |zone| zone.discarded);
    one(page, names.received, "Request bytes received, by zone", |zone| zone.received);
    one(page, names.sent, "Response bytes sent, by zone", |zone| zone.sent);
}

fn cache_counts(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let one = |page: &mut MetricsPage, name, help, of: fn(&CacheZoneCount) -> u64| {
        let mut family = page.counter(name, help);
        for zone in &now.caches {
            for (status, count) in CACHE_NAMES.iter().zip(&zone.by_status) {
                family.line(&[("zone", &zone.name), ("cache", status)], of(count));
            }
        }
    };
    one(page, "cache_requests_total", "Requests, by cache zone and cache status", |of| of.responses);
    one(page, "cache_body_bytes_total", "Response body bytes sent, by cache zone and cache status", |of| {
        of.bytes
    });
    one(page, "cache_stored_total", "Pages stored, by cache zone and cache status", |of| {
        of.responses_written
    });
    one(
        page,
        "cache_stored_bytes_total",
        "Response body bytes stored, by cache zone and cache status",
        |of| of.bytes_written,
    );
}

fn cache_sizes(runtime: &Runtime, page: &mut MetricsPage) {
    let mut zones: Vec<_> = runtime.zones.values().map(|zone| &zone.zone).collect();
    zones.sort_by(|one, other| one.name().cmp(other.name()));
    let memory: Vec<_> = zones.iter().map(|zone| (zone.name(), zone.stats())).collect();
    let disk: Vec<_> = zones
        .iter()
        .filter_map(|zone| Some((zone.name(), zone.disk_stats()?, zone.disk_limits()?)))
        .collect();
    let mut family = page.gauge("cache_size_bytes", "Current size of a cache zone in bytes, by tier");
    for (name, stats) in &memory {
        family.line(&[("zone", name), ("tier", "memory")], stats.bytes.saturating_sub(stats.unused_notes));
    }
    for (name, stats, _) in &disk {
        family.line(&[("zone", name), ("tier", "disk")], stats.bytes);
    }
    let mut family = page
        .gauge("cache_limit_bytes", "Maximum size of a cache zone in bytes, by tier; absent if unlimited");
    for (name, stats) in &memory {
        family.line(&[("zone", name), ("tier", "memory")], stats.limit_bytes);
    }
    for (name, _, limits) in disk.iter().filter(|(_, _, limits)| limits.max_bytes < u64::MAX) {
        family.line(&[("zone", name), ("tier", "disk")], limits.max_bytes);
    }
    let mut family = page.gauge("cache_pages", "Current number of pages in a cache zone, by tier");
    for (name, stats) in &memory {
        family.line(&[("zone", name), ("tier", "memory")], stats.objects);
    }
    for (name, stats, _) in &disk {
        family.line(&[("zone", name), ("tier", "disk")], stats.files);
    }
    let mut family = page.counter(
        "cache_evicted_total",
        "Cache keys evicted from memory and files evicted from disk to make room, by tier",
    );
    for (name, stats) in &memory {
        family.line(&[("zone", name), ("tier", "memory")], stats.evictions);
    }
    for (name, stats, _) in &disk {
        family.line(&[("zone", name), ("tier", "disk")], stats.evictions);
    }
    zone_counters(runtime, &LEAK_GUARD, page);
    zone_counters(runtime, &OPTIMIZER, page);
    let mut family = page.counter("cache_purged_total", "Pages removed from memory by purges");
    for (name, stats) in &memory {
        family.line(&[("zone", name)], stats.purged);
    }
}

/// Name, description and value of a counter of a cache zone.
type ZoneCounter = (&'static str, &'static str, fn(&PageZone) -> u64);

static LEAK_GUARD: [ZoneCounter; 8] = [
    (
        "cache_leaks_total",
        "Findings of the leak guard: responses with data of a visitor, and pages that depend on an input which is not in their key",
        |zone| zone.leaks.found(),
    ),
    ("cache_leak_checks_total", "Requests to origins that verified a leak", |zone| {
        zone.leaks.verifications()
    }),
    (
        "cache_leak_unsearched_total",
        "Responses that were not shared because they could not be searched for data of the visitor",
        |zone| zone.leaks.unsearched(),
    ),
    (
        "cache_leak_samples_total",
        "Stored pages that the leak guard verified by requests of the server",
        |zone| zone.leak_samples.counts.pages.load(Relaxed),
    ),
    ("cache_leak_sample_requests_total", "Requests to origins that verified stored pages", |zone| {
        zone.leak_samples.counts.requests.load(Relaxed)
    }),
    (
        "cache_leak_sample_milliseconds_total",
        "Time that origins needed for requests that verified stored pages, in milliseconds",
        |zone| zone.leak_samples.counts.origin_ms.load(Relaxed),
    ),
    ("cache_leak_samples_over_budget_total", "Verifications that the budget did not permit", |zone| {
        zone.leak_samples.counts.over_budget.load(Relaxed)
    }),
    ("cache_leak_samples_unstable_total", "Verifications of pages that differ at each request", |zone| {
        zone.leak_samples.counts.unstable.load(Relaxed)
    }),
];

static OPTIMIZER: [ZoneCounter; 8] = [
    ("cache_optimized_forms_total", "Optimized forms of stored pages", |zone| {
        zone.optimized.forms.load(Relaxed)
    }),
    (
        "cache_optimizer_unchanged_total",
        "Stored pages without an optimized form: they cannot be optimized, or no filter changed them",
        |zone| zone.optimized.unchanged.load(Relaxed),
    ),
    (
        "cache_optimized_forms_revoked_total",
        "Optimized forms whose use ended because a style sheet, script or image had changed",
        |zone| zone.optimized.revoked.load(Relaxed),
    ),
    (
        "cache_optimizer_saved_bytes_total",
        "Bytes by which optimized forms are shorter than their pages",
        |zone| zone.optimized.bytes_saved.load(Relaxed),
    ),
    (
        "cache_optimizer_milliseconds_total",
        "Time of the threads that optimized pages and images, in milliseconds",
        |zone| zone.optimized.filter_ms.load(Relaxed),
    ),
    ("cache_optimized_images_total", "WebP copies of images", |zone| {
        zone.optimized.image_copies.load(Relaxed)
    }),
    (
        "cache_optimizer_unchanged_images_total",
        "Images without a WebP copy: it would not be smaller, or may look different",
        |zone| zone.optimized.images_unchanged.load(Relaxed),
    ),
    (
        "cache_optimizer_saved_image_bytes_total",
        "Bytes by which WebP copies are shorter than their images",
        |zone| zone.optimized.image_bytes_saved.load(Relaxed),
    ),
];

fn zone_counters(runtime: &Runtime, counters: &[ZoneCounter], page: &mut MetricsPage) {
    let mut zones: Vec<_> = runtime.zones.iter().map(|(name, zone)| (name.as_str(), zone)).collect();
    zones.sort_by_key(|(name, _)| *name);
    for (name, help, value) in counters {
        let mut family = page.counter(name, help);
        for (zone_name, zone) in &zones {
            family.line(&[("zone", zone_name)], value(zone));
        }
    }
}
