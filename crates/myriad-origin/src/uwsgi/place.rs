//! Requests to uwsgi origins.

use bytes::Bytes;
use myriad_script::Template;
use myriad_upstream::{Protocol, RequestPayload};

use super::packet::Packet;
use super::settings::Modifiers;
use crate::cgi::{CgiPlace, CgiProtocol, environment};
use crate::tls;
use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::{MakeError, OriginTlsPlace, ProtocolRequest, RequestRules};

/// Compiled `uwsgi_*` settings of a location that other protocols do not have.
pub(super) struct UwsgiPlace {
    /// Parameters (`uwsgi_param`).
    pub environment: CgiPlace,
    /// Values of `uwsgi_modifier1` and `uwsgi_modifier2`.
    pub modifiers: Modifiers,
    /// TLS settings for the application server; `None` unless the target is `suwsgi://`.
    pub tls: Option<Box<OriginTlsPlace>>,
    /// Target without its scheme: the server name for TLS unless `uwsgi_ssl_name` sets another.
    pub host: Template,
}

impl CgiProtocol for UwsgiPlace {
    fn environment(&self) -> &CgiPlace {
        &self.environment
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "suwsgi" } else { "uwsgi" }
    }

    fn request(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let mut packet = Packet::new(self.modifiers);
        environment::write(exchange, rules, &self.environment, purpose, &mut packet)?;
        let method = environment::method(exchange, purpose);
        let head = packet.finish().map_err(MakeError::Size)?;
        let tls = match &self.tls {
            Some(place) => {
                let mut host = Vec::new();
                self.host.eval(&exchange.request, &mut exchange.frame, &mut host)?;
                let host = String::from_utf8_lossy(&host).into_owned();
                Some(tls::of_request(exchange, place, host)?)
            }
            None => None,
        };
        Ok(ProtocolRequest { protocol: Protocol::Cgi { head: Bytes::from(head) }, method, body, tls })
    }
}
