//! Verification of upstream certificates, and client certificates for upstream connections.

use std::sync::Arc;

use crate::x509::{Certificate, CertificatePurpose, TrustStore};
use myriad_upstream::{PeerVerifier, TrustFailure};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::signatures::SignatureVerifier;

/// Returns client settings that accept any server certificate, for a check of a server on this machine.
///
/// # Errors
///
/// The cryptographic provider has no supported TLS version.
pub fn accepting_any() -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = Arc::new(AnyOrigin::new(&provider));
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(versions.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// Verifier that accepts any certificate whose private key the upstream has. Trust is checked after the handshake
/// ([`VerifiedOrigin`]), as in nginx, so that the reason is logged.
#[derive(Debug)]
pub(crate) struct AnyOrigin(SignatureVerifier);

impl AnyOrigin {
    pub(crate) fn new(provider: &CryptoProvider) -> Self {
        Self(SignatureVerifier::of(provider))
    }
}

impl ServerCertVerifier for AnyOrigin {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.tls12(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.tls13(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.schemes()
    }
}

/// Verification for `proxy_ssl_verify on`: the chain must lead to a trusted CA, and its first certificate must be valid
/// for the name of the upstream.
#[derive(Debug)]
pub(crate) struct VerifiedOrigin {
    trust: TrustStore,
    signatures: SignatureVerifier,
}

impl VerifiedOrigin {
    pub(crate) fn new(trust: TrustStore, provider: &CryptoProvider) -> Self {
        Self { trust, signatures: SignatureVerifier::of(provider) }
    }
}

impl PeerVerifier for VerifiedOrigin {
    fn check(&self, chain: &[CertificateDer<'_>], name: &str) -> Result<(), (TrustFailure, String)> {
        let now_s = (myriad_net::clock::wall_ms() / 1000) as i64;
        self.trust.verify(chain, CertificatePurpose::Server, now_s, self.signatures.algorithms()).map_err(
            |error| {
                let distrust = match error.code() {
                    // OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_CERT_REVOKED.
                    9 | 10 => TrustFailure::Expired,
                    23 => TrustFailure::Revoked,
                    _ => TrustFailure::Other,
                };
                (distrust, format!("upstream SSL certificate verify error: ({}:{error})", error.code()))
            },
        )?;
        let is_named = chain.first().and_then(|der| Certificate::parse(der).ok());
        if is_named.is_some_and(|certificate| certificate.is_valid_for(name)) {
            Ok(())
        } else {
            Err((TrustFailure::Name, format!("upstream SSL certificate does not match \"{name}\"")))
        }
    }
}

/// Client certificate that is sent to every upstream that requests one and supports a signature scheme of its key.
#[derive(Debug)]
pub struct OneCertificate(pub Arc<CertifiedKey>);

impl ResolvesClientCert for OneCertificate {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.key.choose_scheme(schemes).map(|_| Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}
