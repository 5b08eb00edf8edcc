//! Requests to SCGI origins.

use bytes::Bytes;
use myriad_upstream::{Protocol, RequestPayload};

use super::netstring::Netstring;
use crate::cgi::{CgiPlace, CgiProtocol, environment, length};
use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::{MakeError, ProtocolRequest, RequestRules};

/// Compiled `scgi_*` settings of a location that other protocols do not have.
pub(super) struct ScgiPlace {
    /// Parameters (`scgi_param`).
    pub environment: CgiPlace,
}

impl CgiProtocol for ScgiPlace {
    fn environment(&self) -> &CgiPlace {
        &self.environment
    }

    fn scheme(&self) -> &'static str {
        "scgi"
    }

    fn request(
        &self,
        exchange: &mut Exchange,
        rules: RequestRules,
        purpose: FetchPurpose<'_>,
        body: RequestPayload,
    ) -> Result<ProtocolRequest, MakeError> {
        let mut pairs = Netstring::new(length(&body).unwrap_or(0));
        environment::write(exchange, rules, &self.environment, purpose, &mut pairs)?;
        let method = environment::method(exchange, purpose);
        let protocol = Protocol::Cgi { head: Bytes::from(pairs.finish()) };
        Ok(ProtocolRequest { protocol, method, body, tls: None })
    }
}
