//! Clients that show certificates (`ssl_verify_client`).

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use myriad_x509::{Purpose, Trust, VerifyError};

use super::signatures::Signatures;

/// Asks every client for a certificate and takes whatever it shows, if it holds the key. What it proves is asked when there
/// is a request, as nginx does: then the client is told by a page, and the error log can say what is wrong.
#[derive(Debug)]
pub(crate) struct AnyClient {
    signatures: Signatures,
    /// The authorities that clients are told of.
    subjects: Vec<DistinguishedName>,
}

impl AnyClient {
    pub(crate) fn new(provider: &CryptoProvider, subjects: Vec<DistinguishedName>) -> Self {
        Self { signatures: Signatures::of(provider), subjects }
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

/// What clients of a server must prove.
#[derive(Debug)]
pub(crate) struct ClientRules {
    /// Never given twice: what was thought of a connection's certificates by other rules does not count.
    pub id: u64,
    /// `on`: there must be a certificate.
    pub mandatory: bool,
    /// `optional_no_ca`: nobody needs to know who signed it.
    pub lets_strangers: bool,
    trust: Trust,
    signatures: Signatures,
}

impl ClientRules {
    pub(crate) fn new(id: u64, trust: Trust, provider: &CryptoProvider) -> Self {
        let signatures = Signatures::of(provider);
        Self { id, mandatory: false, lets_strangers: false, trust, signatures }
    }

    /// What a chain is worth, and the last second at which that holds.
    pub(crate) fn judge(&self, chain: &[CertificateDer<'_>], now_s: i64) -> Result<i64, VerifyError> {
        self.trust.verify(chain, Purpose::Client, now_s, self.signatures.algorithms())
    }
}
