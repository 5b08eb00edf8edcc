//! Compilation of `resolver` and `resolver_timeout`.

use std::net::SocketAddr;

use myriad_conf::Diagnostic;
use myriad_conf::settings::Settings;
use myriad_upstream::{PeerAddress, ResolverConfig, ResolverZone};

use super::settings::ResolverSettings;

/// Default port of name servers.
const DNS: u16 = 53;

/// Returns the resolver of a level; `None` without `resolver`, or if none of its name servers can be resolved. A name
/// server that cannot be resolved is reported in `errors`.
pub(crate) fn config(settings: &Settings, errors: &mut Vec<Diagnostic>) -> Option<ResolverConfig> {
    let resolver = settings.feature::<ResolverSettings>().name_servers.as_ref()?;
    let mut servers: Vec<SocketAddr> = Vec::new();
    for server in &resolver.servers {
        match PeerAddress::resolve(&server.lossy(), Some(DNS)) {
            Ok(addresses) => servers.extend(addresses.into_iter().filter_map(|address| match address {
                PeerAddress::Tcp(address) => Some(address),
                PeerAddress::Unix(_) => None,
            })),
            Err(error) => {
                let message = format!("{error} in resolver \"{}\"", server.lossy());
                errors.push(Diagnostic::error(server.span, message));
            }
        }
    }
    if servers.is_empty() {
        return None;
    }
    let zone = resolver.status_zone.as_deref().map(ResolverZone::named);
    Some(ResolverConfig { servers, valid_ms: resolver.valid, ipv4: resolver.ipv4, ipv6: resolver.ipv6, zone })
}

/// Returns `resolver_timeout`, the maximum duration of a name resolution, in milliseconds.
pub(crate) fn timeout_ms(settings: &Settings) -> u64 {
    settings.feature::<ResolverSettings>().timeout
}
