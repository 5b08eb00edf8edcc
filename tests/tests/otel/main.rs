//! Tracing: propagation of the trace context to origins, and export of spans to a collector.
//!
//! covers: otel_exporter otel_resource_attr otel_service_name otel_span_attr otel_span_name otel_trace otel_trace_context

mod export;
mod origins;

use myriad_tests::{HttpOrigin, Origin, Place, Request, Server};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b9c7c989f97918e1";
const STATE: &str = "congo=ucfJifl5GOE,rojo=00f067aa0ba902b7";

/// No process listens at this address: propagation does not depend on it.
const EXPORTER: &str = "otel_exporter { endpoint 127.0.0.1:1; }";

pub(crate) fn sent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

/// Returns a request of a client with a trace context.
pub(crate) fn traced(target: &str) -> Request {
    Request::get(target).field("Traceparent", &sent("01")).field("Tracestate", STATE)
}

/// Returns an origin that responds with the trace context that it received.
fn telling_origin() -> HttpOrigin {
    HttpOrigin::start(|call| {
        let told = |name| call.field(name).unwrap_or("none").to_owned();
        let text = format!("{} {}", told("traceparent"), told("tracestate"));
        call.answer("HTTP/1.1 200 OK", text);
    })
}

/// Returns a site whose locations use each propagation mode; a response field contains the trace of the request.
fn site(origin: &HttpOrigin) -> String {
    format!(
        "{EXPORTER} otel_trace on; add_header X-Id $otel_trace_id-$otel_span_id;
        server {{ listen 127.0.0.1:@PORT@;
            location / {{ proxy_pass http://{0}; }}
            location /extract {{ otel_trace_context extract; proxy_pass http://{0}; }}
            location /inject {{ otel_trace_context inject; proxy_pass http://{0}; }}
            location /propagate {{ otel_trace_context propagate; proxy_pass http://{0}; }}
            location /sampled {{ otel_trace $otel_parent_sampled; otel_trace_context propagate; proxy_pass http://{0}; }}
            location /off {{ otel_trace off; otel_trace_context propagate; proxy_pass http://{0}; }}
            location /late {{ try_files /none /inject; }}
            location /parts {{ ssi on; default_type text/html; return 200 '<!--#include virtual=\"/inject\" -->'; }}
            location /again {{ otel_trace off; otel_trace_context inject; try_files /none /propagate; }}
        }}",
        origin.address
    )
}

#[test]
fn origin_gets_trace_context_in_each_propagation_mode() {
    let origin = telling_origin();
    let server = Server::start(Place::new(), &site(&origin));
    let theirs = format!("{} {STATE}", sent("01"));
    for (target, expected) in [("/", &*theirs), ("/extract", &*theirs)] {
        let answer = server.fetch(&traced(target));
        assert_eq!(answer.text(), expected, "{target}");
        let is_theirs = answer.field("X-Id").expect("a field").starts_with(TRACE);
        assert_eq!(is_theirs, target == "/extract", "{target}");
    }
    for (target, state) in [("/inject", "none"), ("/propagate", STATE)] {
        let answer = server.fetch(&traced(target));
        let id = answer.field("X-Id").expect("a field").to_owned();
        assert_eq!(answer.text(), format!("00-{id}-01 {state}"), "{target}");
        assert_eq!(id.starts_with(TRACE), target == "/propagate", "{target}");
        assert!(!id.contains(PARENT), "{target}: a span of its own");
    }
    // After an internal redirect or in a subrequest, the final location determines the propagation.
    for target in ["/late", "/parts"] {
        let answer = server.fetch(&traced(target));
        let id = answer.field("X-Id").expect("a field").to_owned();
        assert_eq!(answer.text(), format!("00-{id}-01 none"), "{target}");
    }
}

/// The fetch of a shared page uses a trace context of this server, not of a client.
#[test]
fn fetch_for_everybody_never_carries_what_a_visitor_calls_its_trace() {
    let origin = telling_origin();
    let rules = "proxy_cache pages; proxy_cache_valid 200 1m; shared_fetch_headers on;";
    let conf = format!(
        "{EXPORTER} otel_trace on; proxy_cache_path cache keys_zone=pages:1m;
        server {{ listen 127.0.0.1:@PORT@;
            location / {{ try_files /none @origin; }}
            location @origin {{ otel_trace_context inject; {rules} proxy_pass http://{}; }} }}",
        origin.address
    );
    let server = Server::start(Place::new(), &conf);
    let answer =
        server.fetch(&Request::get("/page").field("Traceparent", "evil").field("Tracestate", "evil"));
    assert!(answer.text().starts_with("00-") && answer.text().ends_with("-01 none"), "{}", answer.text());
}

#[test]
fn trace_without_a_parent_begins_here() {
    let origin = telling_origin();
    let server = Server::start(Place::new(), &site(&origin));
    assert_eq!(server.get("/extract").text(), "none none");
    let answer = server.get("/propagate");
    let id = answer.field("X-Id").expect("a field").to_owned();
    assert_eq!(answer.text(), format!("00-{id}-01 none"));
    assert_ne!(server.get("/propagate").field("X-Id"), Some(&*id));
}

#[test]
fn sampled_flag_is_propagated_and_unchanged_by_internal_redirect() {
    let origin = telling_origin();
    let server = Server::start(Place::new(), &site(&origin));
    let flags = |request: &Request| {
        let text = server.fetch(request).text();
        text.split(' ').next().and_then(|parent| parent.rsplit('-').next()).unwrap_or_default().to_owned()
    };
    assert_eq!(flags(&traced("/sampled")), "01");
    assert_eq!(flags(&Request::get("/sampled").field("traceparent", &sent("00"))), "00");
    assert_eq!(flags(&Request::get("/sampled")), "00");
    assert_eq!(flags(&traced("/off")), "00");
    assert_eq!(flags(&traced("/again")), "00", "the first location decides");
}

#[test]
fn traceparent_that_is_not_valid_is_replaced_and_nothing_of_it_goes_on() {
    let origin = telling_origin();
    let server = Server::start(Place::new(), &site(&origin));
    let upper = sent("01").to_uppercase();
    let later = format!("{}-more", sent("01").replacen("00-", "cc-", 1));
    for bad in ["", "x", "00-0-0-0", &upper, &sent("01")[..54], &format!("{}x", sent("01")), "00-\t<script>"]
    {
        let request = Request::get("/propagate").field("traceparent", bad).field("tracestate", STATE);
        let answer = server.fetch(&request);
        let id = answer.field("X-Id").expect("a field");
        assert_eq!(answer.text(), format!("00-{id}-01 none"), "{bad}");
        assert!(!id.starts_with(TRACE), "{bad}");
    }
    let answer = server.fetch(&Request::get("/propagate").field("traceparent", &later));
    assert!(answer.text().starts_with(&format!("00-{TRACE}-")), "a later version is read as the first");
    // Duplicate fields are ignored (W3C Trace Context section 3.2), and a state with one invalid member is omitted.
    let twice =
        Request::get("/propagate").field("traceparent", &sent("01")).field("traceparent", &sent("01"));
    assert!(!server.fetch(&twice).text().contains(TRACE));
    let bad_state =
        Request::get("/propagate").field("traceparent", &sent("01")).field("tracestate", "a=1,B=\t2");
    assert!(server.fetch(&bad_state).text().ends_with("-01 none"));
}

#[test]
fn share_of_traces_follows_from_their_numbers() {
    let origin = telling_origin();
    let http = format!(
        "{EXPORTER} split_clients $otel_trace_id $sampled {{ 50% on; * off; }}
        server {{ listen 127.0.0.1:@PORT@;
            location / {{ otel_trace $sampled; otel_trace_context propagate; proxy_pass http://{}; }} }}",
        origin.address
    );
    let server = Server::start(Place::new(), &http);
    let mut client = server.connect();
    let sampled = (0..200).filter(|_| client.fetch(&Request::get("/")).text().contains("-01 ")).count();
    assert!((40..=160).contains(&sampled), "{sampled} of 200");
    let first = server.fetch(&traced("/")).text().contains("-01 ");
    for _ in 0..20 {
        assert_eq!(
            server.fetch(&traced("/")).text().contains("-01 "),
            first,
            "the same trace, the same decision"
        );
    }
}

#[test]
fn fastcgi_application_gets_trace_parameter_that_client_cannot_forge() {
    let origin = Origin::start(|call| {
        let text = format!("{} {}", call.param("HTTP_TRACEPARENT"), call.param("HTTP_TRACESTATE"));
        call.answer("X-Told: yes", text);
    });
    let http = format!(
        "{EXPORTER} otel_trace on; otel_trace_context propagate; add_header X-Id $otel_trace_id-$otel_span_id;
        fastcgi_cache_path @DIR@/zone keys_zone=zone:1m;
        server {{ listen 127.0.0.1:@PORT@;
            location / {{ fastcgi_pass {0}; fastcgi_param SCRIPT_NAME /; }}
            location /cached {{ fastcgi_pass {0}; fastcgi_param SCRIPT_NAME /; fastcgi_cache zone; fastcgi_cache_valid 1h;
                fastcgi_cache_key $uri; shared_fetch_headers on; add_header X-Id $otel_trace_id-$otel_span_id;
                add_header X-Cache $upstream_cache_status; }}
        }}",
        origin.address
    );
    let server = Server::start(Place::new(), &http);
    let answer = server.fetch(&traced("/"));
    let id = answer.field("X-Id").expect("a field").to_owned();
    assert_eq!(answer.text(), format!("00-{id}-01 {STATE}"));
    // The fetch of a shared page belongs to this client's trace, but contains no value that the client sent.
    let first = server.fetch(&traced("/cached"));
    let id = first.field("X-Id").expect("a field").to_owned();
    assert!(id.starts_with(TRACE));
    assert_eq!((first.field("X-Cache"), first.text()), (Some("MISS"), format!("00-{id}-01 ")));
    for _ in 0..3 {
        let hit = server.fetch(&traced("/cached"));
        assert_eq!((hit.field("X-Cache"), hit.text()), (Some("HIT"), first.text()));
        assert_ne!(hit.field("X-Id"), Some(&*id), "a hit has its own span");
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn http2_requests_propagate_trace_context() {
    let origin = telling_origin();
    let http = format!(
        "{EXPORTER} otel_trace on; otel_trace_context propagate;
        server {{ listen 127.0.0.1:@PORT@; http2 on;
            location / {{ proxy_pass http://127.0.0.1:@PORT@/inner/; proxy_http_version 2; }}
            location /inner/ {{ otel_trace off; otel_trace_context ignore; proxy_pass http://{}; }} }}",
        origin.address
    );
    let server = Server::start(Place::new(), &http);
    let answer = server.fetch(&traced("/"));
    assert!(answer.text().starts_with(&format!("00-{TRACE}-")), "{}", answer.text());
    assert!(!answer.text().contains(PARENT) && answer.text().ends_with(STATE), "{}", answer.text());
}

#[test]
fn tracing_without_exporter_is_error_with_remedy() {
    let server = Server::start(Place::new(), "server { listen 127.0.0.1:@PORT@; return 204; }");
    for (http, expected) in [
        ("server { listen 127.0.0.1:@PORT@; otel_trace on; }", "\"otel_exporter\" block is missing"),
        ("otel_exporter { interval 1s; }", "\"otel_exporter\" requires \"endpoint\""),
        ("otel_exporter { endpoint localhost; }", "invalid endpoint \"localhost\""),
        ("otel_exporter { endpoint a:1; header Host b; }", "invalid header name \"Host\""),
        ("otel_exporter { endpoint a:1; header A \"b\\nc\"; }", "invalid header value"),
        ("otel_exporter { endpoint a:1; colour red; }", "unknown directive \"colour\" in \"otel_exporter\""),
    ] {
        let text = server.fill(&format!("daemon off; events {{}} http {{ {http} }}"));
        server.write("myriad.conf", text);
        let output = server.test_configuration();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{http}: {said}");
        assert_eq!(said.matches("[emerg]").count(), 1, "the error is reported once: {said}");
    }
}
