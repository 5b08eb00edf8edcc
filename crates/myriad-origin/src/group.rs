//! Choice of the upstream group for a request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use myriad_conf::model::Balance;
use myriad_log::LogLevel;
use myriad_script::Template;
use myriad_upstream::{Affinity, Group, GroupConfig, KeepAlive, PeerAddress, PeerConfig, PeerStates};

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::{OriginGroup, OriginPlace, OriginTarget, UpstreamTarget};

/// Maximum number of idle connections per worker to a peer of an HTTP or memcached origin, unless its `upstream` block
/// has `keepalive`.
pub const HTTP_IDLE: usize = 32;

/// Returns the upstream group, or the name to resolve, of the location's `*_pass` target. The error is the status of
/// the response; only a target with variables can fail.
pub fn target_of_place(exchange: &mut Exchange, origin: &OriginPlace) -> Result<UpstreamTarget, u16> {
    let template = match &origin.target {
        OriginTarget::Group(group) => return Ok(UpstreamTarget::Group(Arc::clone(group))),
        OriginTarget::Variable(template) => template,
    };
    origin.protocol.upstream_target(exchange, template)
}

/// Returns the group or address whose name a target with variables (`*_pass`) evaluates to. Other names are logged; the
/// error is the status of the response: 500 for an empty name, otherwise 502.
pub(super) fn target_by_name(exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16> {
    let mut name = Vec::new();
    let Exchange { request, frame } = exchange;
    let named = target.eval(request, frame, &mut name).is_ok();
    let name = String::from_utf8_lossy(&name);
    if let Some(group) = named.then(|| named_group(exchange, &name)).flatten() {
        Ok(UpstreamTarget::Group(group))
    } else {
        exchange.request.log(
            LogLevel::Error,
            format_args!(
                "no upstream group or address \"{name}\": the variables must evaluate to the name of an upstream block, or to a \
                     host and a port"
            ),
        );
        // As in nginx, an empty name is an error of the configuration.
        Err(if name.is_empty() { 500 } else { 502 })
    }
}

/// Returns the group of a target; a host name is resolved first. If that fails, it is logged and recorded as an attempt
/// (`$upstream_addr`), and the error is the status of the response (502).
pub async fn resolve_target(
    exchange: &mut Exchange,
    chosen: UpstreamTarget,
) -> Result<Arc<OriginGroup>, u16> {
    let (name, port, place) = match chosen {
        UpstreamTarget::Group(group) => return Ok(group),
        UpstreamTarget::Name { name, port, resolver } => (name, port, resolver),
    };
    let resolver = exchange.request.site.resolvers[place.index].clone();
    match Box::pin(resolver.resolve(&name, place.timeout_ms)).await {
        Ok(addresses) => Ok(resolved_group(exchange, &name, port, &addresses)),
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{name} could not be resolved ({error})"));
            exchange.request.origin_mut().attempts.record_unresolved(&name);
            Err(502)
        }
    }
}

/// Returns a group of the addresses that a name resolved to, cached by name, port and addresses. Failures do not
/// exclude a peer (`max_fails` is 0), because the addresses change.
fn resolved_group(exchange: &Exchange, name: &str, port: u16, addresses: &[IpAddr]) -> Arc<OriginGroup> {
    let identity = format!("{name}:{port} {addresses:?}");
    let site = &exchange.request.site;
    if let Some(group) = site.address_groups.borrow_mut().get_mut(&identity) {
        return Arc::clone(group);
    }
    let peers = addresses.iter().map(|address| PeerConfig {
        max_fails: 0,
        ..PeerConfig::new(PeerAddress::Tcp(SocketAddr::new(*address, port)))
    });
    let config = GroupConfig {
        name: name.to_owned(),
        peers: peers.collect(),
        balance: Balance::default(),
        keepalive: KeepAlive { http: HTTP_IDLE, is_implicit: true, ..KeepAlive::default() },
        queue: None,
        sticky: false,
        names: None,
        zone: None,
    };
    let group =
        Arc::new(OriginGroup { group: Group::new(config, &PeerStates::default()), key: None, sticky: None });
    site.address_groups.borrow_mut().insert(identity, Arc::clone(&group), 1);
    group
}

/// Returns the configured group with this name, otherwise a group for the address `name`, which is created and cached
/// if necessary. `None` for any other text, such as a host name, which is not resolved here.
pub(super) fn named_group(exchange: &Exchange, name: &str) -> Option<Arc<OriginGroup>> {
    let site = &exchange.request.site;
    if let Some(group) = site.runtime.group(name) {
        return Some(group);
    }
    if let Some(group) = site.address_groups.borrow_mut().get_mut(name) {
        return Some(Arc::clone(group));
    }
    let mut config = GroupConfig::single(PeerAddress::parse(name, None).ok()?);
    config.keepalive.http = HTTP_IDLE;
    let group =
        Arc::new(OriginGroup { group: Group::new(config, &PeerStates::default()), key: None, sticky: None });
    site.address_groups.borrow_mut().insert(name.to_owned(), Arc::clone(&group), 1);
    Some(group)
}

/// Returns the key by which `hash` selects a peer ([`Affinity::None`] if it cannot be evaluated), or for a group
/// without a key the client address, which is 0.0.0.0 for a unix socket.
pub fn affinity(exchange: &mut Exchange, group: &OriginGroup) -> Affinity {
    let Some(key) = &group.key else {
        // Clients of unix sockets have no address: as in nginx, all are sent to the same peer.
        let client = exchange.request.client().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        return Affinity::Client(client);
    };
    let mut text = Vec::new();
    let Exchange { request, frame } = exchange;
    match key.eval(request, frame, &mut text) {
        Ok(()) => Affinity::Key(Bytes::from(text)),
        // Any peer is suitable if the key cannot be computed.
        Err(_) => Affinity::None,
    }
}
