//! The certificates that the client believes when an authority's own server shows its certificate.

use std::sync::Arc;

use myriad_x509::pem;
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::error::Error;
use crate::issuer::Issuer;

/// Files in which systems keep the authorities that they trust: Debian, Fedora, Alpine, SUSE, the BSDs.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// The client's side of TLS for an authority: `ssl_trusted_certificate` and `ssl_verify` of its issuer. With `ssl_verify off` whoever
/// answers is believed, whatever the certificate and the handshake's signature.
pub fn tls_config(issuer: &Issuer) -> Result<TlsConfig, Error> {
    let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(Arc::new(provider()));
    let builder = if issuer.verify {
        builder.root_certs(RootCerts::new_with_certs(&roots(issuer)?))
    } else {
        builder.disable_verification(true)
    };
    Ok(builder.build())
}

/// The list of authorities that the machine trusts, in PEM; none where it has none.
pub fn of_system() -> Option<Vec<u8>> {
    BUNDLES.iter().find_map(|path| std::fs::read(path).ok())
}

/// The authorities of a list in PEM, as rustls has them and in DER. One that is odd does not stand in the way of the others.
pub fn usable(pem: &[u8]) -> (RootCertStore, Vec<Vec<u8>>) {
    let mut store = RootCertStore::empty();
    let mut is_usable = |der: &Vec<u8>| store.add(CertificateDer::from(der.as_slice())).is_ok();
    let certificates = pem::certificates(pem).flatten().filter(|der| is_usable(der)).collect();
    (store, certificates)
}

fn roots(issuer: &Issuer) -> Result<Vec<Certificate<'static>>, Error> {
    let text = match &issuer.roots {
        Some(text) => text.clone(),
        None => of_system().ok_or_else(|| {
            Error::Refused(
                "this machine has no list of authorities: install the package ca-certificates, or name a file by \
                 ssl_trusted_certificate"
                    .to_owned(),
            )
        })?,
    };
    let usable: Vec<_> = usable(&text).1.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if usable.is_empty() {
        return Err(Error::Refused(
            "ssl_trusted_certificate holds no certificate of an authority".to_owned(),
        ));
    }
    Ok(usable)
}

/// What rustls' provider is called here.
pub fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
