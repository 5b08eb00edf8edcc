//! Contents of a TLS client hello that variables such as `$ssl_ciphers` and `$ssl_session_id` use.

use rustls::server::{Accepted, ClientHello};
use rustls::{ServerConfig, ServerConnection, SignatureScheme};

use super::ClientOffer;

/// Length of a session ID in bytes: the maximum of TLS.
const SESSION: usize = 32;

/// Signature schemes that TLS 1.3 does not use (RFC 8446 section 4.2.3).
const OLD: [SignatureScheme; 3] =
    [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::RSA_PKCS1_SHA384, SignatureScheme::RSA_PKCS1_SHA512];

/// Returns true if the client supports TLS 1.3. rustls does not expose `supported_versions`, so the cipher suites are
/// checked instead.
fn has_tls13(hello: &ClientHello<'_>) -> bool {
    hello.cipher_suites().iter().any(|suite| u16::from(*suite) >> 8 == 0x13)
}

impl ClientOffer {
    /// Returns the offer in a client hello, and the signature scheme that the server with `config` will choose from it.
    pub(crate) fn of(accepted: &Accepted, config: &ServerConfig) -> Self {
        let hello = accepted.client_hello();
        let tls13 = has_tls13(&hello)
            && config.crypto_provider().cipher_suites.iter().any(|suite| suite.tls13().is_some());
        let schemes = hello.signature_schemes();
        let usable: Vec<_> =
            schemes.iter().copied().filter(|scheme| !tls13 || !OLD.contains(scheme)).collect();
        let key = config.cert_resolver.resolve(accepted.client_hello());
        let signer = key.and_then(|certified| certified.key.choose_scheme(&usable));
        Self {
            ciphers: hello.cipher_suites().to_vec(),
            groups: hello.named_groups().unwrap_or_default().to_vec(),
            schemes: schemes.to_vec(),
            signed: signer.map(|signer| signer.scheme()),
            client_signed: None,
            session: Vec::new(),
        }
    }

    /// Assigns an ID to the session: the ID of the resumed session, or a random ID.
    pub(super) fn number_session(&mut self, session: &mut ServerConnection, config: &ServerConfig) {
        self.session = match session.received_resumption_data() {
            Some(known) if known.len() == SESSION => known.to_vec(),
            _ => number(config),
        };
        session.set_resumption_data(&self.session);
    }

    /// Assigns a random ID to the session. QUIC sessions do not store it, so a resumed session has another.
    #[cfg(feature = "http3")]
    pub(crate) fn number(&mut self, config: &ServerConfig) {
        self.session = number(config);
    }
}

fn number(config: &ServerConfig) -> Vec<u8> {
    let mut number = vec![0; SESSION];
    let _ = config.crypto_provider().secure_random.fill(&mut number);
    number
}
