//! Views and changes of the servers of a group (`upstream`) for administrators.

use std::sync::Arc;

use crate::config::PeerConfig;
use crate::edited_servers::EditError;
use crate::peer::PeerState;
use crate::servers::{GroupServer, ServerError};

/// Maximum length in bytes of a server's `route`: the length of the hexadecimal MD5 that identifies a server without a
/// route.
const LONGEST_ROUTE: usize = 32;

/// Change of a server, or parameters of a new server, by an administrator. `None` leaves a parameter unchanged, or uses
/// nginx's default for a new server. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerChange {
    /// New address or name of the server; the port is optional in `http` and required in `stream`.
    pub server: Option<String>,
    /// Name of the service to resolve (`service=`); only for a new server.
    pub service: Option<String>,
    /// Weight of the server, at least 1 (`weight=`).
    pub weight: Option<u32>,
    /// Maximum number of concurrent requests, 0 for no limit (`max_conns=`).
    pub max_conns: Option<u32>,
    /// Number of failures that make a peer unavailable, 0 to disable (`max_fails=`).
    pub max_fails: Option<u32>,
    /// Period in which failures count, and length of the unavailability after too many failures (`fail_timeout=`).
    pub fail_timeout_ms: Option<u64>,
    /// Duration of the slow start, 0 to disable (`slow_start=`).
    pub slow_start_ms: Option<u64>,
    /// `sticky` identifier of the peer (`route=`); empty for none.
    pub route: Option<String>,
    /// True for a backup (`backup`); only for a new server.
    pub backup: Option<bool>,
    /// True if the server gets no requests (`down`).
    pub down: Option<bool>,
    /// True if the server gets only requests with its `sticky` identifier (`drain`).
    pub drain: Option<bool>,
}

impl ServerChange {
    /// Applies the parameters that the change contains, except the address and the service, to a peer.
    pub(crate) fn apply(&self, peer: &mut PeerConfig) {
        fn put<T: Clone>(place: &mut T, said: Option<&T>) {
            if let Some(said) = said {
                place.clone_from(said);
            }
        }
        put(&mut peer.weight, self.weight.as_ref());
        put(&mut peer.max_conns, self.max_conns.as_ref());
        put(&mut peer.max_fails, self.max_fails.as_ref());
        put(&mut peer.fail_timeout_ms, self.fail_timeout_ms.as_ref());
        put(&mut peer.slow_start_ms, self.slow_start_ms.as_ref());
        put(&mut peer.backup, self.backup.as_ref());
        put(&mut peer.down, self.down.as_ref());
        put(&mut peer.drain, self.drain.as_ref());
        if let Some(route) = &self.route {
            peer.route = (!route.is_empty()).then(|| route.clone());
        }
    }
}

/// Returns whether a text is a valid `route`: at most 32 printable characters that are valid in a cookie and in the
/// configuration.
pub(crate) fn is_route(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b";,\"\\#{}".contains(&byte);
    text.len() <= LONGEST_ROUTE && text.bytes().all(is_plain)
}

/// Current configuration of a server of a group. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSnapshot {
    /// Identifier in the group, not reused until a reload changes the configured servers.
    pub id: u64,
    /// Address or name of the server.
    pub server: String,
    /// Name of the service to resolve (`service=`); `None` if the server is not a service.
    pub service: Option<String>,
    /// Weight of the server (`weight=`).
    pub weight: u32,
    /// Maximum number of concurrent requests, 0 for no limit (`max_conns=`).
    pub max_conns: u32,
    /// Number of failures that make a peer unavailable, 0 to disable (`max_fails=`).
    pub max_fails: u32,
    /// Period in which failures count, and length of the unavailability after too many failures (`fail_timeout=`).
    pub fail_timeout_ms: u64,
    /// Duration of the slow start, 0 to disable (`slow_start=`).
    pub slow_start_ms: u64,
    /// `sticky` identifier of the peer (`route=`); `None` if it is not configured.
    pub route: Option<String>,
    /// True for a backup (`backup`).
    pub backup: bool,
    /// True if the server is configured to get no requests. In the snapshot of an address to which a name resolved, an
    /// order of an administrator overrides the configuration; the snapshot of a server itself does not include orders.
    pub down: bool,
    /// True if the server gets only requests with its `sticky` identifier; orders are included as in `down`.
    pub drain: bool,
    /// Identifier and name of the server whose name resolved to this address; `None` for a server itself.
    pub parent: Option<(u64, String)>,
}

impl ServerSnapshot {
    pub(crate) fn of(id: u64, server: &GroupServer) -> Self {
        let peer = server.peer();
        Self {
            id,
            server: server.display_name(),
            service: server.service(),
            weight: peer.weight,
            max_conns: peer.max_conns,
            max_fails: peer.max_fails,
            fail_timeout_ms: peer.fail_timeout_ms,
            slow_start_ms: peer.slow_start_ms,
            route: peer.route.clone(),
            backup: peer.backup,
            down: peer.down,
            drain: peer.drain,
            parent: None,
        }
    }

    /// Returns the snapshot of a peer to whose address the name of `server` resolved.
    pub(crate) fn of_peer(
        (id, parent): (u64, u64),
        peer: &PeerConfig,
        state: &Arc<PeerState>,
        server: &GroupServer,
    ) -> Self {
        Self {
            server: peer.address.to_string(),
            service: None,
            down: state.ordered.is_down(peer),
            drain: state.ordered.drains(peer),
            parent: Some((parent, server.display_name())),
            ..Self::of(id, &GroupServer::Fixed(peer.clone()))
        }
    }
}

impl From<ServerError> for EditError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Address(why) => Self::Address(why),
            ServerError::NoService => Self::Service,
        }
    }
}
