//! Root certificates for the verification of the HTTPS server of an ACME authority.

use std::sync::Arc;

use crate::x509::pem;
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::acme_client::error::AcmeError;
use crate::acme_client::issuer::Issuer;

/// Files of trusted CA certificates on Debian, Fedora, Alpine, SUSE and the BSDs.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Returns the TLS settings for connections to an authority, from `ssl_trusted_certificate` and `ssl_verify` of its
/// issuer. With `ssl_verify off`, any certificate is accepted. Fails if verification is on and there is no CA bundle,
/// or none of its certificates can be used.
pub fn tls_config(issuer: &Issuer) -> Result<TlsConfig, AcmeError> {
    let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(Arc::new(provider()));
    let builder = if issuer.verify {
        builder.root_certs(RootCerts::new_with_certs(&roots(issuer)?))
    } else {
        builder.disable_verification(true)
    };
    Ok(builder.build())
}

/// Returns the content of the first CA bundle of the system that can be read, in PEM; `None` if there is none.
pub fn system_roots() -> Option<Vec<u8>> {
    BUNDLES.iter().find_map(|path| std::fs::read(path).ok())
}

/// Parses CA certificates in PEM. Returns those that rustls accepts, as a store and in DER; others are skipped.
pub fn usable_roots(pem: &[u8]) -> (RootCertStore, Vec<Vec<u8>>) {
    let mut store = RootCertStore::empty();
    let mut is_usable = |der: &Vec<u8>| store.add(CertificateDer::from(der.as_slice())).is_ok();
    let certificates = pem::certificates(pem).flatten().filter(|der| is_usable(der)).collect();
    (store, certificates)
}

fn roots(issuer: &Issuer) -> Result<Vec<Certificate<'static>>, AcmeError> {
    let text = match &issuer.roots {
        Some(text) => text.clone(),
        None => system_roots().ok_or_else(|| {
            AcmeError::Refused(
                "no CA bundle was found on this system: install the package ca-certificates, or set ssl_trusted_certificate to a \
                     file with CA certificates"
                    .to_owned(),
            )
        })?,
    };
    let usable: Vec<_> =
        usable_roots(&text).1.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if usable.is_empty() {
        return Err(AcmeError::Refused(
            "the CA bundle (ssl_trusted_certificate, or that of the system) contains no usable CA certificate".to_owned(),
        ));
    }
    Ok(usable)
}

/// Returns the default cryptographic provider of rustls, based on aws-lc, for connections to authorities.
pub fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
