//! Variables `$echo_*`.

use myriad_conf::registry::DirectiveStatus::Differs;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::{Moment, RequestLine, Uri};
use myriad_exchange::runtime::RowValue::{Made, Ready};

pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("echo", "echo_request_uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    RequestVariable::new(
        "echo",
        "echo_cacheable_request_uri",
        &[Uri],
        Ready(|request| Some(&request.route.uri)),
    ),
    RequestVariable::new("echo", "echo_request_method", &[RequestLine], Ready(method)),
    RequestVariable::new("echo", "echo_timer_elapsed", &[Moment], Made(elapsed)),
    // The value depends on all header fields. It is declared as time-dependent, so that requests that read it do not
    // use the shortcut.
    RequestVariable::new("echo", "echo_client_request_headers", &[Moment], Made(head))
        .with_status(Differs("in a subrequest it shows the headers of the subrequest")),
];

fn method(request: &Request) -> Option<&[u8]> {
    Some(request.received.head.method_bytes()).filter(|method| !method.is_empty())
}

/// Appends the seconds since the start of the request or since `echo_reset_timer`, with three decimals.
fn elapsed(request: &Request, out: &mut Vec<u8>) -> bool {
    let ms = myriad_net::clock::now_ms().saturating_sub(request.received.at_ms);
    out.extend_from_slice(format!("{}.{:03}", ms / 1000, ms % 1000).as_bytes());
    true
}

/// Appends the request line and the header fields, one per line.
fn head(request: &Request, out: &mut Vec<u8>) -> bool {
    let head = &request.received.head;
    out.extend_from_slice(head.request_line());
    out.extend_from_slice(b"\r\n");
    for (name, value) in head.fields().iter() {
        for part in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    true
}
