//! Interface of the protocols for requests to origins (HTTP, FastCGI, …).

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

/// Reason why a request to an origin could not be created. The client gets status 500, or with a cache another server
/// error or a stale page.
#[derive(Debug)]
pub enum MakeError {
    /// A variable could not be evaluated.
    Eval(EvalError),
    /// The client certificate for the origin could not be loaded; contains the message for the error log.
    Tls(String),
    /// The request exceeds a limit of the protocol, or lacks a key that the protocol requires; contains the message for
    /// the error log.
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

/// Request in the protocol of an origin, ready to be sent.
pub struct ProtocolRequest {
    /// Protocol of the request, with its head in the form of this protocol.
    pub protocol: Protocol,
    /// Method of the request.
    pub method: Method,
    /// Body of the request.
    pub body: RequestPayload,
    /// TLS settings of the connection; `None` without TLS.
    pub tls: Option<Rc<OriginTls>>,
}

/// Protocol for requests to origins, with its settings in a location.
pub trait OriginProtocol: Any + Send + Sync {
    /// Creates the request to the origin of the current location. `payload` is the body to send.
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        payload: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;

    /// Returns the URL of a peer for the error log, such as `fastcgi://127.0.0.1:9000`.
    fn show(&self, request: &Request, peer: &str) -> String;

    /// Evaluates a target with variables, once per request and before other methods of this trait use its value.
    /// Returns the step with which to continue if this fails, otherwise `None`.
    fn prepare(&self, _: &mut Exchange, _: &Template) -> Option<PhaseStep> {
        None
    }

    /// Returns the origin for a target with variables. The error is a status for the client.
    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16>;

    /// Returns true if requests need no call of [`OriginProtocol::prepare`], so that they may use the shortcut.
    fn is_prepared(&self) -> bool {
        true
    }

    /// Returns `None` if the protocol can send the method of the request. Otherwise returns the supported methods, and
    /// the client gets status 405.
    fn refuses(&self, _: &Request) -> Option<MethodSet> {
        None
    }

    /// Returns true if the protocol creates tunnels for the method CONNECT (`tunnel_pass`).
    fn tunnels(&self) -> bool {
        false
    }

    /// Returns true if a response with this status is always replaced by an error page of this server.
    fn intercepts(&self, _: u16) -> bool {
        false
    }

    /// Returns true if bodies are never buffered in either direction, regardless of `*_buffering`.
    fn is_unbuffered(&self) -> bool {
        false
    }

    /// Returns true if the body of a request can be sent as it arrives.
    fn takes_stream(&self, _: &RequestBody) -> bool {
        true
    }

    /// Returns true if the configuration sets the request field `field` for the origin, so that the client's value is
    /// not forwarded.
    fn replaces(&self, field: Known) -> bool;

    /// Returns true if this request has fields that are not forwarded because its field `Connection` lists their names.
    fn hides_nominated(&self, _: &Request) -> bool {
        false
    }

    /// Returns true if a response field belongs to the protocol itself, so that it is never forwarded.
    fn consumes_field(&self, _: Known) -> bool {
        false
    }

    /// Returns true if a response field is hidden by default, unless `*_pass_header` names it. `name` is in any case.
    fn hides(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns true if the origin may send interim responses (RFC 9110 section 15.2).
    fn has_interim(&self) -> bool {
        false
    }

    /// Returns true if trailers of the origin are forwarded.
    fn passes_trailers(&self) -> bool {
        false
    }

    /// Returns true if `Location` and similar fields of responses are rewritten (`proxy_redirect`).
    fn rewrites_redirects(&self) -> bool {
        false
    }

    /// Returns true if the rules of `proxy_redirect` and similar directives read no variables set by rewrite rules, so
    /// that `Location` and similar fields can also be rewritten for requests that use the shortcut.
    fn has_plain_redirects(&self) -> bool {
        true
    }

    /// Rewrites the lines `Location`, `Refresh` and `Set-Cookie` of a response. Called only if it has such lines.
    fn rewrite(&self, _: &mut Exchange, _: &mut ContentResponse) {}

    /// Adds header fields to the response that the protocol does not transmit, such as the media type.
    fn complete(&self, _: &mut Exchange, _: &mut ContentResponse) {}

    /// Returns true if this text, which the origin wrote to its error stream, makes the response unusable
    /// (`fastcgi_catch_stderr`).
    fn invalidates(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns the paths of the scripts that the origin may run, for explanations.
    fn scripts(&self) -> Vec<&Template> {
        Vec::new()
    }
}
