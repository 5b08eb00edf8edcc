//! Requests to memcached.

use myriad_exchange::exchange::media_type_of;
use myriad_exchange::exchange::{ContentResponse, Exchange, FetchPurpose, GET_HEAD, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};
use myriad_http::{Known, MethodSet};
use myriad_script::Template;
use myriad_upstream::{MemcachedGet, Protocol, RequestPayload};

use crate::group;

/// Compiled `memcached_*` settings of a location that other protocols do not have.
pub(super) struct MemcachedPlace {
    /// Key of the value to request from memcached (`$memcached_key`).
    pub key: Template,
    /// Bit mask in the flags of a value that marks it as compressed (`memcached_gzip_flag`); 0 for none.
    pub gzip_flag: u32,
}

impl OriginProtocol for MemcachedPlace {
    fn make(
        &self,
        exchange: &mut Exchange,
        _: RequestRules,
        _: FetchPurpose<'_>,
        _: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let Exchange { request, frame } = exchange;
        let mut key = Vec::new();
        self.key.eval(request, frame, &mut key)?;
        if key.is_empty() {
            return Err(MakeError::Size("the \"$memcached_key\" variable is not set".to_owned()));
        }
        let method = request.received.head.method();
        let protocol = Protocol::Memcached(MemcachedGet::new(&key, self.gzip_flag));
        Ok(ProtocolRequest { protocol, method, body: RequestPayload::Empty, tls: None })
    }

    fn show(&self, _: &Request, peer: &str) -> String {
        format!("memcached://{peer}")
    }

    fn upstream_target(&self, exchange: &mut Exchange, target: &Template) -> Result<UpstreamTarget, u16> {
        group::target_by_name(exchange, target)
    }

    fn refuses(&self, request: &Request) -> Option<MethodSet> {
        (!GET_HEAD.contains(request.received.head.method())).then_some(GET_HEAD)
    }

    fn intercepts(&self, status: u16) -> bool {
        status == 404
    }

    fn replaces(&self, _: Known) -> bool {
        false
    }

    /// Sets the media type of a response without one by the file extension of the URI, because memcached stores none.
    fn complete(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        if answer.media_type.is_none() {
            answer.media_type = Some(media_type_of(&exchange.request, &exchange.request.route.uri));
        }
    }
}
