//! How an origin is asked, whatever it speaks.

use std::any::Any;
use std::sync::Arc;

use myriad_script::Template;
use myriad_upstream::Timeouts as OriginTimeouts;

use super::Caches;
use super::origin_group::OriginGroup;
use super::origin_protocol::OriginProtocol;
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
    /// Fields not passed to the client, lower case.
    pub hide: Vec<Box<[u8]>>,
    /// Fields passed although hidden by default, lower case.
    pub pass: Vec<Box<[u8]>>,
    /// Whether `Server` or `Date` are among [`OriginPlace::pass`].
    pub passes_head: bool,
    /// Whether interim responses go to the visitor.
    pub passes_interim: bool,
    /// `*_intercept_errors`.
    pub intercept_errors: bool,
    /// `*_ignore_client_abort`.
    pub ignore_client_abort: bool,
    /// `*_buffering`.
    pub buffering: bool,
    /// How much of an answer is read ahead in memory, bytes (`*_buffers`).
    pub ahead_memory: u64,
    /// How much of it in a file, bytes (`*_max_temp_file_size`).
    pub ahead_file: u64,
    /// `*_limit_rate`, unless it is a plain 0.
    pub limit_rate: Option<Template>,
    /// `*_force_ranges`.
    pub force_ranges: bool,
    /// Which `X-Accel-*` fields are not obeyed.
    pub ignore_accel: myriad_conf::settings::AcceleratorHeaders,
    /// `*_connect_timeout` and its like.
    pub timeouts: OriginTimeouts,
    /// `*_next_upstream` and its like.
    pub next: myriad_conf::settings::NextUpstream,
    /// `*_buffer_size`: most bytes of an answer's head.
    pub head_bytes: usize,
    /// `*_cache`.
    pub cache: Caches,
    /// `*_bind`.
    pub bind: Option<Template>,
}

impl OriginPlace {
    /// Makes what a target with variables says; the step is the answer where there is none to be made.
    pub fn prepare(&self, exchange: &mut Exchange) -> Option<Step> {
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
        !self.request.buffering && self.request.pass_body && self.protocol.takes_stream(body)
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
