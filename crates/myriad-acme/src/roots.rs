//! The certificates that the client believes when an authority's own server shows its certificate.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Error;
use crate::issuer::Issuer;
use crate::pem;

/// Files in which systems keep the authorities that they trust: Debian, Fedora, Alpine, SUSE, the BSDs.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// The client's side of TLS for an authority: `ssl_trusted_certificate` and `ssl_verify` of its issuer.
pub fn client_config(issuer: &Issuer) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Refused(error.to_string()))?
        .dangerous();
    let verifier: Arc<dyn ServerCertVerifier> = if issuer.verify {
        let roots = Arc::new(roots(issuer)?);
        WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| Error::Refused(error.to_string()))?
    } else {
        Arc::new(AnyServer { algorithms: provider.signature_verification_algorithms })
    };
    let mut config = builder.with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(issuer: &Issuer) -> Result<RootCertStore, Error> {
    let text = match &issuer.roots {
        Some(text) => text.clone(),
        None => BUNDLES.iter().find_map(|path| std::fs::read(path).ok()).ok_or_else(|| {
            Error::Refused(
                "this machine has no list of authorities: install the package ca-certificates, or name a file by \
                 ssl_trusted_certificate"
                    .to_owned(),
            )
        })?,
    };
    let mut store = RootCertStore::empty();
    let (usable, _) =
        store.add_parsable_certificates(pem::certificates(&text).into_iter().map(CertificateDer::from));
    if usable == 0 {
        return Err(Error::Refused(
            "ssl_trusted_certificate holds no certificate of an authority".to_owned(),
        ));
    }
    Ok(store)
}

/// What rustls' provider is called here.
pub fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}

/// `ssl_verify off`: whoever answers is believed. The handshake's signature is checked all the same.
#[derive(Debug)]
struct AnyServer {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyServer {
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
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
