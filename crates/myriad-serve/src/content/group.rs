//! Which origins are asked: the group that a place names, or that a variable names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use myriad_log::Level;
use myriad_upstream::{Address, Affinity, Balance, Group, GroupConfig, KeepAlive, PeerConfig, Registry};

use crate::exchange::Exchange;
use crate::runtime::{HttpPlace, OriginGroup, OriginPlace, ResolverPlace, Target};
use crate::worker::Generation;

/// Most addresses made of variables that a worker remembers; a client may have its say in what they hold.
const ADDRESSES: usize = 1024;

/// Idle connections that a worker keeps to an HTTP origin without an `upstream` block.
pub(crate) const HTTP_IDLE: usize = 32;

/// The group that the place's target names; the error is the status to answer.
pub(crate) fn of_place(exchange: &mut Exchange, origin: &OriginPlace) -> Result<Chosen, u16> {
    let template = match &origin.target {
        Target::Group(group) => return Ok(Chosen::Group(Arc::clone(group))),
        Target::Variable(template) => template,
    };
    if let Some(http) = &origin.http {
        return of_url(exchange, http);
    }
    let mut name = Vec::new();
    let Exchange { request, frame } = exchange;
    let named = template.eval(request, frame, &mut name).is_ok();
    let name = String::from_utf8_lossy(&name);
    if let Some(group) = named.then(|| named_group(exchange, &name)).flatten() {
        Ok(Chosen::Group(group))
    } else {
        exchange.request.log(Level::Error, format_args!("no upstream group or address \"{name}\""));
        Err(502)
    }
}

/// The `upstream` block that the URL names, else its address, else a name that has to be looked up.
fn of_url(exchange: &Exchange, http: &HttpPlace) -> Result<Chosen, u16> {
    let Some(url) = exchange.request.origin.as_ref().and_then(|facts| facts.url.as_ref()) else {
        return Err(500);
    };
    let upstream = url.group_name().and_then(|name| exchange.request.site.runtime.upstream(&name));
    if let Some(group) = upstream.or_else(|| named_group(exchange, &url.address())) {
        return Ok(Chosen::Group(group));
    }
    let Some((name, port)) = url.name() else { return Err(502) };
    if let Some(resolver) = http.resolver {
        return Ok(Chosen::Name { name: name.to_owned(), port, resolver });
    }
    exchange.request.log(Level::Error, format_args!("no resolver defined to resolve {name}"));
    Err(502)
}

/// Who is asked, or the name to look up first.
pub(crate) enum Chosen {
    /// A group.
    Group(Arc<OriginGroup>),
    /// A host that a variable named.
    Name {
        /// Its name.
        name: String,
        /// The port.
        port: u16,
        /// Where to look it up.
        resolver: ResolverPlace,
    },
}

/// Looks the name up, where there is one; the error is the status to answer.
pub(crate) async fn settle(exchange: &mut Exchange, chosen: Chosen) -> Result<Arc<OriginGroup>, u16> {
    let (name, port, place) = match chosen {
        Chosen::Group(group) => return Ok(group),
        Chosen::Name { name, port, resolver } => (name, port, resolver),
    };
    let resolver = exchange.request.site.resolvers[place.index].clone();
    match resolver.resolve(&name, place.timeout_ms).await {
        Ok(addresses) => Ok(resolved_group(exchange, &name, port, &addresses)),
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{name} could not be resolved ({error})"));
            exchange.request.origin_mut().attempts.unresolved(&name);
            Err(502)
        }
    }
}

/// The group of a name's addresses. They come and go, so none is remembered to have failed.
fn resolved_group(exchange: &Exchange, name: &str, port: u16, addresses: &[IpAddr]) -> Arc<OriginGroup> {
    let identity = format!("{name}:{port} {addresses:?}");
    let site = &exchange.request.site;
    if let Some(group) = site.addressed.borrow().get(&identity) {
        return Arc::clone(group);
    }
    let peers = addresses.iter().map(|address| PeerConfig {
        max_fails: 0,
        ..PeerConfig::new(Address::Tcp(SocketAddr::new(*address, port)))
    });
    let config = GroupConfig {
        name: name.to_owned(),
        peers: peers.collect(),
        balance: Balance::RoundRobin,
        keepalive: KeepAlive { http: HTTP_IDLE, ..KeepAlive::default() },
        queue: None,
    };
    let group = Arc::new(OriginGroup { group: Group::new(config, &Registry::default()), key: None });
    remember(site, identity, &group);
    group
}

fn remember(site: &Generation, identity: String, group: &Arc<OriginGroup>) {
    let mut known = site.addressed.borrow_mut();
    if known.len() >= ADDRESSES {
        // Which of them are still asked for shows when they are.
        known.clear();
    }
    known.insert(identity, Arc::clone(group));
}

/// An `upstream` block, else an address; host names are not looked up while a request waits.
fn named_group(exchange: &Exchange, name: &str) -> Option<Arc<OriginGroup>> {
    let site = &exchange.request.site;
    if let Some(group) = site.runtime.group(name) {
        return Some(group);
    }
    if let Some(group) = site.addressed.borrow().get(name) {
        return Some(Arc::clone(group));
    }
    let mut config = GroupConfig::single(Address::parse(name, None).ok()?);
    config.keepalive.http = HTTP_IDLE;
    let group = Arc::new(OriginGroup { group: Group::new(config, &Registry::default()), key: None });
    remember(site, name.to_owned(), &group);
    Some(group)
}

/// What `hash` and `ip_hash` choose a peer by.
pub(crate) fn affinity(exchange: &mut Exchange, group: &OriginGroup) -> Affinity {
    let Some(key) = &group.key else {
        // Clients on unix sockets are one to nginx: they all stay with one peer.
        let client = exchange.request.client().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        return Affinity::Client(client);
    };
    let mut text = Vec::new();
    let Exchange { request, frame } = exchange;
    match key.eval(request, frame, &mut text) {
        Ok(()) => Affinity::Key(Bytes::from(text)),
        // Any peer will do for a key that cannot be told.
        Err(_) => Affinity::None,
    }
}
