//! Servers to which a name resolves.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::address::PeerAddress;
use crate::config::{NamedServer, PeerConfig};
use crate::resolver::message::{ServiceRecord, is_name};
use crate::resolver::{ResolveError, ResolverConfig, look_up, look_up_service};

/// Maximum number of service (SRV) records used; further records of a result are ignored.
const MAX_SERVERS: usize = 128;

/// Address to which a server's name, or the name of a server in a service record, resolves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedServer {
    pub(crate) address: SocketAddr,
    /// Parameters of the service (SRV) record; `None` if the address does not come from a service record.
    service: Option<ServiceParameters>,
}

/// Parameters of a service (SRV) record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceParameters {
    /// Name of the server (target of the record).
    name: Arc<str>,
    /// Weight of the record, at least 1.
    weight: u32,
    /// True if another record of the service has a higher priority (a lower number).
    is_low_priority: bool,
}

impl ResolvedServer {
    /// Creates a server for an address to which an ordinary name (not a service name) resolved.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, service: None }
    }

    /// Returns whether the server comes from a service (SRV) record.
    pub(crate) fn is_of_service(&self) -> bool {
        self.service.is_some()
    }

    /// Returns the configuration of the peer at this address; `None` if the peer must not be used.
    ///
    /// As in nginx, the weight of the service record applies unless the configuration sets a weight. Servers of a lower
    /// priority are backups; they are not used if the whole service is a backup.
    pub(crate) fn config(&self, server: &NamedServer) -> Option<PeerConfig> {
        let mut address = self.address;
        if !server.is_service {
            // The configured port may differ from that before a reload.
            address.set_port(server.port);
        }
        let mut config = PeerConfig { address: PeerAddress::Tcp(address), ..server.peer.clone() };
        if let Some(service) = &self.service {
            if service.is_low_priority && config.backup {
                return None;
            }
            config.name = service.name.to_string();
            config.backup |= service.is_low_priority;
            if config.weight == 1 {
                config.weight = service.weight;
            }
        }
        Some(config)
    }
}

/// Resolution result for the name of a server: its addresses, their validity in seconds, and the servers of a service
/// without an address, each with the reason.
pub(crate) struct ResolvedServers {
    pub(crate) all: Vec<ResolvedServer>,
    /// Validity of the addresses in seconds.
    pub(crate) ttl_s: u32,
    /// Servers of a service without an address, by name.
    pub(crate) unresolved: Vec<(String, ResolveError)>,
}

/// Resolves the name of a server; `turn` is the index of the first name server to query, modulo their number. Fails if
/// the look-up of the name fails or, for a service, if the look-up of a server's name failed and no server has an
/// address.
pub(crate) async fn members(
    resolver: &Arc<ResolverConfig>,
    turn: usize,
    server: &NamedServer,
) -> Result<ResolvedServers, ResolveError> {
    if !server.is_service {
        let found = look_up(resolver, turn, &server.host).await?;
        let member = |ip: &IpAddr| ResolvedServer::new(SocketAddr::new(*ip, server.port));
        let all = found.addresses.iter().map(member).collect();
        return Ok(ResolvedServers { all, ttl_s: found.ttl_s, unresolved: Vec::new() });
    }
    let found = look_up_service(resolver, turn, &server.host).await?;
    let first = found.servers.iter().map(|record| record.priority).min().unwrap_or_default();
    let mut resolved = ResolvedServers { all: Vec::new(), ttl_s: found.ttl_s, unresolved: Vec::new() };
    let mut asked = JoinSet::new();
    for (number, record) in found.servers.into_iter().take(MAX_SERVERS).enumerate() {
        let resolver = Arc::clone(resolver);
        asked.spawn_local(async move {
            let found = if is_name(&record.target) {
                look_up(&resolver, turn, &record.target).await
            } else {
                // RFC 2782: a single dot means that the service does not exist.
                Err(ResolveError::Code(3))
            };
            (number, record, found)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(number, ..)| *number);
    let mut failed = None;
    for (_, record, found) in answers {
        match found {
            Ok(found) => {
                resolved.ttl_s = resolved.ttl_s.min(found.ttl_s);
                resolved.all.extend(found.addresses.iter().map(|ip| of_service(*ip, &record, first)));
            }
            Err(error) => {
                failed = failed.filter(|known: &ResolveError| !known.is_absence()).or(Some(error));
                resolved.unresolved.push((record.target, error));
            }
        }
    }
    match failed {
        // Fails, since no server is left and the failure may be temporary.
        Some(error) if resolved.all.is_empty() => Err(error),
        _ => Ok(resolved),
    }
}

fn of_service(ip: IpAddr, record: &ServiceRecord, first: u16) -> ResolvedServer {
    let service = ServiceParameters {
        name: record.target.as_str().into(),
        weight: u32::from(record.weight.max(1)),
        is_low_priority: record.priority != first,
    };
    ResolvedServer { address: SocketAddr::new(ip, record.port), service: Some(service) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(member: &ResolvedServer, peer: PeerConfig) -> Option<(String, u32, bool)> {
        let server = NamedServer { host: "s".into(), is_service: member.service.is_some(), port: 81, peer };
        let config = member.config(&server)?;
        Some((format!("{} {}", config.name, config.address), config.weight, config.backup))
    }

    #[test]
    fn service_record_sets_name_port_weight_and_backup_role() {
        let peer = PeerConfig { name: "app".into(), ..PeerConfig::new(PeerAddress::Unix("/".into())) };
        let record = |priority, weight| ServiceRecord { priority, weight, port: 8080, target: "one".into() };
        let ip = IpAddr::from([127, 0, 0, 1]);
        let (first, second) = (of_service(ip, &record(1, 0), 1), of_service(ip, &record(2, 7), 1));
        let one = || "one 127.0.0.1:8080".to_owned();
        assert_eq!(config(&first, peer.clone()), Some((one(), 1, false)));
        assert_eq!(config(&second, peer.clone()), Some((one(), 7, true)));
        let heavy = PeerConfig { weight: 3, ..peer.clone() };
        assert_eq!(config(&second, heavy), Some((one(), 3, true)));
        let backup = PeerConfig { backup: true, ..peer.clone() };
        assert_eq!(config(&first, backup.clone()), Some((one(), 1, true)));
        assert_eq!(config(&second, backup), None);
        let plain = ResolvedServer::new(SocketAddr::new(ip, 80));
        assert_eq!(config(&plain, peer), Some(("app 127.0.0.1:81".to_owned(), 1, false)));
    }
}
