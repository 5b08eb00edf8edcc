//! The client's address as trusted proxies tell it (nginx's realip module).

use std::net::SocketAddr;

use myriad_http::forwarded::forwarded;

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{RealIp, RealIpSource};

/// Takes the address that the place's rules give, unless one was taken before. nginx asks the server's rules when the
/// request has been read, and the location's before access.
pub(crate) fn find(request: &mut Request) {
    if let Some(rules) = request.place().features.get::<RealIp>()
        && request.received.real.is_none()
    {
        request.received.real = told(request, rules);
    }
}

/// As [`find`], for a request that was brought to its place by the short way: both levels are asked at once.
pub(crate) fn find_at_both(request: &mut Request) {
    let site = std::rc::Rc::clone(&request.site);
    for place in [request.server().place, request.route.place] {
        if let Some(rules) = site.runtime.place(place).features.get::<RealIp>()
            && request.received.real.is_none()
        {
            request.received.real = told(request, rules);
        }
    }
}

/// The address that the rules find in the request; none where they do not trust its sender, or it says nothing.
fn told(request: &Request, rules: &RealIp) -> Option<SocketAddr> {
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
            forwarded(client, values.into_iter(), trusted, rules.recursive)
        }
        RealIpSource::Field(name) => {
            let value = fields.get_all(name.as_bytes()).next()?;
            forwarded(client, [value].into_iter(), trusted, rules.recursive)
        }
    }
}
