//! A group in the hands of administrators.

use std::sync::Arc;

use crate::clock;
use crate::group::Group;
use crate::order::PeerOrder;
use crate::peer::PeerSnapshot;
use crate::roster::Roster;

/// A group whose peers are seen and given orders while it runs. Orders hold for all workers at once, and over reloads for as long as
/// the group has the peer. Clones are the same group.
#[derive(Clone, Debug)]
pub struct GroupControl(Arc<Roster>);

impl Group {
    /// The group for administrators.
    pub fn control(&self) -> GroupControl {
        GroupControl(Arc::clone(&self.roster))
    }
}

impl GroupControl {
    /// The name of the group.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// How the peers of a server are doing, or all of them, in the order of the configuration. A server is named as the configuration
    /// names it, or by an address.
    pub fn peers(&self, server: Option<&str>) -> Vec<PeerSnapshot> {
        let (now, peers) = (clock::now(), self.0.peers());
        let all = peers.configs.iter().zip(&peers.states).map(|(config, state)| state.snapshot(config, now));
        all.filter(|peer| server.is_none_or(|server| peer.is_of(server))).collect()
    }

    /// Gives an order to the peers of a server, or to all, and tells how they are doing now: none where no server is called so. A peer
    /// that is to be up is tried at once, whatever its failures.
    pub fn order(&self, server: Option<&str>, order: PeerOrder) -> Vec<PeerSnapshot> {
        let (now, peers) = (clock::now(), self.0.peers());
        for (config, state) in peers.configs.iter().zip(&peers.states) {
            if server.is_none_or(|server| state.snapshot(config, now).is_of(server)) {
                state.order(order, config);
            }
        }
        self.0.wake();
        self.peers(server)
    }
}
