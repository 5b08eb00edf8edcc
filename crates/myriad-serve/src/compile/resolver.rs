//! `resolver`.

use std::net::SocketAddr;
use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::settings::Settings;
use myriad_upstream::{Address, ResolverConfig};

use super::Compile;
use myriad_exchange::runtime::ResolverPlace;

/// The port of name servers where none is written.
const DNS: u16 = 53;

impl Compile<'_> {
    /// The resolver of a place; places with the same one share what it knows.
    pub(super) fn resolver(&mut self, settings: &Settings) -> Option<ResolverPlace> {
        let resolver = settings.resolver.as_ref()?;
        let mut servers: Vec<SocketAddr> = Vec::new();
        for server in &resolver.servers {
            match Address::resolve(&server.lossy(), Some(DNS)) {
                Ok(addresses) => servers.extend(addresses.into_iter().filter_map(|address| match address {
                    Address::Tcp(address) => Some(address),
                    Address::Unix(_) => None,
                })),
                Err(error) => {
                    let message = format!("{error} in resolver \"{}\"", server.lossy());
                    self.errors.push(Diagnostic::error(server.span, message));
                }
            }
        }
        if servers.is_empty() {
            return None;
        }
        let config =
            ResolverConfig { servers, valid_ms: resolver.valid, ipv4: resolver.ipv4, ipv6: resolver.ipv6 };
        let known = self.resolvers.iter().position(|known| **known == config);
        let index = known.unwrap_or_else(|| {
            self.resolvers.push(Arc::new(config));
            self.resolvers.len() - 1
        });
        Some(ResolverPlace { index, timeout_ms: settings.resolver_timeout })
    }
}
