//! Certificate authorities that are trusted for the TLS connection to a collector.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_tls::acme_client::roots;
use myriad_tls::tls_path;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};

/// ALPN name of HTTP/2 (RFC 9113 section 3.1).
pub(super) const HTTP2: &[u8] = b"h2";

/// Certificate authorities by which the collector's TLS certificate is verified.
pub(super) struct TrustedAuthorities {
    store: RootCertStore,
    certificates: Vec<Vec<u8>>,
}

impl TrustedAuthorities {
    /// Loads the authorities of the PEM file `file`, whose name is relative to `folder`; without a file, those of the
    /// system. Returns an error text for the configuration check if they cannot be read or none is usable.
    pub(super) fn of(file: Option<&Text>, folder: &Path) -> Result<Self, String> {
        let bytes = match file {
            Some(file) => {
                let path = tls_path(folder, file);
                std::fs::read(&path)
                    .map_err(|error| format!("\"{}\" cannot be read: {error}", path.display()))?
            }
            None => roots::system_roots().ok_or("no CA certificates are installed on this system")?,
        };
        let (store, certificates) = roots::usable_roots(&bytes);
        if certificates.is_empty() {
            return Err("no usable CA certificate was found".to_owned());
        }
        Ok(Self { store, certificates })
    }

    /// Returns a set without authorities, so that no certificate is valid.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { store: RootCertStore::empty(), certificates: Vec::new() }
    }

    /// Returns the certificates in DER.
    pub(super) fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    /// Returns the TLS client configuration with these authorities, which offers only HTTP/2.
    pub(super) fn tls_client_config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_root_certificates(self.store.clone()).with_no_client_auth();
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(Arc::new(config))
    }
}
