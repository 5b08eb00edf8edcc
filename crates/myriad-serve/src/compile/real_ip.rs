//! `set_real_ip_from` and what goes with it.

use std::net::ToSocketAddrs;

use myriad_conf::settings::{self, RealIpFrom, RealIpSettings};
use myriad_conf::{Diagnostic, Text};

use super::Compile;
use crate::runtime::{Network, RealIp, RealIpSource};

impl Compile<'_> {
    /// Who is believed; none where nobody is.
    pub(super) fn real_ip(&mut self, settings: &RealIpSettings) -> Option<Box<RealIp>> {
        if settings.from.is_empty() {
            return None;
        }
        let mut from = Vec::with_capacity(settings.from.len());
        for trusted in &settings.from {
            match trusted {
                RealIpFrom::Network(network) => from.push(compiled(*network)),
                RealIpFrom::Host(host) => from.extend(self.addresses_of(host)),
            }
        }
        let source = match &settings.source {
            settings::RealIpSource::ForwardedFor => RealIpSource::ForwardedFor,
            settings::RealIpSource::ProxyProtocol => RealIpSource::ProxyProtocol,
            settings::RealIpSource::Field(name) => RealIpSource::Field(name.as_bytes().into()),
        };
        Some(Box::new(RealIp { from, source, recursive: settings.recursive }))
    }

    fn addresses_of(&mut self, host: &Text) -> Vec<Network> {
        match (&*host.lossy(), 0).to_socket_addrs() {
            Ok(found) => found
                .map(|address| {
                    let ip = address.ip();
                    let bits = if ip.is_ipv4() { 32 } else { 128 };
                    compiled(settings::Network::Cidr(ip, bits))
                })
                .collect(),
            Err(error) => {
                let message = format!("host not found in set_real_ip_from \"{}\" ({error})", host.lossy());
                self.errors.push(Diagnostic::error(host.span, message));
                Vec::new()
            }
        }
    }
}

/// What a network of the configuration covers.
pub(super) fn compiled(network: settings::Network) -> Network {
    Network(Box::new(move |client| network.contains(client)))
}
