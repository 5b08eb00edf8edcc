//! Conversion of the directives `*_ssl_*` for upstream connections (`proxy_ssl_*`, `grpc_ssl_*`, …) to settings of
//! rustls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::x509::TrustStore;
use myriad_conf::settings::{OriginSettings, OriginTlsSettings};
use myriad_conf::{Diagnostic, Span, Text};
use myriad_upstream::PeerVerifier;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, version};

use super::origins::{AnyOrigin, OneCertificate, VerifiedOrigin};
use crate::certificates::files::{TlsFileReader, display_name, is_tls_file};
use crate::certificates::named_certificates::NamedCertificates;
use crate::offer::provider::{SuiteSettings, provider};

/// Maximum number of stored TLS sessions with the upstreams of a location. rustls stores up to 8 per server name, so
/// this is sufficient for 32 names.
const SESSIONS: usize = 256;

/// Identifier of the next upstream TLS settings. Identifiers are never reused, so that connections of an older
/// configuration are not taken for those of a new one.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// TLS settings for upstream connections of a location.
pub struct OriginTlsConfig {
    /// TLS versions, cipher suites and session cache; also the client certificate, unless its name or that of its key
    /// contains variables.
    pub config: Arc<ClientConfig>,
    /// Verification of the upstream's certificate (`proxy_ssl_verify`); `None` if any certificate is accepted.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// Loader of the client certificate (`proxy_ssl_certificate`); `None` unless its name or that of its key has
    /// variables.
    pub named: Option<Arc<NamedCertificates>>,
    /// Unique identifier of these settings; never reused.
    pub id: u64,
}

impl OriginTlsConfig {
    /// Creates the upstream TLS settings of a location. `at` is the position of its upstream address in the
    /// configuration.
    ///
    /// # Errors
    ///
    /// The first unusable setting or file, at its position in the configuration, or at `at` if it has none.
    pub fn of(origin: &OriginSettings, at: Span, files: TlsFileReader<'_>) -> Result<Self, Box<Diagnostic>> {
        let prefix = origin.protocol.prefix();
        let mut applied = origin.tls.clone();
        applied.apply_openssl_commands()?;
        let settings = &applied;
        let offer =
            SuiteSettings { ciphers: settings.ciphers.as_ref(), curves: None, commands: &settings.commands };
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
        let check = verification((prefix, settings), at, files, &provider)?;
        let named = client_certificate((prefix, settings), files, &provider, &mut config)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { config: Arc::new(config), check, named, id })
    }
}

/// Returns the verification of the upstream's certificate; `None` without `*_ssl_verify`. Fails if no CA certificates
/// are configured, or a file is unusable. `prefix` is the prefix of the directives in messages, such as `grpc_`.
fn verification(
    (prefix, settings): (&str, &OriginTlsSettings),
    at: Span,
    files: TlsFileReader<'_>,
    provider: &CryptoProvider,
) -> Result<Option<Arc<dyn PeerVerifier>>, Box<Diagnostic>> {
    if !settings.verify {
        return Ok(None);
    }
    let Some(authorities) = &settings.trusted_certificate else {
        let error = format!("no {prefix}ssl_trusted_certificate for {prefix}ssl_verify");
        let help = format!(
            "set {prefix}ssl_trusted_certificate to a file with CA certificates, such as /etc/ssl/certs/ca-certificates.crt"
        );
        return Err(Box::new(Diagnostic::error(at, error).help(help)));
    };
    let mut trust = TrustStore::new(settings.verify_depth);
    files.trust(authorities, &mut trust)?;
    if let Some(lists) = &settings.crl {
        files.add_revocation_lists(lists, &mut trust)?;
    }
    Ok(Some(Arc::new(VerifiedOrigin::new(trust, provider))))
}

/// Sets the client certificate in `config`, if one is configured. If its name or that of its key has variables, returns
/// a loader instead, to be called for each request. Fails if no key is configured for the certificate, or if a file is
/// unusable. `prefix` is the prefix of the directives in messages, such as `grpc_`.
fn client_certificate(
    (prefix, settings): (&str, &OriginTlsSettings),
    files: TlsFileReader<'_>,
    provider: &Arc<CryptoProvider>,
    config: &mut ClientConfig,
) -> Result<Option<Arc<NamedCertificates>>, Box<Diagnostic>> {
    let Some(certificate) = settings.certificate.as_ref().filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let Some(key) = &settings.key else {
        let error = format!(
            "no \"{prefix}ssl_certificate_key\" is defined for certificate \"{}\"",
            display_name(certificate.bytes())
        );
        return Err(Box::new(Diagnostic::error(certificate.span, error)));
    };
    let passwords = files.passwords(settings.password_file.as_ref())?;
    if !certificate.has_variables() && !key.has_variables() {
        let certified = files.certified((certificate, key), &passwords, provider)?;
        config.client_auth_cert_resolver = Arc::new(OneCertificate(certified));
        return Ok(None);
    }
    let (folder, provider) = (files.folder.to_owned(), Arc::clone(provider));
    Ok(Some(Arc::new(NamedCertificates::new(folder, passwords, provider, settings.certificate_cache))))
}

/// Returns the names of the files that upstream TLS settings use: client certificate and key, unless the names have
/// variables or begin with `data:`; password file; CA certificates and revocation lists, if the upstream's certificate
/// is verified.
pub(crate) fn files(settings: &OriginTlsSettings) -> impl Iterator<Item = &Text> {
    let OriginTlsSettings { trusted_certificate, crl, certificate, key, password_file, .. } = settings;
    let fixed = [certificate, key].into_iter().flatten().filter(|name| is_tls_file(name));
    let proof = [trusted_certificate, crl].into_iter().flatten().filter(|_| settings.verify);
    let passwords = password_file.iter().filter(|_| certificate.is_some());
    fixed.chain(proof).chain(passwords)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCertificate, TestSite};
    use myriad_conf::model::ServerConf;
    use rustls::pki_types::CertificateDer;

    fn site(says: &str, made: &TestCertificate) -> TestSite {
        let http = format!("server {{ listen 80; location / {{ proxy_pass https://127.0.0.1:9; {says} }} }}");
        let files: [(&str, &[u8]); 4] =
            [("c", &made.certificate), ("k", &made.key), ("words", b"words"), ("passwords", b"secret\n")];
        TestSite::of(&http, &files)
    }

    fn origin(server: &ServerConf) -> &OriginSettings {
        server.locations[0].settings.origin(myriad_conf::testing::URL)
    }

    fn of(says: &str, made: &TestCertificate) -> Result<OriginTlsConfig, String> {
        let site = site(says, made);
        let made = OriginTlsConfig::of(origin(site.first()), Span::default(), site.files());
        made.map_err(|error| [vec![error.message], error.help].concat().join("; "))
    }

    #[test]
    fn origin_tls_settings_follow_location_and_have_distinct_ids() {
        let made = TestCertificate::usual();
        let usual = of("", &made).unwrap();
        assert!(!usual.config.enable_sni && usual.check.is_none() && usual.named.is_none());
        assert!(!usual.config.client_auth_cert_resolver.has_certs());
        let named = of("proxy_ssl_server_name on; proxy_ssl_ciphers ECDHE+CHACHA20;", &made).unwrap();
        assert!(named.config.enable_sni && named.id != usual.id);
        assert_eq!(named.config.crypto_provider().cipher_suites.len(), 2 + 3);
        assert!(of("proxy_ssl_conf_command MaxProtocol TLSv1.1;", &made).is_err());
    }

    #[test]
    fn origin_verification_requires_trusted_certificate() {
        let made = TestCertificate::usual();
        let error = |says: &str| of(says, &made).err().expect("an error");
        assert!(error("proxy_ssl_verify on;").contains("no proxy_ssl_trusted_certificate"));
        assert!(
            error("proxy_ssl_verify on; proxy_ssl_trusted_certificate words;").contains("no certificate")
        );
        assert!(of("proxy_ssl_verify off; proxy_ssl_trusted_certificate words;", &made).is_ok());
        let trusting = of("proxy_ssl_verify on; proxy_ssl_trusted_certificate c;", &made).unwrap();
        let check = trusting.check.expect("a check");
        let chain = |made: &TestCertificate| [CertificateDer::from(crate::testing::der(&made.certificate))];
        assert!(check.check(&chain(&made), "a.test").is_ok());
        let error_text = |end: Result<(), (_, String)>| end.map_err(|(_, why)| why);
        let other = error_text(check.check(&chain(&made), "b.test"));
        assert_eq!(other, Err("upstream SSL certificate does not match \"b.test\"".to_owned()));
        let unknown = error_text(check.check(&chain(&TestCertificate::usual()), "a.test")).unwrap_err();
        assert!(unknown.starts_with("upstream SSL certificate verify error: ("), "{unknown}");
        assert!(check.check(&[], "a.test").is_err());
    }

    #[test]
    fn own_certificate_is_shown_or_read_for_each_request() {
        let made = TestCertificate::usual();
        let fixed = of("proxy_ssl_certificate c; proxy_ssl_certificate_key k;", &made).unwrap();
        assert!(fixed.config.client_auth_cert_resolver.has_certs() && fixed.named.is_none());
        let named = of("proxy_ssl_certificate $host; proxy_ssl_certificate_key k;", &made).unwrap();
        assert!(!named.config.client_auth_cert_resolver.has_certs() && named.named.is_some());
        let none = of("proxy_ssl_certificate ''; proxy_ssl_certificate_key k;", &made).unwrap();
        assert!(!none.config.client_auth_cert_resolver.has_certs() && none.named.is_none());
        let error = of("proxy_ssl_certificate c; proxy_ssl_certificate_key words;", &made).err();
        assert_eq!(
            error.as_deref(),
            Some("cannot use \"words\": the file contains no private key in PEM format")
        );
        let inline = of("proxy_ssl_certificate data:secret;", &made).err();
        assert_eq!(
            inline.as_deref(),
            Some("no \"proxy_ssl_certificate_key\" is defined for certificate \"data:\"")
        );
    }

    #[test]
    fn files_are_those_that_the_settings_need() {
        let listed = |says: &str| {
            let site = site(says, &TestCertificate::usual());
            files(&origin(site.first()).tls).map(|name| name.lossy().into_owned()).collect::<Vec<_>>()
        };
        let proof = "proxy_ssl_trusted_certificate c; proxy_ssl_crl words;";
        assert!(listed(proof).is_empty());
        assert_eq!(listed(&format!("{proof} proxy_ssl_verify on;")), ["c", "words"]);
        let shown = "proxy_ssl_certificate_key k; proxy_ssl_password_file passwords; proxy_ssl_certificate";
        assert_eq!(listed(&format!("{shown} c;")), ["c", "k", "passwords"]);
        assert_eq!(listed(&format!("{shown} $host;")), ["k", "passwords"]);
    }
}
