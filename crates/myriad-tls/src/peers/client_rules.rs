//! Verification of client certificates (`ssl_verify_client` and related directives).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::x509::{Certificate, CertificatePurpose, TrustStore, VerifyError};
use myriad_conf::settings::{TlsSettings, VerifyClient};
use myriad_conf::{Diagnostic, Text};
use myriad_upstream::ResolverConfig;
use rustls::DistinguishedName;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::any_client::AnyClient;
use super::ocsp::OcspRules;
use super::signatures::SignatureVerifier;
use crate::certificates::files::TlsFileReader;
use crate::resolve::resolve;

/// Identifier of the next [`ClientRules`].
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Rules of a server for client certificates (`ssl_verify_client` and related directives).
#[derive(Debug)]
pub struct ClientRules {
    /// Unique identifier. Verification results cached in a connection refer to it.
    pub id: u64,
    /// True if clients without a certificate are rejected (`ssl_verify_client on`).
    pub mandatory: bool,
    /// True if certificates of unknown CAs are accepted (`ssl_verify_client optional_no_ca`).
    pub accepts_unknown_authority: bool,
    trust: TrustStore,
    signatures: SignatureVerifier,
    /// OCSP settings; `None` if `ssl_ocsp` is off.
    pub(super) ocsp: Option<Arc<OcspRules>>,
}

impl ClientRules {
    /// Returns the rules of a server for client certificates; `None` if it does not request any.
    ///
    /// # Errors
    ///
    /// CA certificates or revocation lists are unusable, or `ssl_ocsp` is combined with `optional_no_ca`.
    pub fn of(settings: &TlsSettings, files: TlsFileReader<'_>) -> Result<Option<Self>, Box<Diagnostic>> {
        if settings.verify_client == VerifyClient::Off {
            return Ok(None);
        }
        let ocsp = OcspRules::of(settings);
        if ocsp.is_some() && settings.verify_client == VerifyClient::OptionalNoCa {
            let at = settings.certificates.first().map(|name| name.span).unwrap_or_default();
            let error = "\"ssl_ocsp\" is incompatible with \"ssl_verify_client optional_no_ca\"";
            return Err(Box::new(Diagnostic::error(at, error).help(
                "OCSP requires a trusted certificate authority: write \"ssl_verify_client optional;\"",
            )));
        }
        Ok(Some(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            mandatory: settings.verify_client == VerifyClient::On,
            accepts_unknown_authority: settings.verify_client == VerifyClient::OptionalNoCa,
            trust: trust(settings, files)?,
            signatures: SignatureVerifier::of(&aws_lc_rs::default_provider()),
            ocsp,
        }))
    }

    /// Returns true if client certificates are checked by OCSP.
    pub fn uses_ocsp(&self) -> bool {
        self.ocsp.is_some()
    }

    /// Sets the name servers (`resolver`) that resolve the host names of OCSP responders, with a timeout in
    /// milliseconds; `None` for the system's resolver.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Option<(Arc<ResolverConfig>, u64)>) -> Self {
        self.ocsp = self.ocsp.map(|ocsp| ocsp.with_resolver(resolve(resolver)));
        self
    }

    /// Verifies a client's certificate chain at `now_s` (seconds since the Unix epoch). Returns the last second of its
    /// validity, and the certificates of the path up to the root in DER, for OCSP queries; `None` if the chain is not
    /// trusted.
    pub(super) fn trusted_path(
        &self,
        chain: &[CertificateDer<'_>],
        now_s: i64,
    ) -> Option<(i64, Vec<Vec<u8>>)> {
        self.trust.verify_path(chain, CertificatePurpose::Client, now_s, self.signatures.algorithms()).ok()
    }

    /// Verifies a client's certificate chain at `now_s` (seconds since the Unix epoch), without OCSP. Returns the last
    /// second of its validity.
    pub fn judge(&self, chain: &[CertificateDer<'_>], now_s: i64) -> Result<i64, VerifyError> {
        self.trust.verify(chain, CertificatePurpose::Client, now_s, self.signatures.algorithms())
    }
}

fn trust(settings: &TlsSettings, files: TlsFileReader<'_>) -> Result<TrustStore, Box<Diagnostic>> {
    let mut trust = TrustStore::new(settings.verify_depth);
    for name in authorities(settings) {
        files.trust(name, &mut trust)?;
    }
    if let Some(lists) = settings.crl.as_ref().filter(|name| !name.is_empty()) {
        files.add_revocation_lists(lists, &mut trust)?;
    }
    Ok(trust)
}

/// Returns the verifier that requests client certificates, or one that requests none for `ssl_verify_client off`.
/// Clients get the CA names of `ssl_client_certificate`. Fails if a configured file is unusable, or no CA is configured
/// for a mode that needs one.
pub(crate) fn client_verifier(
    settings: &TlsSettings,
    files: TlsFileReader<'_>,
    provider: &CryptoProvider,
) -> Result<Arc<dyn ClientCertVerifier>, Box<Diagnostic>> {
    if settings.verify_client == VerifyClient::Off {
        // As in nginx, the configured files must be valid even if no certificates are requested.
        if let Some(name) = settings.trusted_certificate.as_ref().filter(|name| !name.is_empty()) {
            files.trust(name, &mut TrustStore::new(0))?;
        }
        if let Some(lists) = settings.crl.as_ref().filter(|name| !name.is_empty()) {
            files.add_revocation_lists(lists, &mut TrustStore::new(0))?;
        }
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let has_no_authority = authorities(settings).next().is_none();
    if has_no_authority && settings.verify_client != VerifyClient::OptionalNoCa {
        let at = settings.certificates.first().map(|name| name.span).unwrap_or_default();
        let error = "no ssl_client_certificate or ssl_trusted_certificate for ssl_verify_client";
        return Err(Box::new(Diagnostic::error(at, error).help(
            "set ssl_client_certificate to a file with the certificates of the CAs that sign client certificates, in PEM",
        )));
    }
    let mut subjects: Vec<Vec<u8>> = Vec::new();
    if let Some(name) = settings.client_certificate.as_ref().filter(|name| !name.is_empty()) {
        for der in files.trust(name, &mut TrustStore::new(0))? {
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

fn authorities(settings: &TlsSettings) -> impl Iterator<Item = &Text> {
    let all = [&settings.client_certificate, &settings.trusted_certificate];
    all.into_iter().flatten().filter(|name| !name.is_empty())
}

/// Returns the names of the files with CA certificates and revocation lists for client certificates. As in nginx,
/// `ssl_trusted_certificate` and `ssl_crl` are also read if no client certificates are requested, provided that the
/// server has a certificate.
pub(crate) fn files(settings: &TlsSettings) -> impl Iterator<Item = &Text> {
    let requests_certificates = settings.verify_client != VerifyClient::Off;
    let has_certificate = !settings.certificates.is_empty();
    let requested = settings.client_certificate.iter().filter(move |_| requests_certificates);
    let always = settings
        .trusted_certificate
        .iter()
        .chain(&settings.crl)
        .filter(move |_| requests_certificates || has_certificate);
    requested.chain(always).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCertificate, TestClient, TestSite, der};
    use rustls::sign::CertifiedKey;

    macro_rules! fixture {
        ($name:literal) => {
            include_bytes!(concat!("../x509/tests/", $name, ".pem"))
        };
    }

    const NOW: i64 = 1_800_000_000;

    fn site(says: &str) -> TestSite {
        let files: [(&str, &[u8]); 4] = [
            ("root", fixture!("root")),
            ("lone", fixture!("lone")),
            ("lists", &[&fixture!("root-list-middle")[..], fixture!("middle-list")].concat()),
            ("words", b"words"),
        ];
        TestSite::server(says, &files)
    }

    fn rules(says: &str) -> Option<ClientRules> {
        let site = site(says);
        ClientRules::of(site.tls(), site.files()).expect("sound")
    }

    fn judge(says: &str, chain: &[&[u8]]) -> Result<(), VerifyError> {
        let chain: Vec<_> = chain.iter().map(|text| CertificateDer::from(der(text))).collect();
        rules(says).expect("rules").judge(&chain, NOW).map(drop)
    }

    #[test]
    fn how_much_a_client_must_prove_follows_from_the_setting() {
        assert!(rules("").is_none());
        let of = |says: &str| {
            let rules = rules(&format!("ssl_verify_client {says}; ssl_client_certificate root;")).unwrap();
            (rules.mandatory, rules.accepts_unknown_authority)
        };
        assert_eq!(of("on"), (true, false));
        assert_eq!(of("optional"), (false, false));
        assert_eq!(of("optional_no_ca"), (false, true));
        let [one, other] = [(), ()].map(|()| rules("ssl_verify_client optional_no_ca;").unwrap().id);
        assert_ne!(one, other);
    }

    #[test]
    fn chains_are_judged_by_the_authorities_the_depth_and_the_lists_of_the_server() {
        let chain: [&[u8]; 2] = [fixture!("leaf"), fixture!("middle")];
        let on = "ssl_verify_client on;";
        assert_eq!(judge(&format!("{on} ssl_client_certificate root;"), &chain), Ok(()));
        assert_eq!(judge(&format!("{on} ssl_trusted_certificate root;"), &chain), Ok(()));
        let shallow = format!("{on} ssl_client_certificate root; ssl_verify_depth 0;");
        assert_eq!(judge(&shallow, &chain), Err(VerifyError::NoLocalIssuer));
        let revoked = format!("{on} ssl_client_certificate root; ssl_crl lists;");
        assert_eq!(judge(&revoked, &chain), Err(VerifyError::Revoked));
        assert_eq!(
            judge(&format!("{on} ssl_client_certificate lone;"), &chain),
            Err(VerifyError::NoLocalIssuer)
        );
    }

    #[test]
    fn authorities_must_be_named_and_sound_whether_clients_are_asked_or_not() {
        let error = |says: &str| site(says).error();
        let no_authority = error("ssl_verify_client on;");
        assert!(
            no_authority
                .starts_with("no ssl_client_certificate or ssl_trusted_certificate for ssl_verify_client; ")
                && no_authority.contains("set ssl_client_certificate to a file"),
            "{no_authority}"
        );
        let no_certificate = "cannot use \"words\": the file contains no certificate in PEM format";
        assert_eq!(error("ssl_trusted_certificate words;"), no_certificate);
        assert_eq!(error("ssl_verify_client optional; ssl_client_certificate words;"), no_certificate);
        assert!(error("ssl_crl words;").contains("no certificate revocation list"));
        assert!(site("ssl_verify_client optional_no_ca;").config().is_ok());
    }

    #[test]
    fn ca_names_sent_to_client_are_distinct_and_omit_trusted_only_authorities() {
        let site = site("ssl_verify_client on; ssl_client_certificate twice; ssl_trusted_certificate lone;");
        let mut read = site.read.clone();
        let twice = [&fixture!("root")[..], fixture!("root")].concat();
        read.insert("/conf/twice".into(), twice);
        let files = TlsFileReader { read: &read, ..site.files() };
        let verifier = client_verifier(site.tls(), files, &aws_lc_rs::default_provider()).unwrap();
        let root = der(fixture!("root"));
        let subject = Certificate::parse(&root).unwrap().subject.der().to_vec();
        let hinted: Vec<&[u8]> = verifier.root_hint_subjects().iter().map(AsRef::as_ref).collect();
        assert_eq!(hinted, [&subject]);
        assert!(!verifier.client_auth_mandatory(), "what is missing is told by a page");
    }

    #[test]
    fn handshake_accepts_no_certificate_or_any_with_valid_signature() {
        let config = site("ssl_verify_client on; ssl_client_certificate root;").config().unwrap();
        for version in rustls::ALL_VERSIONS {
            let mut client = TestClient::with_versions(&[version]);
            let (_, server) = client.handshake(&config).unwrap();
            assert!(server.peer_certificates().is_none());
            let made = TestCertificate::usual();
            let show = |certificate: &[u8]| {
                let (pair, _) = crate::certificates::certified_key::certified_key(
                    certificate,
                    &made.key,
                    &[],
                    &aws_lc_rs::default_provider(),
                )
                .unwrap();
                let own = CertifiedKey::clone(&pair);
                Arc::new(crate::OneCertificate(Arc::new(own)))
            };
            client.config.client_auth_cert_resolver = show(&made.certificate);
            let (_, server) = client.handshake(&config).unwrap();
            assert_eq!(server.peer_certificates().unwrap()[0].as_ref(), der(&made.certificate));
            // rustls does not compare the key of a version 1 certificate, so the client signs with a key that does not
            // match.
            client.config.client_auth_cert_resolver = show(fixture!("old"));
            assert!(client.handshake(&config).is_err(), "{version:?}");
        }
    }

    #[test]
    fn files_are_read_as_nginx_reads_them() {
        let listed = |says: &str| {
            let site = site(says);
            files(site.tls()).map(|name| name.lossy().into_owned()).collect::<Vec<_>>()
        };
        let all = "ssl_client_certificate root; ssl_trusted_certificate lone; ssl_crl lists;";
        assert_eq!(listed(all), ["lone", "lists"]);
        assert_eq!(listed(&format!("ssl_verify_client on; {all}")), ["root", "lone", "lists"]);
        assert!(listed("ssl_trusted_certificate ''; ssl_verify_client optional_no_ca;").is_empty());
    }
}
