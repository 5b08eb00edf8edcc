//! `ssl_verify_client` and its kin: whether clients are asked for certificates, and what they must prove.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use myriad_conf::model::ServerConf;
use myriad_conf::settings::{TlsSettings, VerifyClient};
use myriad_conf::{Diagnostic, Text};
use myriad_x509::{Certificate, Trust};
use rustls::DistinguishedName;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::compile::Compile;
use crate::tls::{AnyClient, ClientRules};

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Compile<'_> {
    /// What clients of a server must prove; none where they are not asked.
    pub(crate) fn client_rules(&mut self, server: &ServerConf) -> Option<Arc<ClientRules>> {
        let settings = &server.settings.tls;
        if settings.verify_client == VerifyClient::Off {
            return None;
        }
        let trust = match self.trust(settings) {
            Ok(trust) => trust,
            Err(error) => {
                self.errors.push(*error);
                return None;
            }
        };
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut rules = ClientRules::new(id, trust, &aws_lc_rs::default_provider());
        rules.mandatory = settings.verify_client == VerifyClient::On;
        rules.lets_strangers = settings.verify_client == VerifyClient::OptionalNoCa;
        Some(Arc::new(rules))
    }

    fn trust(&self, settings: &TlsSettings) -> Result<Trust, Box<Diagnostic>> {
        let files = self.tls_reader();
        let mut trust = Trust::new(settings.verify_depth);
        for name in authorities(settings) {
            files.trust(name, &mut trust)?;
        }
        if let Some(lists) = settings.crl.as_ref().filter(|name| !name.is_empty()) {
            files.revoke(lists, &mut trust)?;
        }
        Ok(trust)
    }

    /// How the handshake asks for certificates. Clients are told the names in `ssl_client_certificate`, each once.
    pub(super) fn client_verifier(
        &self,
        settings: &TlsSettings,
        provider: &CryptoProvider,
    ) -> Result<Arc<dyn ClientCertVerifier>, Box<Diagnostic>> {
        if settings.verify_client == VerifyClient::Off {
            // As in nginx, what is named must be what it should, though nobody is asked.
            let files = self.tls_reader();
            if let Some(name) = settings.trusted_certificate.as_ref().filter(|name| !name.is_empty()) {
                files.trust(name, &mut Trust::new(0))?;
            }
            if let Some(lists) = settings.crl.as_ref().filter(|name| !name.is_empty()) {
                files.revoke(lists, &mut Trust::new(0))?;
            }
            return Ok(WebPkiClientVerifier::no_client_auth());
        }
        let names_nobody = authorities(settings).next().is_none();
        if names_nobody && settings.verify_client != VerifyClient::OptionalNoCa {
            let at = settings.certificates.first().map(|name| name.span).unwrap_or_default();
            let error = "no ssl_client_certificate or ssl_trusted_certificate for ssl_verify_client";
            return Err(Box::new(Diagnostic::error(at, error)));
        }
        let mut subjects: Vec<Vec<u8>> = Vec::new();
        if let Some(name) = settings.client_certificate.as_ref().filter(|name| !name.is_empty()) {
            for der in self.tls_reader().trust(name, &mut Trust::new(0))? {
                let Ok(certificate) = Certificate::parse(&der) else { continue };
                let subject = certificate.subject.der().to_vec();
                if !subjects.contains(&subject) {
                    subjects.push(subject);
                }
            }
        }
        let subjects = subjects.into_iter().map(DistinguishedName::from).collect();
        Ok(Arc::new(AnyClient::new(provider, subjects)))
    }
}

fn authorities(settings: &TlsSettings) -> impl Iterator<Item = &Text> {
    let all = [&settings.client_certificate, &settings.trusted_certificate];
    all.into_iter().flatten().filter(|name| !name.is_empty())
}

/// The files that are read to know clients. As in nginx lists and trusted authorities are read whether clients are asked
/// or not.
pub(super) fn files(settings: &TlsSettings) -> impl Iterator<Item = &Text> {
    let asks = settings.verify_client != VerifyClient::Off;
    let speaks = !settings.certificates.is_empty();
    let asked = settings.client_certificate.iter().filter(move |_| asks);
    let always = settings.trusted_certificate.iter().chain(&settings.crl).filter(move |_| asks || speaks);
    asked.chain(always).filter(|name| !name.is_empty())
}
