//! Settings of a location for requests to an origin.

use std::any::Any;
use std::sync::Arc;

use myriad_conf::Span;
use myriad_script::Template;

use super::Caches;
use super::origin_group::OriginGroup;
use super::origin_protocol::OriginProtocol;
use super::origin_rules::{AheadRules, AnswerRules, FetchRules};
use super::request_rules::RequestRules;
use crate::exchange::{Exchange, Handler, PhaseStep};

/// Settings of a location for requests to an origin, whatever its protocol.
pub struct OriginPlace {
    /// Group or address to which requests are sent.
    pub target: OriginTarget,
    /// Protocol of the requests, such as FastCGI, with its settings.
    pub protocol: Box<dyn OriginProtocol>,
    /// Parts of the client's request that are forwarded.
    pub request: RequestRules,
    /// Parts of the origin's response that are forwarded or interpreted.
    pub answer: AnswerRules,
    /// Buffering of responses that arrive faster than the client reads.
    pub ahead: AheadRules,
    /// Timeouts, retries and local address of requests.
    pub fetch: FetchRules,
    /// `*_cache` and related directives: caching of the origin's responses.
    pub cache: Caches,
    /// `*_store`; `None` if responses are not stored as files.
    pub store: Option<StoreRules>,
}

/// Storage of an origin's responses as files (`*_store`).
pub struct StoreRules {
    /// Path of the file in which a response is stored.
    pub path: Template,
    /// Permissions of new files, as in `chmod`.
    pub mode: u32,
    /// Position of the directive in the configuration, for messages.
    pub written: Span,
}

impl OriginPlace {
    /// Prepares a request to the origin: evaluates a target with variables. Returns the step with which to continue if
    /// the request cannot be sent, because the evaluation failed or the protocol does not support the method; otherwise
    /// `None`.
    pub fn prepare(&self, exchange: &mut Exchange) -> Option<PhaseStep> {
        if let Some(supported) = self.protocol.refuses(&exchange.request) {
            return Some(PhaseStep::method_not_allowed(&mut exchange.request, supported));
        }
        match &self.target {
            OriginTarget::Group(_) => None,
            OriginTarget::Variable(template) => self.protocol.prepare(exchange, template),
        }
    }

    /// Returns the settings of protocol `P`; `None` if the protocol is another.
    pub fn protocol_as<P: OriginProtocol>(&self) -> Option<&P> {
        let protocol: &dyn Any = &*self.protocol;
        protocol.downcast_ref()
    }

    /// Returns true if a request's body is forwarded as it arrives, without buffering.
    pub fn streams(&self, body: &myriad_net::RequestBody) -> bool {
        let is_unbuffered = !self.request.buffering || self.protocol.is_unbuffered();
        is_unbuffered && self.request.pass_body && self.protocol.takes_stream(body)
    }
}

/// Target of requests to an origin.
pub enum OriginTarget {
    /// Group defined by an `upstream` block, or a single address.
    Group(Arc<OriginGroup>),
    /// Text with variables that evaluates to the name of a group or to an address.
    Variable(Template),
}

impl dyn Handler {
    /// Returns the settings for requests to an origin; `None` if the handler contacts none.
    pub fn origin(&self) -> Option<&Arc<OriginPlace>> {
        self.compiled()?.downcast_ref()
    }

    /// Returns the settings for requests to an origin mutably, while the configuration is being compiled; `None` if the
    /// handler contacts none, or if its settings are already shared.
    pub fn origin_mut(&mut self) -> Option<&mut OriginPlace> {
        Arc::get_mut(self.compiled_mut()?.downcast_mut::<Arc<OriginPlace>>()?)
    }
}
