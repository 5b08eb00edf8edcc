//! Client address as reported by trusted proxies (nginx's realip module).

use std::net::SocketAddr;

use myriad_http::forwarded::forwarded_address;

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{RealIp, RealIpSource};

/// Sets the client address of a request by the `set_real_ip_from` rules of its current server or location, unless it is
/// already set. As in nginx, it is called with the server's rules when the request has been read, and with the
/// location's before access checks.
pub(crate) fn set_client_address(request: &mut Request) {
    if let Some(rules) = request.place().features.get::<RealIp>()
        && request.received.real.is_none()
    {
        request.received.real = reported_address(request, rules);
    }
}

/// Sets the address like [`set_client_address`], for a request routed by a stored result (shortcut): applies the rules
/// of the server, then, if those find no address, of the location.
pub(crate) fn set_client_address_at_both_levels(request: &mut Request) {
    let site = std::rc::Rc::clone(&request.site);
    for place in [request.server().place, request.route.place] {
        if let Some(rules) = site.runtime.place(place).features.get::<RealIp>()
            && request.received.real.is_none()
        {
            request.received.real = reported_address(request, rules);
        }
    }
}

/// Returns the client address that the trusted proxy of `request` reported; `None` if the connection's peer is not
/// trusted by `rules`, or reported no valid address.
fn reported_address(request: &Request, rules: &RealIp) -> Option<SocketAddr> {
    let client = request.received.connection.peer.ip();
    let trusted = |ip| rules.from.iter().any(|network| network.contains(ip));
    let fields = request.received.head.fields();
    match &rules.source {
        RealIpSource::ProxyProtocol => {
            let header = request.received.connection.proxied.get()?;
            trusted(client).then_some(header.source)
        }
        RealIpSource::ForwardedFor => {
            let values: Vec<&[u8]> = fields.get_all(b"X-Forwarded-For").collect();
            forwarded_address(client, values.into_iter(), trusted, rules.recursive)
        }
        RealIpSource::Field(name) => {
            let value = fields.get_all(name.as_bytes()).next()?;
            forwarded_address(client, [value].into_iter(), trusted, rules.recursive)
        }
    }
}
