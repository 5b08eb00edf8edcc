//! Client address as reported by trusted proxies (nginx's realip module).

use std::net::SocketAddr;

use myriad_http::forwarded::forwarded_address;

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{RealIp, RealIpSource};

/// Sets the client address according to the rules of the place, unless it is already set. nginx applies the server's
/// rules after reading the request, and the location's before access.
pub(crate) fn set_client_address(request: &mut Request) {
    if let Some(rules) = request.place().features.get::<RealIp>()
        && request.received.real.is_none()
    {
        request.received.real = reported_address(request, rules);
    }
}

/// Sets the address like [`set_client_address`] for a request that used the shortcut: applies the rules of both levels.
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

/// Returns the address in the request; `None` if its sender is not trusted or it contains no address.
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
