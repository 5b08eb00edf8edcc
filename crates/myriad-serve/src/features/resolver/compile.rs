//! The settings made into whom to ask.

use std::net::SocketAddr;

use myriad_conf::Diagnostic;
use myriad_conf::settings::Settings;
use myriad_upstream::{Address, ResolverConfig, ResolverZone};

use super::settings::ResolverSettings;

/// The port of name servers where none is written.
const DNS: u16 = 53;

/// The resolver of a level; none where no name server is written. One that has no address is reported.
pub(crate) fn config(settings: &Settings, errors: &mut Vec<Diagnostic>) -> Option<ResolverConfig> {
    let resolver = settings.feature::<ResolverSettings>().name_servers.as_ref()?;
    let mut servers: Vec<SocketAddr> = Vec::new();
    for server in &resolver.servers {
        match Address::resolve(&server.lossy(), Some(DNS)) {
            Ok(addresses) => servers.extend(addresses.into_iter().filter_map(|address| match address {
                Address::Tcp(address) => Some(address),
                Address::Unix(_) => None,
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

/// How long a name is waited for, milliseconds.
pub(crate) fn timeout_ms(settings: &Settings) -> u64 {
    settings.feature::<ResolverSettings>().timeout
}
