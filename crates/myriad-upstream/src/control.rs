//! Run-time administration of a group of peers (`upstream`).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use myriad_conf::model::Balance;

use crate::clock;
use crate::config::PeerConfig;
use crate::edited_servers::EditError;
use crate::group::Group;
use crate::peer::PeerSnapshot;
use crate::peer_order::PeerOrder;
use crate::resolver::ResolverZone;
use crate::roster::Roster;
use crate::server_change::{ServerChange, ServerSnapshot, is_route};
use crate::servers::GroupServer;

/// Maximum number of servers of a group, including configured servers, that administrators can reach by adding servers.
const MAX_SERVERS: usize = 4096;

/// Handle to view and control the peers of a group at run time.
///
/// Orders apply to all workers immediately and persist over reloads while the peer remains in the group. Clones control
/// the same group.
#[derive(Clone, Debug)]
pub struct GroupControl(Arc<Roster>);

impl Group {
    /// Returns the administration handle of the group.
    pub fn control(&self) -> GroupControl {
        GroupControl(Arc::clone(&self.roster))
    }
}

impl GroupControl {
    /// Returns the name of the group.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the state of the peers of `server`, or of all peers if `None`, in the order of the configuration; peers
    /// of names resolved at run time are last. `server` is the name in the configuration or an address.
    pub fn peers(&self, server: Option<&str>) -> Vec<PeerSnapshot> {
        let (now, peers) = (clock::now(), self.0.peers());
        peers.snapshots(now).filter(|peer| server.is_none_or(|server| peer.is_of(server))).collect()
    }

    /// Applies an order to the peers of `server`, or to all peers if `None`, and returns their new state; empty if the
    /// server does not exist. `Up` also resets the failures of a peer, so that it is used immediately unless health
    /// checks exclude it.
    pub fn order(&self, server: Option<&str>, order: PeerOrder) -> Vec<PeerSnapshot> {
        let (now, peers) = (clock::now(), self.0.peers());
        let named: Vec<bool> =
            peers.snapshots(now).map(|peer| server.is_none_or(|server| peer.is_of(server))).collect();
        for ((config, state), named) in peers.configs.iter().zip(&peers.states).zip(named) {
            if named {
                state.order(order, config);
            }
        }
        self.0.wake();
        self.peers(server)
    }

    /// Returns the name of the zone; `None` without `zone`.
    pub fn zone(&self) -> Option<&str> {
        self.0.zone.as_ref().map(|zone| &*zone.name)
    }

    /// Returns the counters of the resolver that the group uses; `None` if it uses none, or without `status_zone=`.
    pub fn resolver_zone(&self) -> Option<Arc<ResolverZone>> {
        self.0.resolver.as_ref()?.0.zone.clone()
    }

    /// Returns the number of removed peers that still have active requests.
    pub fn zombies(&self) -> usize {
        self.0.zombies()
    }

    /// Returns the number of waiting requests, the maximum, and the number of requests rejected because the queue was
    /// full; `None` without `queue`.
    pub fn queue(&self) -> Option<(usize, u32, u64)> {
        let (line, most) = (self.0.wait_queue.as_ref()?, self.0.queue_limit?);
        Some((line.len(), most, self.0.edited.overflows.load(Relaxed)))
    }

    /// Resets the counters, average times and past downtime of the peers, the counters of their health checks, and the
    /// number of requests that the queue rejected.
    pub fn reset_counts(&self) {
        self.0.peers().states.iter().for_each(|state| state.reset_counts());
        self.0.edited.overflows.store(0, Relaxed);
    }

    /// Returns the current servers, each followed by the peers that its name resolves to.
    pub fn servers(&self) -> Vec<ServerSnapshot> {
        let (peers, entries) = {
            let now = self.0.lock();
            (Arc::clone(&now.peers), now.servers.clone())
        };
        let mut snapshots = Vec::new();
        for entry in entries {
            snapshots.push(ServerSnapshot::of(entry.id, &entry.server));
            for ((config, state), (id, parent)) in peers.configs.iter().zip(&peers.states).zip(&peers.ids) {
                if *parent == Some(entry.id) {
                    snapshots.push(ServerSnapshot::of_peer((*id, entry.id), config, state, &entry.server));
                }
            }
        }
        snapshots
    }

    /// Adds a server. Its peers exist immediately, or once its name is resolved. Requires `zone`. Fails if the group
    /// has 4096 servers, the address or a parameter is invalid, a name has no resolver, or the `state` file cannot be
    /// written.
    pub fn add(&self, change: &ServerChange) -> Result<ServerSnapshot, EditError> {
        let address = change.server.as_deref().unwrap_or_default();
        let zone = self.0.zone.as_ref().ok_or(EditError::Static)?;
        let mut server = GroupServer::of(address, change.service.as_deref(), zone.default_port)?;
        self.check(change, &server)?;
        change.apply(server.peer_mut());
        self.0.edit(|servers, next_id| {
            if servers.len() >= MAX_SERVERS {
                return Err(EditError::TooMany);
            }
            let id = *next_id;
            *next_id += 1;
            let snapshot = ServerSnapshot::of(id, &server);
            servers.push((id, server));
            Ok(snapshot)
        })
    }

    /// Changes the address or parameters of the server with this identifier. A change of `down` or `drain` removes
    /// administrator orders for its peers and resets their failures. Requires `zone`. Fails without any change, for
    /// example if no server has this identifier, or if `change.server` differs from the name of a server whose name is
    /// resolved at run time.
    pub fn change(&self, id: u64, change: &ServerChange) -> Result<ServerSnapshot, EditError> {
        let zone = self.0.zone.as_ref().ok_or(EditError::Static)?;
        self.reject_resolved_peer(id)?;
        let changed = self.0.edit(|servers, _| {
            let (_, server) =
                servers.iter_mut().find(|(known, _)| *known == id).ok_or(EditError::NotFound(id))?;
            if let Some(address) = &change.server
                && *address != server.display_name()
            {
                let GroupServer::Fixed(before) = server else { return Err(EditError::Immutable(id)) };
                let before = before.clone();
                *server = GroupServer::of(address, None, zone.default_port)?;
                let (address, name) = (server.peer().address.clone(), server.peer().name.clone());
                *server.peer_mut() = PeerConfig { address, name, ..before };
            }
            self.check(change, server)?;
            change.apply(server.peer_mut());
            Ok(ServerSnapshot::of(id, server))
        })?;
        if change.down.is_some() || change.drain.is_some() {
            let peers = self.0.peers();
            let own = peers.ids.iter().zip(&peers.states);
            own.filter(|((own, parent), _)| parent.unwrap_or(*own) == id)
                .for_each(|(_, state)| state.forget_order());
        }
        Ok(changed)
    }

    /// Removes the server with this identifier; its active requests can complete. Fails without `zone`, if no server
    /// has this identifier, and if the `state` file cannot be written.
    pub fn remove(&self, id: u64) -> Result<(), EditError> {
        self.reject_resolved_peer(id)?;
        self.0.edit(|servers, _| {
            let at = servers.iter().position(|(known, _)| *known == id).ok_or(EditError::NotFound(id))?;
            servers.remove(at);
            Ok(())
        })
    }

    /// Rejects the identifier of a peer that a server name resolved to: only the server of that name can be changed.
    fn reject_resolved_peer(&self, id: u64) -> Result<(), EditError> {
        let peers = self.0.peers();
        let is_peer = peers.ids.iter().any(|(own, parent)| *own == id && parent.is_some());
        if is_peer { Err(EditError::Immutable(id)) } else { Ok(()) }
    }

    fn check(&self, change: &ServerChange, server: &GroupServer) -> Result<(), EditError> {
        if matches!(server, GroupServer::Named(_)) && self.0.resolver.is_none() {
            return Err(EditError::NoResolver);
        }
        if change.route.as_deref().is_some_and(|route| !is_route(route)) {
            return Err(EditError::Route);
        }
        let balance = self.0.balance;
        let supports_backups =
            matches!(balance, Balance::RoundRobin | Balance::LeastConnections | Balance::LeastTime { .. });
        if change.backup == Some(true) && !supports_backups {
            return Err(EditError::NoBackup);
        }
        if change.slow_start_ms.is_some_and(|ms| ms > 0) && !supports_backups {
            return Err(EditError::SlowStart);
        }
        Ok(())
    }
}
