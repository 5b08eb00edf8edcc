//! What the protocols of origins do differently.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use myriad_http::{Known, Method, MethodSet};
use myriad_net::RequestBody;
use myriad_script::{EvalError, Template};
use myriad_upstream::{OriginTls, Protocol, RequestPayload};

use super::request_rules::RequestRules;
use super::who::Who;
use crate::exchange::{Answer, Exchange, Purpose, Request, Step};

/// Why a request could not be made; the client gets 500.
#[derive(Debug)]
pub enum MakeError {
    /// A variable has no value.
    Eval(EvalError),
    /// What is to be shown to the origin cannot be had; for the error log.
    Tls(String),
    /// The request is larger than the protocol can say; for the error log.
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

/// A request in the protocol that an origin speaks.
pub struct ProtocolRequest {
    /// Its head.
    pub protocol: Protocol,
    /// Its method.
    pub method: Method,
    /// The body that is sent.
    pub body: RequestPayload,
    /// How the connection is secured, if it is.
    pub tls: Option<Rc<OriginTls>>,
}

/// A protocol as a place speaks it: the settings that it alone has, compiled, and their use.
pub trait OriginProtocol: Any + Send + Sync {
    /// Makes the request of the current place.
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: Purpose<'_>,
        payload: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError>;

    /// A peer as the error log shows it: `fastcgi://127.0.0.1:9000`.
    fn show(&self, request: &Request, peer: &str) -> String;

    /// Makes what a target with variables says, once for each request, before anything asks for it. The step is the answer
    /// where nothing can be made.
    fn prepare(&self, _: &mut Exchange, _: &Template) -> Option<Step> {
        None
    }

    /// Who is asked, where the target holds variables.
    fn who(&self, exchange: &mut Exchange, target: &Template) -> Result<Who, u16>;

    /// Whether [`OriginProtocol::prepare`] has nothing to do, so that requests may take the short way.
    fn is_prepared(&self) -> bool {
        true
    }

    /// Returns the methods that the protocol can send if that of the request is not one of them; the request is answered with 405.
    fn refuses(&self, _: &Request) -> Option<MethodSet> {
        None
    }

    /// Whether it connects clients to the origin (CONNECT), which no other protocol does.
    fn tunnels(&self) -> bool {
        false
    }

    /// Whether an answer of that status is never passed on: an error of our own takes its place.
    fn intercepts(&self, _: u16) -> bool {
        false
    }

    /// Whether bodies always pass as they come, both ways, whatever `*_buffering` says.
    fn is_unbuffered(&self) -> bool {
        false
    }

    /// Whether a request's body may be sent as it comes.
    fn takes_stream(&self, _: &RequestBody) -> bool {
        true
    }

    /// Whether the configuration writes what stands in the place of the client's field.
    fn replaces(&self, field: Known) -> bool;

    /// Whether the origin is not told something that the visitor said, since `Connection` names it.
    fn hides_nominated(&self, _: &Request) -> bool {
        false
    }

    /// Whether a field of the answer is the protocol's own, and never passed on.
    fn ends(&self, _: Known) -> bool {
        false
    }

    /// Whether a field of the answer is not passed on unless `*_pass_header` says so.
    fn hides(&self, _: &[u8]) -> bool {
        false
    }

    /// Whether interim responses may come (RFC 9110 section 15.2).
    fn has_interim(&self) -> bool {
        false
    }

    /// Whether fields behind the origin's body are passed on.
    fn passes_trailers(&self) -> bool {
        false
    }

    /// Whether the origin's redirects are rewritten.
    fn rewrites_redirects(&self) -> bool {
        false
    }

    /// Whether what rewrites them reads nothing that rules have set, so that the rules may have been run for an earlier
    /// request.
    fn has_plain_redirects(&self) -> bool {
        true
    }

    /// Rewrites the `Location`, `Refresh` and `Set-Cookie` lines of an answer. It is not called where there are none.
    fn rewrite(&self, _: &mut Exchange, _: &mut Answer) {}

    /// Adds to an answer what the protocol cannot tell, such as its type.
    fn complete(&self, _: &mut Exchange, _: &mut Answer) {}

    /// Whether a text on the origin's error stream spoils the answer.
    fn spoils(&self, _: &[u8]) -> bool {
        false
    }

    /// The files that the origin is told to run, for explanations.
    fn scripts(&self) -> Vec<&Template> {
        Vec::new()
    }
}
