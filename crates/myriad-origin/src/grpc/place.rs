//! Requests to gRPC origins.

use myriad_exchange::exchange::{Exchange, FetchPurpose, PhaseStep, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};
use myriad_http::Known;
use myriad_script::Template;
use myriad_upstream::RequestPayload;

use crate::http::{HttpPlace, PassUrl, url};

/// Compiled `grpc_*` settings of a location: an HTTP origin with the differences of gRPC.
pub(super) struct GrpcPlace(pub HttpPlace);

impl OriginProtocol for GrpcPlace {
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        payload: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        self.0.make(exchange, rules, purpose, payload)
    }

    fn show(&self, request: &Request, peer: &str) -> String {
        // `HttpPlace` returns the schemes `http` and `https`.
        self.0.show(request, peer).replacen("http", "grpc", 1)
    }

    fn prepare(&self, exchange: &mut Exchange, target: &Template) -> Option<PhaseStep> {
        url::prepare(exchange, target, PassUrl::of_grpc)
    }

    fn upstream_target(&self, exchange: &mut Exchange, _: &Template) -> Result<UpstreamTarget, u16> {
        url::upstream_target(exchange, &self.0)
    }

    fn is_prepared(&self) -> bool {
        self.0.is_prepared()
    }

    fn is_unbuffered(&self) -> bool {
        true
    }

    fn replaces(&self, field: Known) -> bool {
        self.0.replaces(field)
    }

    fn hides_nominated(&self, request: &Request) -> bool {
        self.0.hides_nominated(request)
    }

    fn has_interim(&self) -> bool {
        true
    }

    fn passes_trailers(&self) -> bool {
        true
    }
}
