//! Answers to challenges, of orders of this process and of other nodes.

use std::sync::Arc;

use myriad_conf::model::{AcmeChallenge, AcmeIdentifier, AcmeKeyKind};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::acme_client::challenges::{ALPN, ChallengeGuard, PendingChallenges};
use crate::acme_client::coordination::SharedChallenge;
use crate::acme_client::csr;
use crate::acme_client::error::AcmeError;
use crate::acme_client::issuer::server_name;
use crate::acme_client::key::SigningKey;
use crate::acme_client::roots;

/// Adds a challenge to `challenges`, so that the server answers it until the returned guard is dropped. Fails if the
/// token of an `http-01` challenge is malformed, or the certificate for a `tls-alpn-01` challenge cannot be created.
/// `now_s` is the time in seconds since the Unix epoch.
pub fn answer_challenge(
    challenges: &Arc<PendingChallenges>,
    challenge: &SharedChallenge,
    now_s: u64,
) -> Result<ChallengeGuard, AcmeError> {
    let SharedChallenge { kind, token, identifier, answer } = challenge;
    match kind {
        AcmeChallenge::Http01 if !is_token(token) => {
            Err(AcmeError::Protocol("the token of a challenge is malformed".to_owned()))
        }
        AcmeChallenge::Http01 => Ok(challenges.add_token(token, answer)),
        AcmeChallenge::TlsAlpn01 => {
            let config = handshake_config(identifier, answer, now_s)?;
            Ok(challenges.add_handshake(server_name(identifier), config))
        }
    }
}

/// Returns true if a token is base64url (RFC 8555 section 8.3) and has 1 to 256 characters.
pub(crate) fn is_token(token: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=256).contains(&token.len()) && token.bytes().all(is_base64url)
}

/// Creates the TLS settings for validation handshakes of a `tls-alpn-01` challenge (RFC 8737 section 3). `answer` is
/// its key authorization.
fn handshake_config(
    identifier: &AcmeIdentifier,
    answer: &str,
    now_s: u64,
) -> Result<Arc<ServerConfig>, AcmeError> {
    let key = SigningKey::generate(AcmeKeyKind::P256)?;
    let certificate = csr::challenge_certificate(&key, identifier, answer, now_s)?;
    let failed = |_: rustls::Error| AcmeError::Cryptography("preparing the validation handshake");
    let provider = roots::provider();
    let signing = key.in_tls().map_err(failed)?;
    // rustls would refuse the certificate's critical extension, so the check that the key matches is skipped.
    let certified = CertifiedKey::new(vec![CertificateDer::from(certificate)], signing);
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
