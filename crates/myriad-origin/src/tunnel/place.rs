//! Connections for tunnels.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, FetchPurpose, Request};
use myriad_exchange::runtime::{
    MakeError, OriginGroup, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget,
};
use myriad_http::{Known, Method, MethodSet};
use myriad_log::LogLevel;
use myriad_script::Template;
use myriad_upstream::{Protocol, RequestPayload};

/// Compiled `tunnel_pass` of a location.
pub(super) struct TunnelPlace {
    /// Groups by value of the target's variable; empty if the target has no variable.
    pub named: HashMap<Box<[u8]>, Arc<OriginGroup>>,
}

impl OriginProtocol for TunnelPlace {
    fn make(
        &self,
        _: &mut Exchange,
        _: RequestRules,
        _: FetchPurpose<'_>,
        _: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let (protocol, method) = (Protocol::Tunnel, Method::Connect);
        Ok(ProtocolRequest { protocol, method, body: RequestPayload::Empty, tls: None })
    }

    fn show(&self, _: &Request, peer: &str) -> String {
        peer.to_owned()
    }

    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16> {
        let mut name = Vec::new();
        let Exchange { request, frame } = exchange;
        if target.eval(request, frame, &mut name).is_ok()
            && let Some(group) = self.named.get(&*name)
        {
            return Ok(UpstreamTarget::Group(Arc::clone(group)));
        }
        request.log(LogLevel::Error, format_args!("no tunnel is configured for \"{}\"", name.escape_ascii()));
        Err(403)
    }

    fn refuses(&self, request: &Request) -> Option<MethodSet> {
        (!request.is_connect()).then_some(MethodSet::of(&[Method::Connect]))
    }

    fn tunnels(&self) -> bool {
        true
    }

    fn replaces(&self, _: Known) -> bool {
        false
    }
}
