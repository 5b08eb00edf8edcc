//! Interface of the origin protocols.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use myriad_http::{Known, Method, MethodSet};
use myriad_net::RequestBody;
use myriad_script::{EvalError, Template};
use myriad_upstream::{OriginTls, Protocol, RequestPayload};

use super::request_rules::RequestRules;
use super::upstream_target::UpstreamTarget;
use crate::exchange::{ContentResponse, Exchange, FetchPurpose, PhaseStep, Request};

/// Reason why a request could not be created; the client gets 500.
#[derive(Debug)]
pub enum MakeError {
    /// A variable has no value.
    Eval(EvalError),
    /// The client certificate for the origin could not be loaded; text for the error log.
    Tls(String),
    /// The request exceeds the size limit of the protocol; text for the error log.
    Size(String),
}

impl From<EvalError> for MakeError {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eval(error) => error.fmt(f),
            Self::Tls(why) | Self::Size(why) => f.write_str(why),
        }
    }
}

/// Request in the protocol of an origin.
pub struct ProtocolRequest {
    /// Head.
    pub protocol: Protocol,
    /// Method.
    pub method: Method,
    /// Body.
    pub body: RequestPayload,
    /// TLS settings of the connection, if it is encrypted.
    pub tls: Option<Rc<OriginTls>>,
}

/// Protocol with its settings in a place, compiled.
pub trait OriginProtocol: Any + Send + Sync {
    /// Creates the request for the current place.
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        payload: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;

    /// Returns the notation of a peer in the error log: `fastcgi://127.0.0.1:9000`.
    fn show(&self, request: &Request, peer: &str) -> String;

    /// Evaluates a target with variables, once per request, before the result is used. Returns the response step if
    /// this fails.
    fn prepare(&self, _: &mut Exchange, _: &Template) -> Option<PhaseStep> {
        None
    }

    /// Returns the peer or group for a target with variables.
    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16>;

    /// Returns whether [`OriginProtocol::prepare`] has nothing to do, so that requests may use the shortcut.
    fn is_prepared(&self) -> bool {
        true
    }

    /// Returns the supported methods if the protocol cannot send that of the request, which is then answered with 405.
    fn refuses(&self, _: &Request) -> Option<MethodSet> {
        None
    }

    /// Returns whether the protocol creates tunnels to the origin (CONNECT).
    fn tunnels(&self) -> bool {
        false
    }

    /// Returns whether a response with that status is always replaced by an error of this server.
    fn intercepts(&self, _: u16) -> bool {
        false
    }

    /// Returns whether bodies are never buffered in either direction, independently of `*_buffering`.
    fn is_unbuffered(&self) -> bool {
        false
    }

    /// Returns whether a request's body may be streamed.
    fn takes_stream(&self, _: &RequestBody) -> bool {
        true
    }

    /// Returns whether the configuration replaces the client's field.
    fn replaces(&self, field: Known) -> bool;

    /// Returns whether a field of the client is not forwarded because `Connection` names it.
    fn hides_nominated(&self, _: &Request) -> bool {
        false
    }

    /// Returns whether a response field belongs to the protocol and is never forwarded.
    fn consumes_field(&self, _: Known) -> bool {
        false
    }

    /// Returns whether a response field is hidden unless `*_pass_header` permits it.
    fn hides(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns whether the origin may send interim responses (RFC 9110 section 15.2).
    fn has_interim(&self) -> bool {
        false
    }

    /// Returns whether trailers of the origin are forwarded.
    fn passes_trailers(&self) -> bool {
        false
    }

    /// Returns whether redirects of the origin are rewritten.
    fn rewrites_redirects(&self) -> bool {
        false
    }

    /// Returns whether rewriting redirects reads no variables set by rules, so that the result of the rules for an
    /// earlier request can be reused.
    fn has_plain_redirects(&self) -> bool {
        true
    }

    /// Rewrites the `Location`, `Refresh` and `Set-Cookie` lines of a response. It is called only if the response has
    /// such lines.
    fn rewrite(&self, _: &mut Exchange, _: &mut ContentResponse) {}

    /// Adds fields that the protocol does not transmit, such as the media type.
    fn complete(&self, _: &mut Exchange, _: &mut ContentResponse) {}

    /// Returns whether a text on the origin's error stream invalidates the response.
    fn invalidates(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns the paths of the scripts that the origin runs, for explanations.
    fn scripts(&self) -> Vec<&Template> {
        Vec::new()
    }
}
