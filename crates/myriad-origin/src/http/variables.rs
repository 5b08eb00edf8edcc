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

/// Variables of parts of the origin's URL, which are only set in locations with an HTTP origin, and of the list of
/// addresses.
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

#[cfg(test)]
mod tests {
    use myriad_http::HttpVersion;
    use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

    #[test]
    fn forwarded_addresses_end_with_the_client_s() {
        let chain = |fields: &[(&str, &str)]| {
            variable_value(
                &mut VariableCase { fields, ..VariableCase::default() }.begin(),
                "proxy_add_x_forwarded_for",
            )
            .unwrap()
        };
        assert_eq!(chain(&[]), "127.0.0.1");
        assert_eq!(chain(&[("X-Forwarded-For", "10.0.0.1")]), "10.0.0.1, 127.0.0.1");
    }

    #[test]
    fn the_url_of_proxy_pass_is_shown_in_parts() {
        let server = "location / { proxy_pass http://127.0.0.1:81/base/; }";
        let line = ("GET", "/a?b", HttpVersion::Http11);
        let mut exchange = VariableCase { line, server, ..VariableCase::default() }.begin();
        assert_unset(
            &mut exchange,
            &[
                "proxy_host",
                "proxy_port",
                "proxy_internal_host",
                "proxy_internal_uri",
                "proxy_internal_scheme",
            ],
        );
        let places = &exchange.request.site.runtime.places;
        let location = places.iter().position(|place| place.handler.origin().is_some()).unwrap();
        exchange.request.route.place = location as u32;
        assert_variables(
            &mut exchange,
            &[
                ("proxy_host", "127.0.0.1:81"),
                ("proxy_port", "81"),
                ("proxy_internal_host", "127.0.0.1:81"),
                ("proxy_internal_uri", "/base/a?b"),
                ("proxy_internal_scheme", "http"),
            ],
        );
    }
}
