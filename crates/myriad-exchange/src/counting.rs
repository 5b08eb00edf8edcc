//! Counting of client requests when they start and when they finish.

use std::rc::Rc;

use myriad_net::Connection;

use crate::exchange::{Exchange, Request};
use crate::runtime::Generation;
use crate::traffic::{Served, TlsEnd};

/// Counts the start of a request in the counters of its virtual server. Called once the server is known.
pub fn begin(request: &Request) {
    request.server().traffic.begin(request.site.worker.number);
}

/// Counts a finished request in the counters of its worker, virtual server, cache zone and `status_zone`, and by the
/// counting feature of its location (`vhost_traffic_status`) if that is enabled. Called after the request's outcome has
/// been recorded.
pub fn end(exchange: &mut Exchange) {
    count_common(&exchange.request);
    if exchange.request.place().logs.counting.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(counting) = &site.runtime.place(exchange.request.route.place).logs.counting {
        counting.count(exchange);
    }
}

/// Counts a TLS handshake with the result `end`, for the worker and for the server that the client named, or the
/// default server of the listener.
pub fn handshake(site: &Generation, connection: &Connection, end: TlsEnd) {
    let runtime = &site.runtime;
    site.worker.counters.served.count_handshake(end);
    if let Some(server) = runtime.server_of(connection) {
        runtime.server(server).traffic.count_handshake(site.worker.number, end);
    }
}

/// Counts a client certificate that failed verification by the server of a request. `code` is OpenSSL's error code; 0
/// means that the client sent no certificate although one is required.
pub fn unverified(request: &Request, code: u32) {
    let worker = &request.site.worker;
    worker.counters.served.count_handshake(TlsEnd::Unverified(code));
    request.server().traffic.count_handshake(worker.number, TlsEnd::Unverified(code));
}

/// Counts a finished request: its cache status in the counters of the cache zone, its status and sizes in the counters
/// of the server and of the location's `status_zone`, and its status, sizes and times in the counters of this worker.
/// Costs a few loads and stores in memory of this worker.
fn count_common(request: &Request) {
    let (sent, outcome) = (&request.outcome.sent, &request.outcome);
    request.count_cache_status(sent.body_bytes);
    let worker = &request.site.worker;
    let place = request.place();
    request.server().traffic.end(worker.number, sent.status, sent.request_bytes, sent.bytes);
    if let Some(zone) = &place.logs.traffic {
        zone.end(worker.number, sent.status, sent.request_bytes, sent.bytes);
    }
    let took = |until_us: u64| until_us.saturating_sub(request.received.at_us);
    let first_us = if sent.first_us > 0 { sent.first_us } else { outcome.finished_us };
    worker.counters.served.add(&Served {
        version: request.received.head.version(),
        secure: request.received.connection.tls().is_some(),
        cache: request.cache.report.status,
        status: sent.status,
        received: sent.request_bytes,
        body: sent.body_bytes,
        uncoded: uncoded(request),
        times_us: (took(first_us), took(outcome.finished_us)),
        spared_us: u64::from(request.cache.report.saved_ms) * 1000,
        class: place.logs.classes.as_ref().map_or(&b""[..], |classes| classes.class(request)),
    });
}

/// Returns the size of the sent body before compression by this server, in bytes; 0 if it was not compressed, if there
/// was no body, or if it was not sent completely.
fn uncoded(request: &Request) -> u64 {
    let (sent, answered) = (&request.outcome.sent, &request.outcome.head);
    if sent.body_bytes == 0 || !sent.complete {
        return 0;
    }
    answered.encoding_sizes.as_ref().map_or(answered.uncompressed, |tally| tally.taken.get())
}
