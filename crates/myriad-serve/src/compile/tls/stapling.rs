//! `ssl_stapling`: which certificates are shown with an OCSP answer, and who is asked for it.

use std::sync::Arc;

use myriad_acme::https::is_plain_url;
use myriad_acme::{Question, Staple};
use myriad_conf::Text;
use myriad_conf::settings::TlsSettings;
use myriad_x509::Certificate;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;

use super::files::Files;
use super::is_ordered;
use super::named::are_named;
use crate::compile::Compile;
use crate::runtime::PlannedStaple;
use crate::tls::certificates;

impl Compile<'_> {
    /// The staples of a server's certificates, in their order; none for one that has none.
    pub(super) fn staples(&mut self, server: &myriad_conf::Settings) -> Vec<Option<Arc<Staple>>> {
        let settings = &server.tls;
        if !settings.stapling || settings.stapling_file.is_some() {
            return Vec::new();
        }
        let resolver = self.resolver(server);
        let resolver = resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms));
        let mut staples = Vec::new();
        for name in &settings.certificates {
            // What is wrong with the files themselves is told elsewhere, and why there is no question, as a warning.
            let asked = question(settings, self.tls_reader(), name).and_then(Result::ok);
            staples.push(asked.map(|question| {
                let kept = &mut self.around.kept.tls.staples;
                let known = kept.iter().find(|staple| staple.question == question);
                let staple = known.map_or_else(|| Staple::new(question), Arc::clone);
                if !self.staples.iter().any(|planned| Arc::ptr_eq(&planned.staple, &staple)) {
                    if known.is_none() {
                        kept.push(Arc::clone(&staple));
                    }
                    self.staples
                        .push(PlannedStaple { staple: Arc::clone(&staple), resolver: resolver.clone() });
                }
                staple
            }));
        }
        staples
    }
}

/// What is asked for a certificate; the error says why nothing is, and there is neither where it cannot be read.
pub(super) fn question(
    settings: &TlsSettings,
    files: Files<'_>,
    name: &Text,
) -> Option<Result<Question, String>> {
    let shown = if name.bytes().starts_with(b"data:") { "data:".into() } else { name.lossy() };
    let ignored =
        |why: &str| Some(Err(format!("\"ssl_stapling\" ignored, {why} the certificate \"{shown}\"")));
    if is_ordered(name) {
        return ignored("nobody is asked about what is ordered, as");
    }
    if are_named(settings) {
        return ignored("where variables name certificates nobody is asked about");
    }
    let chain = certificates(&files.bytes(name).ok()?).ok()?;
    let leaf = Certificate::parse(chain.first()?).ok()?;
    let trusted = settings.trusted_certificate.as_ref();
    let trusted = trusted.and_then(|name| certificates(&files.bytes(name).ok()?).ok()).unwrap_or_default();
    let algorithms = default_provider().signature_verification_algorithms;
    let has_issued = |der: &&CertificateDer<'_>| {
        Certificate::parse(der).is_ok_and(|issuer| issuer.has_issued(&leaf, algorithms.all))
    };
    let Some(issuer) = chain[1..].iter().chain(&trusted).find(has_issued) else {
        return ignored("no issuer certificate is in ssl_certificate or ssl_trusted_certificate for");
    };
    let written = settings.stapling_responder.as_ref().map(|url| url.lossy().into_owned());
    let Some(url) = written.or_else(|| leaf.ocsp_responder().map(str::to_owned)) else {
        return ignored("no OCSP responder URL is in");
    };
    if !is_plain_url(&url) {
        return ignored(&format!("\"{url}\" is no URL that begins with http://, for"));
    }
    Some(Ok(Question {
        name: shown.into_owned(),
        certificate: chain[0].to_vec(),
        issuer: issuer.to_vec(),
        url,
        verify: settings.stapling_verify,
    }))
}
