//! Variables of the echo module.

use myriad_conf::registry::Status::Differs;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::runtime::Reads::{Moment, RequestLine, Uri};
use myriad_exchange::runtime::Value::{Made, Ready};

pub(super) const VARIABLES: &[Row] = &[
    Row::new("echo", "echo_request_uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    Row::new("echo", "echo_cacheable_request_uri", &[Uri], Ready(|request| Some(&request.route.uri))),
    Row::new("echo", "echo_request_method", &[RequestLine], Ready(method)),
    Row::new("echo", "echo_timer_elapsed", &[Moment], Made(elapsed)),
    // The value depends on all fields, so it is treated as time-dependent: requests that read it do not use the
    // shortcut.
    Row::new("echo", "echo_client_request_headers", &[Moment], Made(head))
        .fares(Differs("in a subrequest it shows the headers of the subrequest")),
];

fn method(request: &Request) -> Option<&[u8]> {
    Some(request.received.head.method_bytes()).filter(|method| !method.is_empty())
}

/// Writes the seconds since the start of the request, or since `echo_reset_timer`.
fn elapsed(request: &Request, out: &mut Vec<u8>) -> bool {
    let ms = myriad_net::clock::now_ms().saturating_sub(request.received.at_ms);
    out.extend_from_slice(format!("{}.{:03}", ms / 1000, ms % 1000).as_bytes());
    true
}

/// Writes the request line and the fields, one per line.
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

#[cfg(test)]
mod tests {
    use myriad_serve::testing::variables::{Case, shown, shows};

    #[test]
    fn request_is_shown() {
        let mut exchange = Case { fields: &[("X-A", "1")], ..Case::default() }.begin();
        let uri = shown(&mut exchange, "uri").expect("a URI");
        shows(
            &mut exchange,
            &[
                ("echo_request_method", "GET"),
                ("echo_request_uri", &uri),
                ("echo_cacheable_request_uri", &uri),
            ],
        );
        let head = shown(&mut exchange, "echo_client_request_headers").expect("a head");
        assert!(head.starts_with("GET /") && head.contains("\r\nX-A: 1\r\n"), "{head}");
        let elapsed = shown(&mut exchange, "echo_timer_elapsed").expect("a time");
        assert!(elapsed.split_once('.').is_some_and(|(_, part)| part.len() == 3), "{elapsed}");
    }
}
