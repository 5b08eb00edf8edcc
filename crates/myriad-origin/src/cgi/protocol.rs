//! Protocols that tell a CGI environment and send the body behind it: what they do alike.

use myriad_http::Known;
use myriad_net::RequestBody;
use myriad_script::Template;
use myriad_upstream::RequestPayload;

use super::CgiPlace;
use crate::group;
use myriad_exchange::exchange::{Exchange, Purpose, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, Who};

/// What such a protocol does in a way of its own.
pub(crate) trait CgiProtocol: Send + Sync {
    /// The environment that the configuration writes.
    fn environment(&self) -> &CgiPlace;

    /// What a peer is shown by in the error log, without `://`.
    fn scheme(&self) -> &'static str;

    /// Makes the request of the current place.
    fn request(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: Purpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;
}

/// A place whose origin speaks such a protocol.
pub(crate) struct CgiOrigin<P>(pub P);

impl<P: CgiProtocol + 'static> OriginProtocol for CgiOrigin<P> {
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: Purpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        self.0.request(exchange, rules, purpose, body)
    }

    fn show(&self, _: &Request, peer: &str) -> String {
        format!("{}://{peer}", self.0.scheme())
    }

    fn who(&self, exchange: &mut Exchange, target: &Template) -> Result<Who, u16> {
        group::named(exchange, target)
    }

    /// The environment tells the length of a body, ahead of it.
    fn takes_stream(&self, body: &RequestBody) -> bool {
        body.length().is_some()
    }

    fn replaces(&self, field: Known) -> bool {
        self.0.environment().replaces(field)
    }

    /// A `Status` is in the status line.
    fn ends(&self, known: Known) -> bool {
        known == Known::Status
    }

    fn scripts(&self) -> Vec<&Template> {
        self.0.environment().scripts()
    }
}
