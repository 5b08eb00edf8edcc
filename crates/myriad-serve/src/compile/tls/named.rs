//! Certificates of a server that variables name.

use std::sync::Arc;

use myriad_conf::model::ServerConf;
use myriad_conf::settings::TlsSettings;
use rustls::crypto::aws_lc_rs;

use super::identity::{is_clients, is_ordered};
use crate::compile::Compile;
use crate::runtime::NamedPair;
use crate::tls::NamedCertificates;

/// Whether some of the certificates are known only when a client asks.
pub(super) fn are_named(settings: &TlsSettings) -> bool {
    let pairs = settings.certificates.iter().chain(&settings.keys);
    pairs.into_iter().any(|name| name.has_variables() && !is_ordered(name))
}

impl Compile<'_> {
    /// The pairs of a server where variables name any of them; none else.
    pub(crate) fn named_certificates(&mut self, server: &ServerConf) -> Vec<NamedPair> {
        let settings = &server.settings.tls;
        if !are_named(settings) {
            return Vec::new();
        }
        let passwords = match self.tls_reader().passwords(settings.password_file.as_ref()) {
            Ok(passwords) => passwords,
            Err(error) => {
                self.errors.push(*error);
                return Vec::new();
            }
        };
        let folder = self.around.folder.to_owned();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let files = Arc::new(NamedCertificates::new(folder, passwords, provider, settings.certificate_cache));
        let pairs = settings.certificates.iter().zip(&settings.keys);
        pairs
            .map(|(certificate, key)| NamedPair {
                certificate: self.template(certificate),
                key: self.template(key),
                files: Arc::clone(&files),
                is_clients: is_clients(settings),
            })
            .collect()
    }
}
