//! Traffic zones, in which requests are counted: `status_zone`, and one for each server name.

use std::collections::BTreeMap;
use std::sync::Arc;

use myriad_admin::status_zone;
use myriad_conf::model::ServerConf;
use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{Place, VirtualServer};
use myriad_exchange::traffic::{Traffic, TrafficZone, ZoneKind};

/// Zone name of servers without `server_name`, as in the module `vhost_traffic_status`.
const NAMELESS: &str = "_";

/// Returns the zone that counts a server's requests: the zone named by `status_zone`, or else one named like the first
/// `server_name`, or `_` if the server has no name.
pub(super) fn server_zone(traffic: &Traffic, server: &ServerConf) -> Arc<TrafficZone> {
    let name = String::from_utf8_lossy(server.primary_name.bytes());
    let (name, is_named) = match status_zone::of_server(&server.settings) {
        Some(zone) => (zone, true),
        None if name.is_empty() => (NAMELESS, false),
        None => (&*name, false),
    };
    traffic.zone(ZoneKind::Server, name, is_named)
}

/// Returns the additional zone that counts a location's requests; `None` if neither the location nor an enclosing one
/// has `status_zone`, or with `off`.
pub(super) fn location_zone(traffic: &Traffic, settings: &Settings) -> Option<Arc<TrafficZone>> {
    Some(traffic.zone(ZoneKind::Location, status_zone::of_location(settings)?, true))
}

/// Returns the zone that counts the sessions of a `stream` server; `None` without `status_zone`.
#[cfg(feature = "stream")]
pub(super) fn stream_server_zone(traffic: &Traffic, server: &ServerConf) -> Option<Arc<TrafficZone>> {
    Some(traffic.zone(ZoneKind::Stream, status_zone::of_server(&server.settings)?, true))
}

/// Returns the zones of all servers and places without duplicates, ordered by kind and name.
pub(super) fn unique_zones(servers: &[VirtualServer], places: &[Place]) -> Vec<Arc<TrafficZone>> {
    let of_servers = servers.iter().map(|server| &server.traffic);
    let of_places = places.iter().filter_map(|place| place.logs.traffic.as_ref());
    let all = of_servers.chain(of_places).map(|zone| ((zone.kind(), zone.name()), zone));
    all.collect::<BTreeMap<_, _>>().into_values().cloned().collect()
}
