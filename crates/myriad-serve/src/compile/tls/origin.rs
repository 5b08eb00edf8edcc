//! `proxy_ssl_*` to the settings of rustls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use myriad_conf::settings::OriginTlsSettings;
use myriad_conf::{Diagnostic, Span, Text};
use myriad_upstream::CheckPeer;
use myriad_x509::Trust;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, version};

use super::files::Files;
use super::{Offer, provider};
use crate::compile::Compile;
use crate::runtime::{NamedPair, OriginTlsPlace};
use crate::tls::{AnyOrigin, NamedCertificates, OneCertificate, ProvenOrigin};

/// Names of origins whose sessions are remembered for a place.
const SESSIONS: usize = 256;

/// Numbers of places, never given twice: connections of an older configuration are not taken for those of a new one.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Compile<'_> {
    /// TLS with the origin of a place; none where the settings have errors, which are noted.
    pub(crate) fn origin_tls(&mut self, settings: &OriginTlsSettings, at: Span) -> Option<OriginTlsPlace> {
        let built = self.build_origin_tls(settings, at);
        built.map_err(|error| self.errors.push(*error)).ok()
    }

    fn build_origin_tls(
        &mut self,
        settings: &OriginTlsSettings,
        at: Span,
    ) -> Result<OriginTlsPlace, Box<Diagnostic>> {
        let mut obeyed = settings.clone();
        obeyed.obey()?;
        let settings = &obeyed;
        let offer = Offer { ciphers: settings.ciphers.as_ref(), curves: None, commands: &settings.commands };
        let provider = Arc::new(provider(&offer)?);
        let mut versions = Vec::new();
        if settings.tls13 {
            versions.push(&version::TLS13);
        }
        if settings.tls12 {
            versions.push(&version::TLS12);
        }
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| Box::new(Diagnostic::error(at, error.to_string())))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyOrigin::new(&provider)))
            .with_no_client_auth();
        config.enable_sni = settings.server_name;
        config.resumption = if settings.session_reuse {
            Resumption::in_memory_sessions(SESSIONS)
        } else {
            Resumption::disabled()
        };
        let check = self.proof(settings, at, &provider)?;
        let certificate = self.shown(settings, &provider, &mut config)?;
        Ok(OriginTlsPlace {
            config: Arc::new(config),
            check,
            name: settings.name.as_ref().map(|name| self.template(name)),
            certificate,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// What the origin must prove.
    fn proof(
        &self,
        settings: &OriginTlsSettings,
        at: Span,
        provider: &CryptoProvider,
    ) -> Result<Option<Arc<dyn CheckPeer>>, Box<Diagnostic>> {
        if !settings.verify {
            return Ok(None);
        }
        let Some(authorities) = &settings.trusted_certificate else {
            let error = "no proxy_ssl_trusted_certificate for proxy_ssl_verify";
            let help = "name a file of authorities, such as /etc/ssl/certs/ca-certificates.crt";
            return Err(Box::new(Diagnostic::error(at, error).help(help)));
        };
        let files = self.tls_reader();
        let mut trust = Trust::new(settings.verify_depth);
        files.trust(authorities, &mut trust)?;
        if let Some(lists) = &settings.crl {
            files.revoke(lists, &mut trust)?;
        }
        Ok(Some(Arc::new(ProvenOrigin::new(trust, provider))))
    }

    /// The certificate that origins are shown: put into the configuration, or read for each request where variables
    /// name it.
    fn shown(
        &mut self,
        settings: &OriginTlsSettings,
        provider: &Arc<CryptoProvider>,
        config: &mut ClientConfig,
    ) -> Result<Option<NamedPair>, Box<Diagnostic>> {
        let Some(certificate) = settings.certificate.as_ref().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let Some(key) = &settings.key else {
            let error = format!(
                "no \"proxy_ssl_certificate_key\" is defined for certificate \"{}\"",
                certificate.lossy()
            );
            return Err(Box::new(Diagnostic::error(certificate.span, error)));
        };
        let files = self.tls_reader();
        let passwords = files.passwords(settings.password_file.as_ref())?;
        if !certificate.has_variables() && !key.has_variables() {
            let certified = files.certified((certificate, key), &passwords, provider)?;
            config.client_auth_cert_resolver = Arc::new(OneCertificate(certified));
            return Ok(None);
        }
        let folder = self.around.folder.to_owned();
        let files =
            NamedCertificates::new(folder, passwords, Arc::clone(provider), settings.certificate_cache);
        Ok(Some(NamedPair {
            certificate: self.template(certificate),
            key: self.template(key),
            files: Arc::new(files),
            // There is one.
            is_clients: true,
        }))
    }

    pub(super) fn tls_reader(&self) -> Files<'_> {
        Files { read: self.around.tls_files, folder: self.around.folder }
    }
}

/// The files that `proxy_ssl_*` names, but for those that variables name.
pub(super) fn files(settings: &OriginTlsSettings) -> impl Iterator<Item = &Text> {
    let OriginTlsSettings { trusted_certificate, crl, certificate, key, password_file, .. } = settings;
    let fixed = [certificate, key].into_iter().flatten().filter(|name| super::is_tls_file(name));
    let proof = [trusted_certificate, crl].into_iter().flatten().filter(|_| settings.verify);
    let passwords = password_file.iter().filter(|_| certificate.is_some());
    fixed.chain(proof).chain(passwords)
}
