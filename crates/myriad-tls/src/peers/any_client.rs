//! Request of client certificates during the handshake (`ssl_verify_client`).

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::signatures::SignatureVerifier;

/// Verifier that requests a certificate and accepts any whose private key the client has. Trust is checked later for
/// each request, as in nginx, so that the client gets an error page and the reason is logged.
#[derive(Debug)]
pub(crate) struct AnyClient {
    signatures: SignatureVerifier,
    /// Distinguished names of the acceptable CAs, which are sent to clients.
    subjects: Vec<DistinguishedName>,
}

impl AnyClient {
    pub(crate) fn new(provider: &CryptoProvider, subjects: Vec<DistinguishedName>) -> Self {
        Self { signatures: SignatureVerifier::of(provider), subjects }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures
            .tls12(message, certificate, signed)
            .inspect(|_| myriad_net::tls::client_has_signed(signed.scheme))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures
            .tls13(message, certificate, signed)
            .inspect(|_| myriad_net::tls::client_has_signed(signed.scheme))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.schemes()
    }
}
