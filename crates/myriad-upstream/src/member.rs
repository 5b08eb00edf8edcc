//! The servers that a name stands for, as name servers tell them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::address::Address;
use crate::config::{NamedServer, PeerConfig};
use crate::resolver::message::{ServiceRecord, is_name};
use crate::resolver::{ResolveError, ResolverConfig, look_up, look_up_service};

/// Most servers of a service whose addresses are looked up; further ones of an answer are not used.
const MOST_SERVERS: usize = 128;

/// A server that a name stands for, or one address of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) address: SocketAddr,
    /// What a service says of it; none where the name is no service's.
    service: Option<OfService>,
}

/// What a service says of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfService {
    /// The name of the server.
    name: Arc<str>,
    weight: u32,
    /// Another server comes first.
    is_second: bool,
}

impl Member {
    /// A server without a service.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, service: None }
    }

    /// Whether a service has named it.
    pub(crate) fn is_of_service(&self) -> bool {
        self.service.is_some()
    }

    /// The configuration of the peer; none where it is not used. As in nginx a service's weight counts where the configuration says
    /// none, what does not come first is a backup, and is nothing where the server is a backup as a whole.
    pub(crate) fn config(&self, server: &NamedServer) -> Option<PeerConfig> {
        let mut address = self.address;
        if !server.is_service {
            // Before a reload it may have been another.
            address.set_port(server.port);
        }
        let mut config = PeerConfig { address: Address::Tcp(address), ..server.peer.clone() };
        if let Some(service) = &self.service {
            if service.is_second && config.backup {
                return None;
            }
            config.name = service.name.to_string();
            config.backup |= service.is_second;
            if config.weight == 1 {
                config.weight = service.weight;
            }
        }
        Some(config)
    }
}

/// The servers of a name, how long they hold in seconds, and servers whose own names have no address, with the reason.
pub(crate) struct Members {
    pub(crate) all: Vec<Member>,
    pub(crate) ttl_s: u32,
    pub(crate) lost: Vec<(String, ResolveError)>,
}

/// Looks up what a server's name stands for; `turn` is the name server to begin with.
pub(crate) async fn members(
    resolver: &Arc<ResolverConfig>,
    turn: usize,
    server: &NamedServer,
) -> Result<Members, ResolveError> {
    if !server.is_service {
        let found = look_up(resolver, turn, &server.host).await?;
        let member = |ip: &IpAddr| Member::new(SocketAddr::new(*ip, server.port));
        let all = found.addresses.iter().map(member).collect();
        return Ok(Members { all, ttl_s: found.ttl_s, lost: Vec::new() });
    }
    let found = look_up_service(resolver, turn, &server.host).await?;
    let first = found.servers.iter().map(|record| record.priority).min().unwrap_or_default();
    let mut told = Members { all: Vec::new(), ttl_s: found.ttl_s, lost: Vec::new() };
    let mut asked = JoinSet::new();
    for (number, record) in found.servers.into_iter().take(MOST_SERVERS).enumerate() {
        let resolver = Arc::clone(resolver);
        asked.spawn_local(async move {
            let found = if is_name(&record.target) {
                look_up(&resolver, turn, &record.target).await
            } else {
                // RFC 2782: a dot alone says that there is no such service.
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
                told.ttl_s = told.ttl_s.min(found.ttl_s);
                told.all.extend(found.addresses.iter().map(|ip| of_service(*ip, &record, first)));
            }
            Err(error) => {
                failed = failed.filter(|known: &ResolveError| !known.is_absence()).or(Some(error));
                told.lost.push((record.target, error));
            }
        }
    }
    match failed {
        // Nobody is left, perhaps only for now.
        Some(error) if told.all.is_empty() => Err(error),
        _ => Ok(told),
    }
}

fn of_service(ip: IpAddr, record: &ServiceRecord, first: u16) -> Member {
    let service = OfService {
        name: record.target.as_str().into(),
        weight: u32::from(record.weight.max(1)),
        is_second: record.priority != first,
    };
    Member { address: SocketAddr::new(ip, record.port), service: Some(service) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(member: &Member, peer: PeerConfig) -> Option<(String, u32, bool)> {
        let server = NamedServer { host: "s".into(), is_service: member.service.is_some(), port: 81, peer };
        let config = member.config(&server)?;
        Some((format!("{} {}", config.name, config.address), config.weight, config.backup))
    }

    #[test]
    fn a_service_says_name_port_weight_and_who_comes_second() {
        let peer = PeerConfig { name: "app".into(), ..PeerConfig::new(Address::Unix("/".into())) };
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
        let plain = Member::new(SocketAddr::new(ip, 80));
        assert_eq!(config(&plain, peer), Some(("app 127.0.0.1:81".to_owned(), 1, false)));
    }
}
