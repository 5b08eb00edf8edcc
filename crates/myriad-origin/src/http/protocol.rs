//! Implementation of [`OriginProtocol`] for HTTP origins.

use myriad_http::Known;
use myriad_net::RequestBody;
use myriad_script::Template;
use myriad_upstream::RequestPayload;

use super::pass_url::PassUrl;
use super::place::HttpPlace;
use super::{fields, request, uri, url};
use crate::connection_listed_fields::ConnectionListedFields;
use crate::tls;
use myriad_exchange::exchange::{ContentResponse, Exchange, FetchPurpose, PhaseStep, Request};
use myriad_exchange::runtime::{MakeError, OriginProtocol, ProtocolRequest, RequestRules, UpstreamTarget};

/// Maximum length in bytes of the request URI in the error log.
const SHOWN_URI: usize = 2048;

impl OriginProtocol for HttpPlace {
    fn make(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        payload: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let (protocol, method, body) = request::make(exchange, rules, self, purpose, payload)?;
        let secured = uri::url(&exchange.request, self)
            .filter(|url| url.is_secure())
            .map(|url| url.proxy_host().into_owned());
        let tls = match (&self.tls, secured) {
            (Some(place), Some(host)) => Some(tls::of_request(exchange, place, host)?),
            _ => None,
        };
        Ok(ProtocolRequest { protocol, method, body, tls })
    }

    fn show(&self, request: &Request, peer: &str) -> String {
        let mut shown = Vec::new();
        // As in nginx, a colon separates the path of a unix socket from the URI.
        if peer.starts_with("unix:") {
            shown.push(b':');
        }
        uri::write_uri(request, self, &mut shown);
        shown.truncate(SHOWN_URI);
        let scheme = uri::url(request, self).map_or("http", PassUrl::scheme);
        format!("{scheme}://{peer}{}", String::from_utf8_lossy(&shown))
    }

    fn prepare(&self, exchange: &mut Exchange, target: &Template) -> Option<PhaseStep> {
        url::prepare(exchange, target, PassUrl::parse)
    }

    fn upstream_target(&self, exchange: &mut Exchange, _: &Template) -> Result<UpstreamTarget, u16> {
        url::upstream_target(exchange, self)
    }

    fn is_prepared(&self) -> bool {
        self.url.is_some()
    }

    /// Returns false, so that the request body is read completely first, if `proxy_set_body` replaces it anyway, or if
    /// HTTP/1.0 needs a length that is not known.
    fn takes_stream(&self, body: &RequestBody) -> bool {
        self.body.is_none() && (self.http_1_1 || body.length().is_some())
    }

    fn replaces(&self, field: Known) -> bool {
        self.fields.replaced.has(Some(field), field.as_str().as_bytes())
    }

    fn hides_nominated(&self, request: &Request) -> bool {
        let fields = request.received.head.fields();
        let nominated = ConnectionListedFields::of(fields);
        !nominated.is_empty()
            && fields
                .iter_known()
                .any(|(known, name, _)| !self.fields.replaced.has(known, name) && nominated.has(name))
    }

    fn hides(&self, name: &[u8]) -> bool {
        name.eq_ignore_ascii_case(b"x-pad")
    }

    fn has_interim(&self) -> bool {
        true
    }

    fn passes_trailers(&self) -> bool {
        self.passes_trailers
    }

    fn rewrites_redirects(&self) -> bool {
        !self.redirects.is_empty()
    }

    fn has_plain_redirects(&self) -> bool {
        self.plain_redirects
    }

    fn rewrite(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        fields::rewrite(exchange, self, answer);
    }
}
