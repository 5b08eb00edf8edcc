//! Verification of handshake signatures, which prove that the peer has the private key of its certificate.

use crate::x509::Certificate;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::SignatureVerificationAlgorithm;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Verifier of handshake signatures for certificates of any version; rustls supports only version 3.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignatureVerifier(WebPkiSupportedAlgorithms);

impl SignatureVerifier {
    pub(super) fn of(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }

    /// Returns the algorithms accepted for signatures of certificates.
    pub(super) fn algorithms(&self) -> &'static [&'static dyn SignatureVerificationAlgorithm] {
        self.0.all
    }

    pub(super) fn schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }

    /// Verifies a TLS 1.2 handshake signature. An ECDSA scheme is accepted with any curve, because TLS 1.2 does not
    /// bind it to one.
    pub(super) fn tls12(
        &self,
        message: &[u8],
        certificate: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check(message, certificate, signed, self.algorithms_for(signed.scheme))
    }

    /// Verifies a TLS 1.3 handshake signature. An ECDSA scheme is accepted only with its curve, and a PKCS #1 scheme
    /// not at all (RFC 8446 section 4.2.3).
    pub(super) fn tls13(
        &self,
        message: &[u8],
        certificate: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let old = [
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ];
        let ways = if old.contains(&signed.scheme) { &[] } else { self.algorithms_for(signed.scheme) };
        self.check(message, certificate, signed, &ways[..ways.len().min(1)])
    }

    fn algorithms_for(
        &self,
        scheme: SignatureScheme,
    ) -> &'static [&'static dyn SignatureVerificationAlgorithm] {
        self.0.mapping.iter().find(|(known, _)| *known == scheme).map_or(&[], |(_, ways)| ways)
    }

    #[expect(clippy::unused_self, reason = "a step of the two methods above")]
    fn check(
        &self,
        message: &[u8],
        certificate: &[u8],
        signed: &DigitallySignedStruct,
        ways: &[&'static dyn SignatureVerificationAlgorithm],
    ) -> Result<HandshakeSignatureValid, Error> {
        let certificate = Certificate::parse(certificate)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if certificate.has_signed(message, signed.signature(), ways) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::BadSignature))
        }
    }
}
