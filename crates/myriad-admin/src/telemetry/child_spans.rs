//! Child spans of a request's span: one for each attempt at an origin and one for each wait.

use crate::telemetry::trace::{SpanKind, SpanWriter};
use myriad_base::digits::decimal;
use myriad_exchange::exchange::{Request, RequestTrace};
use myriad_net::clock::to_wall_us;
use myriad_upstream::Attempt;

use crate::telemetry::ids;

/// Maximum number of attempts to contact an origin for which a request gets child spans.
const MOST_TRIES: usize = 32;

/// Returns the encoded child spans of a finished request: one for each recorded interval in which it waited, then one
/// for each of its first [`MOST_TRIES`] attempts to contact an origin.
pub(crate) fn of(traced: &RequestTrace, request: &Request) -> Vec<Vec<u8>> {
    let now_us = request.outcome.finished_us;
    let waits = traced.waits.borrow();
    let mut spans: Vec<_> = waits
        .iter()
        .map(|wait| child_span(traced, (SpanKind::Internal, wait.what.as_bytes()), wait.times_us).finish())
        .collect();
    if let Some(origin) = &request.origin {
        let tries = origin.attempts.get();
        spans.extend(
            tries.iter().take(MOST_TRIES).map(|attempt| attempt_span(traced, request, attempt, now_us)),
        );
    }
    spans
}

/// Creates a child span of the request's span. `what` is its kind and name; `times_us` are its start and end on the
/// process clock, in microseconds.
fn child_span(traced: &RequestTrace, what: (SpanKind, &[u8]), times_us: (u64, u64)) -> SpanWriter {
    let times_us = (to_wall_us(times_us.0), to_wall_us(times_us.1));
    let mut span = SpanWriter::new(traced.trace, ids::span(), Some(traced.span), what, times_us);
    span.state(traced.state.as_deref());
    span
}

/// Returns the span of one attempt at an origin, with the attributes of the semantic conventions for HTTP clients. It
/// covers the time up to the complete response, or up to the completion of the request if there was none. The end of
/// connecting and the arrival of the response head are events of the span.
fn attempt_span(traced: &RequestTrace, request: &Request, attempt: &Attempt, now_us: u64) -> Vec<u8> {
    let began_us = now_us.saturating_sub(attempt.age_ms() * 1000);
    let after = |ms: u64| began_us + ms * 1000;
    let end_us = attempt.response_ms.map_or(now_us, after);
    let method = request.received.head.method_bytes();
    let mut span = child_span(traced, (SpanKind::Client, method), (began_us, end_us));
    span.text("http.request.method", method);
    let (address, port) = split(&attempt.address);
    span.text("server.address", address.as_bytes());
    if let Some(port) = port {
        span.number("server.port", port);
    }
    span.text("myriad.upstream", attempt.group.as_bytes());
    span.flag("myriad.connection.reused", attempt.reused);
    if attempt.status > 0 {
        span.number("http.response.status_code", u64::from(attempt.status));
    }
    if attempt.response_ms.is_some() {
        span.number("http.response.body.size", attempt.response_length);
    }
    if let Some(ms) = attempt.connect_ms {
        span.event("connected", after(ms));
    }
    if let Some(ms) = attempt.header_ms {
        span.event("response head", after(ms));
    }
    if attempt.status >= 400 {
        span.set_error_status();
    }
    span.finish()
}

/// Splits an address into host and port; `None` without a port, as for the path of a Unix socket (which is returned as
/// the host).
fn split(address: &str) -> (&str, Option<u64>) {
    let parts = address.rsplit_once(':').and_then(|(host, port)| Some((host, decimal(port)?)));
    match parts {
        Some((host, port)) if !address.starts_with("unix:") => (host, Some(port)),
        _ => (address, None),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn origin_address_is_split_into_host_and_port() {
        assert_eq!(split("127.0.0.1:80"), ("127.0.0.1", Some(80)));
        assert_eq!(split("[::1]:9000"), ("[::1]", Some(9000)));
        assert_eq!(split("unix:/run/php.sock"), ("unix:/run/php.sock", None));
        assert_eq!(split("unix:/run/php:1"), ("unix:/run/php:1", None));
        assert_eq!(split("backend"), ("backend", None));
    }
}
