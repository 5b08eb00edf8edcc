//! Certificates of a server and their selection during a handshake.

use std::sync::Arc;

use crate::acme_client::CertificateSlot;
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::identity::{CertificateSource, StapledCertificate, with_ocsp};
use super::parts::ServerParts;
use super::preference::CertificatePreference;
use crate::certificates::files::{display_name, file_error};
use crate::offer::supported_suites::SupportedSuites;

/// Certificates of a server with their keys, usually one for each key type.
#[derive(Debug)]
pub(super) struct ServerCertificates {
    /// Certificates in the server's order of preference: ECDSA before RSA.
    all: Box<[CertificateSource]>,
    preference: CertificatePreference,
}

/// Returns true if the client's order of preference decides which of the server's certificates is used.
pub fn is_clients(settings: &TlsSettings) -> bool {
    settings.prefer_server_ciphers != Some(true)
}

/// Returns true if the name of a certificate or key is `$acme_certificate` or `$acme_certificate_key`, which stand for
/// the certificate that the server orders by ACME.
pub fn is_ordered(name: &Text) -> bool {
    matches!(name.bytes(), b"$acme_certificate" | b"$acme_certificate_key")
}

/// Returns true if a server has a certificate or key whose name contains variables, so that its file is known only
/// during a handshake. `$acme_certificate` and `$acme_certificate_key` do not count.
pub fn have_variable_names(settings: &TlsSettings) -> bool {
    let pairs = settings.certificates.iter().chain(&settings.keys);
    pairs.into_iter().any(|name| name.has_variables() && !is_ordered(name))
}

impl ResolvesServerCert for ServerCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().filter_map(CertificateSource::certified))
    }
}

impl ServerCertificates {
    /// Reads the certificates of a server. Of several certificates from files with the same key type, only the last is
    /// used. Returns no certificates if the name of any of them has variables. Fails if a file is unusable, a
    /// certificate has no key, or an automatic certificate is not configured completely.
    pub(super) fn read(
        parts: &ServerParts<'_>,
        supported: &SupportedSuites,
    ) -> Result<Self, Box<Diagnostic>> {
        let ServerParts { settings, files, ordered, staples } = *parts;
        let passwords = files.passwords(settings.password_file.as_ref())?;
        let is_clients = is_clients(settings);
        let mut identities = Vec::new();
        if have_variable_names(settings) {
            return Ok(Self {
                all: [].into(),
                preference: CertificatePreference { suites: [].into(), is_clients },
            });
        }
        for (index, certificate) in settings.certificates.iter().enumerate() {
            let Some(key) = settings.keys.get(index) else {
                let error = format!(
                    "no \"ssl_certificate_key\" is defined for certificate \"{}\"",
                    display_name(certificate.bytes())
                );
                return Err(file_error(certificate, error));
            };
            if is_ordered(certificate) || is_ordered(key) {
                identities.push(CertificateSource::Ordered(ordered_slot(certificate, key, ordered)?));
                continue;
            }
            let certified = files.certified((certificate, key), &passwords, &supported.provider)?;
            let stapled = settings.stapling_file.as_ref().filter(|_| settings.stapling && index == 0);
            // If two certificates have the same key type, the later one is used, as in OpenSSL.
            let kind = certified.key.algorithm();
            identities.retain(|known: &CertificateSource| known.kind() != Some(kind));
            let staple = staples.get(index).and_then(Option::as_ref);
            identities.push(match (stapled, staple) {
                (Some(file), _) => {
                    CertificateSource::Fixed(with_ocsp(&certified, files.ocsp_response(file)?))
                }
                (None, Some(staple)) => {
                    CertificateSource::Stapled(StapledCertificate::new(certified, Arc::clone(staple)))
                }
                (None, None) => CertificateSource::Fixed(certified),
            });
        }
        identities.sort_by_key(CertificateSource::is_rsa);
        let suites = Arc::clone(&supported.suites);
        Ok(Self { all: identities.into(), preference: CertificatePreference { suites, is_clients } })
    }
}

/// Returns the slot of the server's automatic certificate. Fails if `certificate` and `key` are not the two names
/// `$acme_certificate` and `$acme_certificate_key`, or the server has no `acme_certificate` (`ordered` is `None`).
fn ordered_slot(
    certificate: &Text,
    key: &Text,
    ordered: Option<&Arc<CertificateSlot>>,
) -> Result<Arc<CertificateSlot>, Box<Diagnostic>> {
    if !is_ordered(certificate) || !is_ordered(key) || certificate.bytes() == key.bytes() {
        let error =
            "\"ssl_certificate $acme_certificate\" requires \"ssl_certificate_key $acme_certificate_key\"";
        return Err(file_error(key, error.to_owned()));
    }
    let missing = || {
        file_error(
            certificate,
            "\"$acme_certificate\" requires \"acme_certificate\" in this server".to_owned(),
        )
    };
    ordered.map(Arc::clone).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::acme_client::{CertificateOrder, SigningKey};
    use crate::resume::reload_state::TlsReloadState;
    use crate::server::config::server_config;
    use crate::testing::{TestCertificate, TestClient, TestSite, der, now_s};
    use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};

    const ORDERS: &str = "acme_issuer ca { uri https://ca.test/; }
        server { listen 443 ssl; server_name a.test; acme_certificate ca;
        ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key; }";

    fn first_shown(http: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let config = TestSite::of(http, files).config().unwrap();
        let client = TestClient::new();
        client.handshake(&config).unwrap();
        client.shown().0
    }

    #[test]
    fn of_two_certificates_the_cheaper_is_shown_and_of_one_kind_the_later() {
        let [rsa, ecdsa, other] = [AcmeKeyKind::Rsa2048, AcmeKeyKind::P256, AcmeKeyKind::P256]
            .map(|kind| TestCertificate::of(kind, "a.test"));
        let files: [(&str, &[u8]); 3] = [("r", &rsa.both()), ("e", &ecdsa.both()), ("o", &other.both())];
        let pairs = |names: &[&str]| {
            let lines =
                names.iter().map(|name| format!("ssl_certificate {name}; ssl_certificate_key {name};"));
            format!(
                "server {{ listen 443 ssl; ssl_prefer_server_ciphers on; {} }}",
                lines.collect::<String>()
            )
        };
        assert_eq!(first_shown(&pairs(&["r", "e"]), &files), der(&ecdsa.certificate));
        assert_eq!(first_shown(&pairs(&["e", "o"]), &files), der(&other.certificate));
        assert_eq!(first_shown(&pairs(&["r"]), &files), der(&rsa.certificate));
    }

    #[test]
    fn a_file_of_an_ocsp_answer_goes_with_the_first_certificate() {
        let answer = include_bytes!("../x509/ocsp/fixtures/good.der");
        let site = TestSite::server("ssl_stapling on; ssl_stapling_file answer;", &[("answer", answer)]);
        let client = TestClient::new();
        client.handshake(&site.config().unwrap()).unwrap();
        assert_eq!(client.shown().1, answer);
        let off = TestSite::server("ssl_stapling_file answer;", &[("answer", answer)]);
        client.handshake(&off.config().unwrap()).unwrap();
        assert_eq!(client.shown().1, b"");
        let none = TestSite::server("ssl_stapling on; ssl_stapling_file answer;", &[("answer", b"x")]);
        assert!(none.error().contains("openssl ocsp"), "{}", none.error());
    }

    #[test]
    fn what_is_ordered_is_shown_once_it_has_come() {
        let site = TestSite::of(ORDERS, &[]);
        let identifiers = vec![AcmeIdentifier::Dns("a.test".to_owned())];
        let slot = CertificateSlot::new(CertificateOrder { identifiers, key: AcmeKeyKind::P256 });
        let parts = ServerParts { ordered: Some(&slot), ..site.parts() };
        let config = Arc::new(server_config(&parts, &mut TlsReloadState::default()).unwrap());
        let client = TestClient::new();
        assert!(client.handshake(&config).is_err());
        let made =
            TestCertificate::with(&SigningKey::generate(AcmeKeyKind::P256).unwrap(), "a.test", now_s());
        slot.fill(&made.both()).unwrap();
        client.handshake(&config).unwrap();
        assert_eq!(client.shown().0, der(&made.certificate));
    }

    #[test]
    fn incomplete_certificate_pairs_are_reported() {
        assert!(TestSite::of(ORDERS, &[]).error().contains("in this server"));
        let lone = ORDERS.replace("$acme_certificate_key", "a.key");
        assert!(TestSite::of(&lone, &[]).error().contains("requires"));
        let mut site = TestSite::server("", &[]);
        site.model.http.as_mut().unwrap().servers[0].settings.tls.keys.clear();
        assert_eq!(site.error(), "no \"ssl_certificate_key\" is defined for certificate \"a.crt\"");
        let inline = "server { listen 443 ssl; ssl_certificate data:secret; ssl_certificate_key k; }";
        let mut site = TestSite::of(inline, &[]);
        site.model.http.as_mut().unwrap().servers[0].settings.tls.keys.clear();
        assert_eq!(site.error(), "no \"ssl_certificate_key\" is defined for certificate \"data:\"");
    }

    #[test]
    fn the_clients_order_decides_unless_the_server_insists() {
        let of = |says: &str| is_clients(TestSite::server(says, &[]).tls());
        assert!(of("") && of("ssl_prefer_server_ciphers off;"));
        assert!(!of("ssl_prefer_server_ciphers on;"));
    }

    #[test]
    fn variables_of_orders_name_no_files() {
        assert!(!have_variable_names(TestSite::of(ORDERS, &[]).tls()));
        let named = "server { listen 443 ssl; ssl_certificate $host; ssl_certificate_key $host; }";
        assert!(have_variable_names(TestSite::of(named, &[]).tls()));
        let config = TestSite::of(named, &[]).config().unwrap();
        assert!(
            TestClient::new().handshake(&config).is_err(),
            "nothing is shown until the variables are known"
        );
    }
}
