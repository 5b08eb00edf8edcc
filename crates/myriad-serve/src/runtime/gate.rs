//! What is asked of a visitor before a place's content: nginx's pre-access and access phases, compiled.

use std::net::IpAddr;

use myriad_script::Assignment;

/// The checks of a place. A place without any has no gate at all.
pub(crate) struct Gate {
    /// `satisfy any`: one check that lets the visitor in is enough.
    pub any: bool,
    /// `allow` and `deny` in order: whether it allows, and whom it covers.
    pub networks: Vec<(bool, Network)>,
    /// `auth_request`.
    pub auth_request: Option<AuthRequest>,
    /// `auth_delay`, milliseconds that a 401 is held back.
    pub delay_ms: u64,
}

impl Gate {
    /// Whether nothing is asked.
    pub(crate) fn is_open(&self) -> bool {
        self.networks.is_empty() && self.auth_request.is_none()
    }
}

/// `auth_request` and `auth_request_set`.
pub(crate) struct AuthRequest {
    /// The URI that is asked.
    pub uri: Box<[u8]>,
    /// What is taken from the subrequest, in order.
    pub sets: Vec<Assignment>,
}

/// What an access rule covers; made from the configuration's own form.
pub(crate) struct Network(pub Box<dyn Fn(Option<IpAddr>) -> bool + Send + Sync>);
