//! `$proxy_*` variables: parts of the origin's URL, and the list of client addresses.

use myriad_conf::registry::DirectiveStatus;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::{address, join};
use myriad_exchange::runtime::Reads::{Connection, RequestLine, Uri};
use myriad_exchange::runtime::RowValue::Made;

use super::pass_url::PassUrl;
use super::place::HttpPlace;
use super::uri;

/// Variables for parts of the origin's URL, which are only set in locations with an HTTP origin, and
/// `$proxy_add_x_forwarded_for`.
pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("proxy", "proxy_add_x_forwarded_for", &[Connection], Made(forwarded_for)),
    RequestVariable::new("proxy", "proxy_host", &[RequestLine], Made(write_host)).yielding(),
    RequestVariable::new(
        "proxy",
        "proxy_port",
        &[RequestLine],
        Made(|request, out| of_url(request, |_, url| out.extend_from_slice(url.proxy_port().as_bytes()))),
    )
    .yielding(),
    // `$proxy_host` for the default cache key, independent of a configured `Host` field.
    RequestVariable::new("proxy", "proxy_internal_host", &[RequestLine], Made(write_host))
        .with_status(DirectiveStatus::Own),
    // URI of the origin request for the default cache key.
    RequestVariable::new(
        "proxy",
        "proxy_internal_uri",
        &[Uri, RequestLine],
        Made(|request, out| of_url(request, |place, _| uri::write_uri(request, place, out))),
    )
    .with_status(DirectiveStatus::Own),
    // Scheme of the origin request for the default cache key.
    RequestVariable::new(
        "proxy",
        "proxy_internal_scheme",
        &[RequestLine],
        Made(|request, out| of_url(request, |_, url| out.extend_from_slice(url.scheme().as_bytes()))),
    )
    .with_status(DirectiveStatus::Own),
];

fn write_host(request: &Request, out: &mut Vec<u8>) -> bool {
    of_url(request, |_, url| out.extend_from_slice(url.proxy_host().as_bytes()))
}

/// Writes a part of the origin's URL with `write`. Returns `false` if the request has no such URL.
fn of_url(request: &Request, write: impl FnOnce(&HttpPlace, &PassUrl)) -> bool {
    let place = request.place().handler.origin().and_then(|origin| origin.protocol_as::<HttpPlace>());
    let Some((place, url)) = place.and_then(|place| Some((place, uri::url(request, place)?))) else {
        return false;
    };
    write(place, url);
    true
}

fn forwarded_for(request: &Request, out: &mut Vec<u8>) -> bool {
    let before = out.len();
    join(request.received.head.fields().get_all(b"X-Forwarded-For"), b", ", out);
    if out.len() > before {
        out.extend_from_slice(b", ");
    }
    address(out, request.client())
}
