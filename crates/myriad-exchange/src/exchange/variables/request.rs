//! Variables of the request line, and of the server that processes the request.

use myriad_http::uri::{self, parse_host};
use myriad_http::{HttpVersion, Known};

use super::write::{RequestVariable, never_made, show};
use crate::exchange::Request;
use crate::exchange::target::request_uri;
use crate::runtime::Reads::{RequestLine, Scheme, Uri};
use crate::runtime::RowValue::{Made, Named, Ready};
use crate::runtime::{NameSuffix, NamedValue};

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "core",
        "arg_",
        &[RequestLine],
        Named(NamedValue {
            rest: NameSuffix::text,
            ready: |request, rest| Some(uri::arg(&request.route.args, rest.as_text().as_bytes())),
            made: never_made,
        }),
    ),
    RequestVariable::new("core", "args", &[RequestLine], Ready(|request| Some(&request.route.args)))
        .assigned(set_args),
    RequestVariable::new("core", "document_uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    RequestVariable::new("core", "host", &[RequestLine], Ready(|request| Some(&request.route.host))),
    RequestVariable::new(
        "core",
        "https",
        &[Scheme],
        Ready(|request| Some(if request.is_https() { b"on" } else { b"" })),
    ),
    RequestVariable::new(
        "core",
        "is_args",
        &[RequestLine],
        Ready(|request| Some(if request.route.args.is_empty() { b"" } else { b"?" })),
    ),
    RequestVariable::new("core", "query_string", &[RequestLine], Ready(|request| Some(&request.route.args))),
    RequestVariable::new(
        "core",
        "request",
        &[RequestLine],
        Ready(|request| Some(request.received.head.request_line()).filter(|line| !line.is_empty())),
    ),
    RequestVariable::new("core", "request_method", &[RequestLine], Ready(method)),
    RequestVariable::new(
        "core",
        "request_uri",
        &[RequestLine],
        Ready(|request| Some(request_uri(request.received.head.target()))),
    ),
    RequestVariable::new("core", "scheme", &[Scheme], Ready(|request| Some(request.scheme().as_bytes()))),
    RequestVariable::new(
        "core",
        "server_name",
        &[RequestLine],
        Ready(|request| Some(&request.server().name)),
    ),
    RequestVariable::new(
        "core",
        "server_protocol",
        &[RequestLine],
        Ready(|request| Some(request.received.head.version().as_str().as_bytes())),
    ),
    RequestVariable::new("core", "uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    // Port in `Host`. An absolute request target has already replaced `Host`.
    RequestVariable::new(
        "core",
        "is_request_port",
        &[RequestLine],
        Ready(|request| Some(if request_port(request).is_some() { b":" } else { b"" })),
    ),
    RequestVariable::new(
        "core",
        "request_port",
        &[RequestLine],
        Made(|request, out| {
            if let Some(port) = request_port(request) {
                show(out, port);
            }
            true
        }),
    ),
    RequestVariable::new("v2", "http2", &[RequestLine], Ready(|request| Some(http2(request)))),
    RequestVariable::new(
        "v3",
        "http3",
        &[RequestLine],
        Ready(|request| {
            Some(if request.received.head.version() == HttpVersion::Http3 { b"h3" } else { b"" })
        }),
    )
    .yielding(),
];

fn set_args(request: &mut Request, value: &[u8]) {
    request.route.args.clear();
    request.route.args.extend_from_slice(value);
    request.route.form.changed = true;
}

fn method(request: &Request) -> Option<&[u8]> {
    if request.route.as_get {
        return Some(b"GET");
    }
    Some(request.received.head.method_bytes()).filter(|method| !method.is_empty())
}

/// Returns `h2` for HTTP/2 over TLS, `h2c` without TLS, and an empty text for other versions.
fn http2(request: &Request) -> &'static [u8] {
    match (request.received.head.version(), request.received.connection.tls()) {
        (HttpVersion::Http2, Some(_)) => b"h2",
        (HttpVersion::Http2, None) => b"h2c",
        _ => b"",
    }
}

fn request_port(request: &Request) -> Option<u16> {
    parse_host(request.received.head.known(Known::Host)?).ok()?.port
}
