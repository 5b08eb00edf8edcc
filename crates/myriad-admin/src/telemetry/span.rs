//! Creation of the OpenTelemetry span of a finished request.

use myriad_base::digits::decimal;
use myriad_net::clock::to_wall_us;
use std::net::IpAddr;

use crate::telemetry::trace::{SpanKind, SpanWriter};
use myriad_exchange::exchange::digits::address;
use myriad_exchange::exchange::{Exchange, Request, RequestTrace};
use myriad_http::{HttpVersion, Known};
use myriad_log::LogLevel;
use myriad_net::ClientAddress;
use myriad_script::Frame;

use crate::telemetry::tracing_rules::TracingRules;

/// Name prefixes of `otel_span_attr` attributes whose value is sent as a list with one text, as in nginx. The rest of
/// such a name is a header field.
const LISTS: [&str; 2] = ["http.request.header.", "http.response.header."];

/// Returns the encoded span of a request: the attributes of nginx's module, those of `otel_span_attr` (omitted and
/// logged if they cannot be evaluated), the cache status with its reason, and the class of the client (`$bot`).
pub(crate) fn of(place: &TracingRules, traced: &RequestTrace, exchange: &mut Exchange) -> Vec<u8> {
    let Exchange { request, frame } = exchange;
    let name = name(place, request, frame);
    let times = (to_wall_us(request.received.at_us), to_wall_us(request.outcome.finished_us));
    let parent = traced.parent.map(|parent| parent.span);
    let mut span = SpanWriter::new(traced.trace, traced.span, parent, (SpanKind::Server, &name), times);
    span.state(traced.state.as_deref());
    add_request_attributes(&mut span, place, request);
    add_response_attributes(&mut span, request);
    add_peer_attributes(&mut span, request);
    add_myriad_attributes(&mut span, request);
    for (name, value) in &place.attributes {
        let mut text = Vec::new();
        if let Err(error) = value.eval(request, frame, &mut text) {
            request.log(LogLevel::Error, format_args!("otel_span_attr: {error}"));
            continue;
        }
        if LISTS.iter().any(|list| name.starts_with(list)) {
            span.list(name, &text);
        } else {
            span.text(name, &text);
        }
    }
    span.finish()
}

fn name(place: &TracingRules, request: &Request, frame: &mut Frame) -> Vec<u8> {
    let mut name = Vec::new();
    if let Some(template) = &place.name
        && let Err(error) = template.eval(request, frame, &mut name)
    {
        request.log(LogLevel::Error, format_args!("otel_span_name: {error}"));
    }
    if name.is_empty() {
        name.extend_from_slice(&place.route);
    }
    if name.is_empty() {
        name.extend_from_slice(request.received.head.method_bytes());
    }
    name
}

/// Adds the attributes of the request, with the names of OpenTelemetry 1.16 that nginx uses.
fn add_request_attributes(span: &mut SpanWriter, place: &TracingRules, request: &Request) {
    let head = &request.received.head;
    span.text("http.method", head.method_bytes());
    span.text("http.target", head.target());
    if !place.route.is_empty() {
        span.text("http.route", &place.route);
    }
    span.text("http.scheme", request.scheme().as_bytes());
    span.text(
        "http.flavor",
        match head.version() {
            HttpVersion::Http10 => b"1.0",
            HttpVersion::Http11 => b"1.1",
            HttpVersion::Http2 => b"2.0",
            HttpVersion::Http3 => b"3.0",
        },
    );
    if let Some(agent) = head.known(Known::UserAgent) {
        span.text("http.user_agent", agent);
    }
    let length = head.known(Known::ContentLength).and_then(decimal);
    span.number("http.request_content_length", length.unwrap_or(0));
}

fn add_response_attributes(span: &mut SpanWriter, request: &Request) {
    span.number("http.response_content_length", request.outcome.sent.body_bytes);
    let status = request.status();
    if status > 0 {
        span.number("http.status_code", u64::from(status));
    }
    if status >= 500 {
        span.set_error_status();
    }
}

/// Adds the server's name, or the request's host if the server has no name; the local port, unless it is the default of
/// the scheme or unknown; and the client's address and port, as reported by a trusted proxy if there is one. An unknown
/// client port is 0.
fn add_peer_attributes(span: &mut SpanWriter, request: &Request) {
    let name = &request.server().name;
    span.text("net.host.name", if name.is_empty() { &request.route.host[..] } else { &name[..] });
    let usual = if request.scheme() == "https" { 443 } else { 80 };
    if let Some(local) = request.received.connection.local().filter(|local| local.port() != usual) {
        span.number("net.host.port", u64::from(local.port()));
    }
    span.text("net.sock.peer.addr", &shown(request.client()));
    let port = match (request.received.real, request.received.connection.peer) {
        (Some(real), _) => real.port(),
        (None, ClientAddress::Inet(peer)) => peer.port(),
        (None, _) => 0,
    };
    span.number("net.sock.peer.port", u64::from(port));
}

fn shown(client: Option<IpAddr>) -> Vec<u8> {
    let mut out = Vec::new();
    address(&mut out, client);
    out
}

/// Adds attributes that nginx does not send: cache status and reason, and the class of the client (`$bot`), if known.
fn add_myriad_attributes(span: &mut SpanWriter, request: &Request) {
    let shown = &request.cache.report;
    if let Some(status) = shown.status {
        span.text("myriad.cache.status", status.as_str().as_bytes());
    }
    if let Some(reason) = shown.whole_reason() {
        span.text("myriad.cache.reason", reason.as_bytes());
    }
    let class = request.place().logs.classes.as_ref().map_or(&b""[..], |classes| classes.class(request));
    if !class.is_empty() {
        // A prefetching browser has a class, but is not a robot.
        if class != b"prefetch" {
            span.text("user_agent.synthetic.type", b"bot");
        }
        span.text("myriad.visitor.class", class);
    }
}
