//! TLS client over TCP with configurable offers: curl and openssl do not support everything that browsers use.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme,
    SupportedProtocolVersion,
};

use crate::PATIENCE;

/// Verifier that accepts any certificate whose key the server has.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the configuration of a client that accepts any certificate.
pub(crate) fn trusting(versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("supported TLS versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)))
        .with_no_client_auth()
}

/// Completes a handshake with a port of the loopback address for the server name `name`, and returns the session;
/// `shape` changes the offer of the client.
pub fn tls_handshake(port: u16, name: &str, shape: impl FnOnce(&mut ClientConfig)) -> ClientConnection {
    let mut config = trusting(ALL_VERSIONS);
    shape(&mut config);
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut session = ClientConnection::new(Arc::new(config), name).expect("a session");
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    while session.is_handshaking() {
        session.complete_io(&mut socket).expect("a handshake");
    }
    session
}
