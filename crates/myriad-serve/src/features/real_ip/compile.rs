//! Compilation of `set_real_ip_from` and related directives.

use std::net::ToSocketAddrs;

use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use super::settings::{RealIpFrom, RealIpSettings};
use myriad_exchange::runtime::{Network, PlaceFeatures, RealIp, SettingsCompiler};

/// Stores the compiled rules in `features`, unless no proxy is trusted (no `set_real_ip_from`).
pub(crate) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let settings = settings.feature::<RealIpSettings>();
    if settings.from.is_empty() {
        return;
    }
    let mut from = Vec::with_capacity(settings.from.len());
    for trusted in &settings.from {
        match trusted {
            RealIpFrom::Network(network) => from.push(*network),
            RealIpFrom::Host(host) => from.extend(addresses_of(compiler, host)),
        }
    }
    let source = settings.source.clone();
    features.insert(RealIp { from, source, recursive: settings.recursive });
}

fn addresses_of(compiler: &mut dyn SettingsCompiler, host: &Text) -> Vec<Network> {
    match (&*host.lossy(), 0).to_socket_addrs() {
        Ok(found) => found
            .map(|address| {
                let ip = address.ip();
                let bits = if ip.is_ipv4() { 32 } else { 128 };
                Network::Cidr(ip, bits)
            })
            .collect(),
        Err(error) => {
            let message = format!("host not found in set_real_ip_from \"{}\" ({error})", host.lossy());
            compiler.report(Diagnostic::error(host.span, message));
            Vec::new()
        }
    }
}
