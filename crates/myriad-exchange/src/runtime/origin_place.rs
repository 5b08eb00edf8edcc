//! Settings of a place for requests to an origin, independent of the protocol.

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

/// Settings of a place for requests to an origin.
pub struct OriginPlace {
    /// Target of requests.
    pub target: OriginTarget,
    /// Settings of the protocol.
    pub protocol: Box<dyn OriginProtocol>,
    /// Forwarded parts of a request.
    pub request: RequestRules,
    /// Forwarded parts of a response.
    pub answer: AnswerRules,
    /// Buffering of responses ahead of the client.
    pub ahead: AheadRules,
    /// Timeouts, retries and local address.
    pub fetch: FetchRules,
    /// `*_cache`.
    pub cache: Caches,
    /// `*_store`; `None` if responses are not stored as files.
    pub store: Option<StoreRules>,
}

/// Storage of an origin's responses as files.
pub struct StoreRules {
    /// Path of the file.
    pub path: Template,
    /// Mode of new files.
    pub mode: u32,
    /// Position of the path in the configuration.
    pub written: Span,
}

impl OriginPlace {
    /// Evaluates a target with variables. Returns a step if the request cannot be sent: the evaluation failed or the
    /// protocol does not support the method.
    pub fn prepare(&self, exchange: &mut Exchange) -> Option<PhaseStep> {
        if let Some(supported) = self.protocol.refuses(&exchange.request) {
            return Some(PhaseStep::method_not_allowed(&mut exchange.request, supported));
        }
        match &self.target {
            OriginTarget::Group(_) => None,
            OriginTarget::Variable(template) => self.protocol.prepare(exchange, template),
        }
    }

    /// Returns the protocol settings if the protocol is `P`.
    pub fn protocol_as<P: OriginProtocol>(&self) -> Option<&P> {
        let protocol: &dyn Any = &*self.protocol;
        protocol.downcast_ref()
    }

    /// Returns whether a request's body is streamed to the origin without buffering.
    pub fn streams(&self, body: &myriad_net::RequestBody) -> bool {
        let is_unbuffered = !self.request.buffering || self.protocol.is_unbuffered();
        is_unbuffered && self.request.pass_body && self.protocol.takes_stream(body)
    }
}

/// Target of requests.
pub enum OriginTarget {
    /// Group defined by the configuration, or an address.
    Group(Arc<OriginGroup>),
    /// Text with variables that evaluates to a group's name or an address.
    Variable(Template),
}

impl dyn Handler {
    /// Returns the origin settings, if the handler contacts an origin.
    pub fn origin(&self) -> Option<&Arc<OriginPlace>> {
        self.compiled()?.downcast_ref()
    }

    /// Returns the origin settings mutably, while the configuration is compiled and not shared yet.
    pub fn origin_mut(&mut self) -> Option<&mut OriginPlace> {
        Arc::get_mut(self.compiled_mut()?.downcast_mut::<Arc<OriginPlace>>()?)
    }
}
