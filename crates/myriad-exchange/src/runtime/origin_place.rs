//! How an origin is asked, whatever it speaks.

use std::any::Any;
use std::sync::Arc;

use myriad_conf::Span;
use myriad_script::Template;

use super::Caches;
use super::origin_group::OriginGroup;
use super::origin_protocol::OriginProtocol;
use super::origin_rules::{AheadRules, AnswerRules, FetchRules};
use super::request_rules::RequestRules;
use crate::exchange::{Exchange, Handler, Step};

/// How an origin is asked.
pub struct OriginPlace {
    /// Who is asked.
    pub target: Target,
    /// How its protocol is spoken.
    pub protocol: Box<dyn OriginProtocol>,
    /// What is passed on of a request.
    pub request: RequestRules,
    /// What of an answer goes to the visitor.
    pub answer: AnswerRules,
    /// How far ahead of the visitor an answer is read.
    pub ahead: AheadRules,
    /// How long, how often and from where the origin is asked.
    pub fetch: FetchRules,
    /// `*_cache`.
    pub cache: Caches,
    /// `*_store`; none where nothing is stored.
    pub store: Option<StoreRules>,
}

/// What an origin's answers are stored as.
pub struct StoreRules {
    /// The path of the file.
    pub path: Template,
    /// The mode of new files.
    pub mode: u32,
    /// Where the path is written.
    pub written: Span,
}

impl OriginPlace {
    /// Makes what a target with variables says; the step is the answer where there is none to be made, or the protocol cannot ask.
    pub fn prepare(&self, exchange: &mut Exchange) -> Option<Step> {
        if let Some(supported) = self.protocol.refuses(&exchange.request) {
            return Some(Step::method_not_allowed(&mut exchange.request, supported));
        }
        match &self.target {
            Target::Group(_) => None,
            Target::Variable(template) => self.protocol.prepare(exchange, template),
        }
    }

    /// The place as that protocol speaks it; none where it speaks another.
    pub fn spoken<P: OriginProtocol>(&self) -> Option<&P> {
        let protocol: &dyn Any = &*self.protocol;
        protocol.downcast_ref()
    }

    /// Whether a request's body goes to the origin as it comes.
    pub fn streams(&self, body: &myriad_net::RequestBody) -> bool {
        let is_unbuffered = !self.request.buffering || self.protocol.is_unbuffered();
        is_unbuffered && self.request.pass_body && self.protocol.takes_stream(body)
    }
}

/// Who is asked.
pub enum Target {
    /// A group that the configuration names, or an address.
    Group(Arc<OriginGroup>),
    /// A text with variables: a group's name or an address.
    Variable(Template),
}

impl dyn Handler {
    /// The origin that it asks, if it asks one.
    pub fn origin(&self) -> Option<&Arc<OriginPlace>> {
        self.compiled()?.downcast_ref()
    }

    /// The same while the configuration is compiled and nobody else has it.
    pub fn origin_mut(&mut self) -> Option<&mut OriginPlace> {
        Arc::get_mut(self.compiled_mut()?.downcast_mut::<Arc<OriginPlace>>()?)
    }
}
