//! Status of servers in upstream groups, and commands to change it.

use crate::protocol::{
    AdminReply, PeerReport, ReplyEnd, UpstreamChange, UpstreamsRequest, WantedState, escape_bytes,
};
use myriad_log::LogLevel;
use myriad_upstream::{GroupControl, PeerOrder, PeerSnapshot};

use super::administrator::{Administrator, ReplyResult, ReplySink};

impl Administrator {
    pub(super) fn upstreams(&self, request: &UpstreamsRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let groups = match &request.group {
            Some(name) => self.groups_named(name)?,
            None => self.groups.iter().collect(),
        };
        for (block, group) in groups {
            for peer in group.peers(request.server.as_deref()) {
                if !tell(AdminReply::Peer(Box::new(report(block, group, peer)))) {
                    return Ok(ReplyEnd::default());
                }
            }
        }
        Ok(ReplyEnd::default())
    }

    /// Changes the state of servers of a group, and logs each change. Returns an error text if no group or no server
    /// matches.
    pub(super) fn change_upstream(&self, request: &UpstreamChange, tell: &mut ReplySink<'_>) -> ReplyResult {
        let server = request.server.as_deref();
        let groups = self.groups_named(&request.group)?;
        if groups.iter().all(|(_, group)| group.peers(server).is_empty()) {
            return Err(no_server(&groups, server.unwrap_or_default()));
        }
        let order = match request.state {
            WantedState::Up => PeerOrder::Up,
            WantedState::Drain => PeerOrder::Drain,
            WantedState::Down => PeerOrder::Down,
        };
        for (block, group) in groups {
            for peer in group.order(server, order) {
                let (state, name) = (request.state.as_str(), group.name());
                let line = format_args!(
                    "server {} of upstream \"{name}\": state set to {state} by an administrator",
                    peer.address
                );
                self.log.write(LogLevel::Notice, None, line);
                // All servers are changed, even if the client no longer reads the response.
                tell(AdminReply::Peer(Box::new(report(block, group, peer))));
            }
        }
        Ok(ReplyEnd::default())
    }

    /// Returns the upstream groups named `name`: at most one per block (`http`, `stream`). Returns an error text if
    /// there is none.
    fn groups_named(&self, name: &str) -> Result<Vec<&(&'static str, GroupControl)>, String> {
        let found: Vec<_> = self.groups.iter().filter(|(_, group)| group.name() == name).collect();
        if found.is_empty() {
            let there = listed(self.groups.iter().map(|(_, group)| group.name()));
            return Err(format!(
                "unknown upstream \"{}\"; available upstreams: {there}",
                escape_bytes(name.as_bytes())
            ));
        }
        Ok(found)
    }
}

fn no_server(groups: &[&(&'static str, GroupControl)], server: &str) -> String {
    let peers: Vec<_> = groups.iter().flat_map(|(_, group)| group.peers(None)).collect();
    let there = listed(peers.iter().map(|peer| peer.name.as_str()));
    format!("the upstream has no server \"{}\"; its servers: {there}", escape_bytes(server.as_bytes()))
}

/// Joins names for a message; after twenty, only the number of the others is given. Returns `none` without names.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    names.dedup();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}

/// Returns the status of a server of an upstream group.
pub(crate) fn report(block: &str, group: &GroupControl, peer: PeerSnapshot) -> PeerReport {
    PeerReport {
        block: block.to_owned(),
        group: group.name().to_owned(),
        server: peer.name,
        address: peer.address.to_string(),
        state: peer.status.as_str().to_owned(),
        ordered: peer.is_ordered,
        weight: peer.weight,
        backup: peer.backup,
        max_conns: peer.max_conns,
        active: peer.active,
        requests: peer.requests,
        failures: peer.failures,
        children: peer.pool.map(|pool| pool.total),
        children_idle: peer.pool.map(|pool| pool.idle),
        listen_queue: peer.pool.map(|pool| pool.listen_queue),
    }
}
