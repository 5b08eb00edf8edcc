//! Whom to believe by TLS.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_x509::pem;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The authorities that are believed.
pub(super) struct Trust {
    store: RootCertStore,
    certificates: Vec<Vec<u8>>,
}

impl Trust {
    /// Those of a file, or those that the machine trusts. An error is a sentence.
    pub(super) fn of(file: Option<&Text>) -> Result<Self, String> {
        let bytes = match file {
            Some(file) => {
                let path = file.as_str().ok_or("the path is not valid UTF-8")?;
                std::fs::read(path).map_err(|error| format!("\"{path}\" cannot be read: {error}"))?
            }
            None => myriad_acme::roots::of_system().ok_or("this machine has no list of authorities")?,
        };
        let mut store = RootCertStore::empty();
        // One that is odd does not stand in the way of the others.
        let mut is_usable = |der: &Vec<u8>| store.add(CertificateDer::from(der.as_slice())).is_ok();
        let certificates: Vec<_> = pem::certificates(&bytes).flatten().filter(|der| is_usable(der)).collect();
        if certificates.is_empty() {
            return Err("no certificate of an authority was found".to_owned());
        }
        Ok(Self { store, certificates })
    }

    /// The same, in DER.
    pub(super) fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    /// The client's side of TLS that speaks this protocol.
    pub(super) fn client(&self, protocol: &[u8]) -> Result<Arc<ClientConfig>, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_root_certificates(self.store.clone()).with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(Arc::new(config))
    }
}
