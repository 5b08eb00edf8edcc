//! Common implementation of SCGI and uwsgi: a request is a CGI environment followed by the body.

use myriad_http::Known;
use myriad_net::RequestBody;
use myriad_script::Template;
use myriad_upstream::RequestPayload;

use super::CgiPlace;
use crate::group;
use myriad_exchange::exchange::{Exchange, FetchPurpose, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};

/// Operations that differ between SCGI and uwsgi.
pub(crate) trait CgiProtocol: Send + Sync {
    /// Returns the configured environment parameters.
    fn environment(&self) -> &CgiPlace;

    /// Returns the URL scheme that precedes the peer's address in the error log, without `://`.
    fn scheme(&self) -> &'static str;

    /// Builds the request to the origin of the current location.
    fn request(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;
}

/// SCGI or uwsgi, with its settings in a location.
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

    /// Returns true only for a body of known length, because the CGI environment contains the length.
    fn takes_stream(&self, body: &RequestBody) -> bool {
        body.length().is_some()
    }

    fn replaces(&self, field: Known) -> bool {
        self.0.environment().replaces(field)
    }

    /// Returns true for `Status`, which sets the status of the response and is not forwarded.
    fn consumes_field(&self, known: Known) -> bool {
        known == Known::Status
    }

    fn scripts(&self) -> Vec<&Template> {
        self.0.environment().scripts()
    }
}
