//! What is asked of a visitor before a place's content: nginx's pre-access and access phases, compiled.

use std::net::IpAddr;

use myriad_script::{Assignment, Template};

use super::{ConnectionLimits, RequestLimits};

/// The checks of a place. A place without any has no gate at all.
pub(crate) struct Gate {
    /// `satisfy any`: one check that lets the visitor in is enough.
    pub any: bool,
    /// `limit_req`.
    pub requests: Option<RequestLimits>,
    /// `limit_conn`.
    pub connections: Option<ConnectionLimits>,
    /// `allow` and `deny` in order: whether it allows, and whom it covers.
    pub networks: Vec<(bool, Network)>,
    /// `auth_basic`, where a file is given too.
    pub basic: Option<BasicRules>,
    /// `auth_request`.
    pub auth_request: Option<AuthRequest>,
    /// `auth_delay`, milliseconds that a 401 is held back.
    pub delay_ms: u64,
}

impl Gate {
    /// Whether nothing is asked.
    pub(crate) fn is_open(&self) -> bool {
        let limited = self.requests.is_some() || self.connections.is_some();
        !limited && self.networks.is_empty() && self.basic.is_none() && self.auth_request.is_none()
    }
}

/// `auth_request` and `auth_request_set`.
pub(crate) struct AuthRequest {
    /// The URI that is asked.
    pub uri: Box<[u8]>,
    /// What is taken from the subrequest, in order.
    pub sets: Vec<Assignment>,
}

/// `auth_basic`.
pub(crate) struct BasicRules {
    /// The realm; `off` asks for nothing.
    pub realm: Template,
    /// `auth_basic_user_file`.
    pub file: Template,
    /// What a relative file name starts from.
    pub folder: Box<[u8]>,
}

/// What an access rule covers; made from the configuration's own form.
pub(crate) struct Network(pub Box<dyn Fn(Option<IpAddr>) -> bool + Send + Sync>);
