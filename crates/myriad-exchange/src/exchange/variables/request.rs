//! Variables of the request line and the server.

use myriad_http::uri::{self, parse_host};
use myriad_http::{Known, Version};

use super::write::{Row, never_made, show};
use crate::exchange::Request;
use crate::exchange::target::request_uri;
use crate::runtime::Reads::{RequestLine, Scheme, Uri};
use crate::runtime::Value::{Made, Named, Ready};
use crate::runtime::{NamedValue, Rest};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        "core",
        "arg_",
        &[RequestLine],
        Named(NamedValue {
            rest: Rest::text,
            ready: |request, rest| Some(uri::arg(&request.route.args, rest.as_text().as_bytes())),
            made: never_made,
        }),
    ),
    Row::new("core", "args", &[RequestLine], Ready(|request| Some(&request.route.args))).assigned(set_args),
    Row::new("core", "document_uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    Row::new("core", "host", &[RequestLine], Ready(|request| Some(&request.route.host))),
    Row::new("core", "https", &[Scheme], Ready(|request| Some(if request.is_https() { b"on" } else { b"" }))),
    Row::new(
        "core",
        "is_args",
        &[RequestLine],
        Ready(|request| Some(if request.route.args.is_empty() { b"" } else { b"?" })),
    ),
    Row::new("core", "query_string", &[RequestLine], Ready(|request| Some(&request.route.args))),
    Row::new(
        "core",
        "request",
        &[RequestLine],
        Ready(|request| Some(request.received.head.request_line()).filter(|line| !line.is_empty())),
    ),
    Row::new("core", "request_method", &[RequestLine], Ready(method)),
    Row::new(
        "core",
        "request_uri",
        &[RequestLine],
        Ready(|request| Some(request_uri(request.received.head.target()))),
    ),
    Row::new("core", "scheme", &[Scheme], Ready(|request| Some(request.scheme().as_bytes()))),
    Row::new("core", "server_name", &[RequestLine], Ready(|request| Some(&request.server().name))),
    Row::new(
        "core",
        "server_protocol",
        &[RequestLine],
        Ready(|request| Some(request.received.head.version().as_str().as_bytes())),
    ),
    Row::new("core", "uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    // Port in `Host`, or in the authority of an absolute target, which replaces `Host`.
    Row::new(
        "core",
        "is_request_port",
        &[RequestLine],
        Ready(|request| Some(if request_port(request).is_some() { b":" } else { b"" })),
    ),
    Row::new(
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
    Row::new("v2", "http2", &[RequestLine], Ready(|request| Some(http2(request)))),
    Row::new(
        "v3",
        "http3",
        &[RequestLine],
        Ready(|request| Some(if request.received.head.version() == Version::Http3 { b"h3" } else { b"" })),
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

/// Returns `h2` over TLS and `h2c` without TLS.
fn http2(request: &Request) -> &'static [u8] {
    match (request.received.head.version(), request.received.connection.tls()) {
        (Version::Http2, Some(_)) => b"h2",
        (Version::Http2, None) => b"h2c",
        _ => b"",
    }
}

fn request_port(request: &Request) -> Option<u16> {
    parse_host(request.received.head.known(Known::Host)?).ok()?.port
}
