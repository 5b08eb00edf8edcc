//! Common implementation of protocols that send a CGI environment followed by the body.

use myriad_http::Known;
use myriad_net::RequestBody;
use myriad_script::Template;
use myriad_upstream::RequestPayload;

use super::CgiPlace;
use crate::group;
use myriad_exchange::exchange::{Exchange, FetchPurpose, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};

/// Protocol-specific part of such a protocol.
pub(crate) trait CgiProtocol: Send + Sync {
    /// Returns the configured environment.
    fn environment(&self) -> &CgiPlace;

    /// Returns the scheme shown before the peer in the error log, without `://`.
    fn scheme(&self) -> &'static str;

    /// Builds the request of the current place.
    fn request(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;
}

/// Place whose origin uses such a protocol.
pub(crate) struct CgiOrigin<P>(pub P);

impl<P: CgiProtocol + 'static> OriginProtocol for CgiOrigin<P> {
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        self.0.request(exchange, rules, purpose, body)
    }

    fn show(&self, _: &Request, peer: &str) -> String {
        format!("{}://{peer}", self.0.scheme())
    }

    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16> {
        group::target_by_name(exchange, target)
    }

    /// The environment contains the length of the body, which must be known in advance.
    fn takes_stream(&self, body: &RequestBody) -> bool {
        body.length().is_some()
    }

    fn replaces(&self, field: Known) -> bool {
        self.0.environment().replaces(field)
    }

    /// `Status` becomes the status line.
    fn consumes_field(&self, known: Known) -> bool {
        known == Known::Status
    }

    fn scripts(&self) -> Vec<&Template> {
        self.0.environment().scripts()
    }
}
