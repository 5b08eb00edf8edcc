//! TLS parameters of a request to an origin: the expected server name and the client certificate.

use std::rc::Rc;
use std::sync::Arc;

use myriad_script::Template;
use myriad_tls::OneCertificate;
use myriad_upstream::OriginTls;
use xxhash_rust::xxh3::Xxh3;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::{MakeError, NamedPair, OriginTlsPlace};

/// Returns the TLS parameters of a request to an origin. The server name is `host` without its port, unless
/// `*_ssl_name` sets another. Fails if a variable cannot be evaluated or the client certificate cannot be loaded.
pub(crate) fn of_request(
    exchange: &mut Exchange,
    place: &OriginTlsPlace,
    host: String,
) -> Result<Rc<OriginTls>, MakeError> {
    let name = match &place.name {
        None => host,
        Some(template) => String::from_utf8_lossy(&eval(exchange, template)?).into_owned(),
    };
    let name: Box<str> = without_port(&name).into();
    let mut identity = Xxh3::new();
    identity.update(&place.id.to_le_bytes());
    identity.update(name.as_bytes());
    let mut config = Arc::clone(&place.config);
    if let Some(pair) = &place.certificate
        && let Some(shown) = load_certificate(exchange, pair)?
    {
        identity.update(shown.0.end_entity_cert().map_or(&[], |leaf| leaf.as_ref()));
        let mut own = (*config).clone();
        own.client_auth_cert_resolver = Arc::new(shown);
        config = Arc::new(own);
    }
    // 0 identifies connections without TLS.
    let identity = identity.digest() | 1;
    Ok(Rc::new(OriginTls { config, name, check: place.check.clone(), identity }))
}

/// Makes connections to the origin offer only HTTP/2 by ALPN (RFC 7301).
pub(crate) fn offer_http2(place: &mut OriginTlsPlace) {
    Arc::make_mut(&mut place.config).alpn_protocols = vec![b"h2".to_vec()];
}

/// Loads the client certificate whose file name contains variables; `None` if the name is empty.
fn load_certificate(exchange: &mut Exchange, pair: &NamedPair) -> Result<Option<OneCertificate>, MakeError> {
    let Exchange { request, frame } = exchange;
    let loaded = pair.load(request, frame).map_err(MakeError::Tls)?;
    Ok(loaded.map(OneCertificate))
}

fn eval(exchange: &mut Exchange, template: &Template) -> Result<Vec<u8>, MakeError> {
    let Exchange { request, frame } = exchange;
    let mut value = Vec::new();
    template.eval(request, frame, &mut value)?;
    Ok(value)
}

/// Returns a host without its port; colons within brackets belong to the host.
fn without_port(name: &str) -> &str {
    let from = name.rfind(']').unwrap_or(0);
    name[from..].find(':').map_or(name, |at| &name[..from + at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_no_part_of_names() {
        assert_eq!(without_port("backend:123"), "backend");
        assert_eq!(without_port("backend"), "backend");
        assert_eq!(without_port("[::1]:8081"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
    }
}
