//! Metrics of all requests, connections and handshakes.

use super::text::MetricsPage;
use myriad_exchange::traffic::{CACHE_NAMES, TrafficSnapshot, VERSION_NAMES};

/// Appends the metrics of requests and connections of the whole site.
pub(super) fn write(now: &TrafficSnapshot, page: &mut MetricsPage) {
    process(now, page);
    connections(now, page);
    requests(now, page);
    answers(now, page);
    saved(now, page);
    tls(now, page);
}

fn process(now: &TrafficSnapshot, page: &mut MetricsPage) {
    page.gauge("build_info", "Version of the server, always 1")
        .line(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("start_time_seconds", "Start time of the counters, in seconds since the epoch")
        .seconds(&[], now.began_ms * 1000);
}

fn connections(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let of = &now.total;
    page.gauge("connections", "Current client connections, by state")
        .line(&[("state", "reading")], of.reading)
        .line(&[("state", "writing")], of.writing())
        .line(&[("state", "waiting")], of.waiting());
    page.counter("connections_accepted_total", "Client connections accepted").line(&[], of.accepted);
    page.counter("connections_closed_total", "Client connections closed").line(&[], of.closed);
    let mut family = page.counter("worker_requests_total", "Completed requests, by worker thread");
    for (number, worker) in now.workers.iter().enumerate() {
        family.line(&[("worker", &number.to_string())], worker.requests);
    }
    let mut family = page.gauge("worker_connections", "Current client connections, by worker thread");
    for (number, worker) in now.workers.iter().enumerate() {
        family.line(&[("worker", &number.to_string())], worker.active());
    }
}

fn requests(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let mut family = page.counter("requests_total", "Completed requests, by HTTP version");
    for (version, [plain, secure]) in VERSION_NAMES.iter().zip(now.versions) {
        family.line(&[("version", version), ("tls", "no")], plain);
        family.line(&[("version", version), ("tls", "yes")], secure);
    }
    let mut family = page
        .counter("visitor_requests_total", "Completed requests, by class of robot; none for other clients");
    for (class, count) in &now.bots {
        family.line(&[("bot", if class.is_empty() { "none" } else { class })], count);
    }
    page.counter("requests_discarded_total", "Requests completed without a response")
        .line(&[], now.discarded);
    page.counter("received_bytes_total", "Request bytes received").line(&[], now.received);
    page.counter("sent_bytes_total", "Response bytes sent").line(&[], now.total.bytes);
    page.counter("origin_requests_total", "Requests sent to origins").line(&[], now.total.fetches);
}

fn answers(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let mut family = page.counter("responses_total", "Responses, by status");
    for (code, count) in &now.statuses {
        family.line(&[("code", &code.to_string())], count);
    }
    let mut family = page.counter("response_body_bytes_total", "Response body bytes sent, by cache status");
    for (status, of) in CACHE_NAMES.iter().zip(&now.by_cache) {
        family.line(&[("cache", status)], of.bytes);
    }
    let mut family =
        page.histogram("first_byte_seconds", "Time from the request head to the first byte of the response");
    for (status, of) in CACHE_NAMES.iter().zip(&now.by_cache) {
        family.times(&[("cache", status)], &of.first_byte);
    }
    let mut family =
        page.histogram("request_seconds", "Time from the request head to the last byte of the response");
    for (status, of) in CACHE_NAMES.iter().zip(&now.by_cache) {
        family.times(&[("cache", status)], &of.total);
    }
}

fn saved(now: &TrafficSnapshot, page: &mut MetricsPage) {
    page.counter(
        "saved_bytes_total",
        "Bytes saved, by the cache instead of an origin and by content codings",
    )
    .line(&[("by", "cache")], now.saved.cache_bytes)
    .line(&[("by", "coding")], now.saved.coding_bytes);
    page.counter(
        "saved_origin_seconds_total",
        "Origin time saved: each cache hit counts the duration of the fetch of its page",
    )
    .seconds(&[], now.saved.origin_us);
}

fn tls(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let of = &now.tls;
    page.counter("tls_handshakes_total", "TLS handshakes completed").line(&[], of.handshakes);
    page.counter("tls_session_reuses_total", "TLS handshakes that resumed a session")
        .line(&[], of.session_reuses);
    let known = [
        ("no_common_protocol", of.no_common_protocol),
        ("no_common_cipher", of.no_common_cipher),
        ("timeout", of.handshake_timeout),
        ("peer_rejected_cert", of.peer_rejected_cert),
    ];
    let other = of.handshakes_failed.saturating_sub(known.iter().map(|(_, count)| count).sum());
    let mut family = page.counter("tls_handshakes_failed_total", "Failed TLS handshakes, by reason");
    for (reason, count) in known.into_iter().chain([("other", other)]) {
        family.line(&[("reason", reason)], count);
    }
    page.counter("tls_verify_failures_total", "Clients with a missing or invalid certificate, by reason")
        .line(&[("reason", "no_cert")], of.verify_no_cert)
        .line(&[("reason", "expired_cert")], of.verify_expired_cert)
        .line(&[("reason", "revoked_cert")], of.verify_revoked_cert)
        .line(&[("reason", "hostname_mismatch")], of.verify_hostname_mismatch)
        .line(&[("reason", "other")], of.verify_other);
}
