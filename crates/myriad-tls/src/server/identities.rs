//! Certificates of a server with their keys.

use std::sync::Arc;

use crate::acme_client::Slot;
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::identity::{Identity, Stapled, with_ocsp};
use super::parts::ServerParts;
use super::preference::Preference;
use crate::certificates::files::fail;
use crate::offer::spoken::Spoken;

/// Certificates of a server: usually one for each kind of key.
#[derive(Debug)]
pub(super) struct Identities {
    /// Certificates in the order of their cost: ECDSA before RSA.
    all: Box<[Identity]>,
    preference: Preference,
}

/// Returns whether the client's order determines its certificate.
pub fn is_clients(settings: &TlsSettings) -> bool {
    settings.prefer_server_ciphers != Some(true)
}

/// Returns whether a name is one of the two variables of `acme_certificate`.
pub fn is_ordered(name: &Text) -> bool {
    matches!(name.bytes(), b"$acme_certificate" | b"$acme_certificate_key")
}

/// Returns whether variables name one of the certificates or keys, so that they are known only during a handshake.
pub fn are_named(settings: &TlsSettings) -> bool {
    let pairs = settings.certificates.iter().chain(&settings.keys);
    pairs.into_iter().any(|name| name.has_variables() && !is_ordered(name))
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().filter_map(Identity::certified))
    }
}

impl Identities {
    pub(super) fn read(parts: &ServerParts<'_>, spoken: &Spoken) -> Result<Self, Box<Diagnostic>> {
        let ServerParts { settings, files, ordered, staples } = *parts;
        let passwords = files.passwords(settings.password_file.as_ref())?;
        let is_clients = is_clients(settings);
        let mut identities = Vec::new();
        if are_named(settings) {
            return Ok(Self { all: [].into(), preference: Preference { suites: [].into(), is_clients } });
        }
        for (index, certificate) in settings.certificates.iter().enumerate() {
            let Some(key) = settings.keys.get(index) else {
                let error = format!(
                    "no \"ssl_certificate_key\" is defined for certificate \"{}\"",
                    certificate.lossy()
                );
                return Err(fail(certificate, error));
            };
            if is_ordered(certificate) || is_ordered(key) {
                identities.push(Identity::Ordered(both_ordered(certificate, key, ordered)?));
                continue;
            }
            let certified = files.certified((certificate, key), &passwords, &spoken.provider)?;
            let stapled = settings.stapling_file.as_ref().filter(|_| settings.stapling && index == 0);
            // Of two certificates with the same kind of key the later is used, as in OpenSSL.
            let kind = certified.key.algorithm();
            identities.retain(|known: &Identity| known.kind() != Some(kind));
            let staple = staples.get(index).and_then(Option::as_ref);
            identities.push(match (stapled, staple) {
                (Some(file), _) => Identity::Fixed(with_ocsp(&certified, files.ocsp_answer(file)?)),
                (None, Some(staple)) => Identity::Stapled(Stapled::new(certified, Arc::clone(staple))),
                (None, None) => Identity::Fixed(certified),
            });
        }
        identities.sort_by_key(Identity::is_rsa);
        let suites = Arc::clone(&spoken.suites);
        Ok(Self { all: identities.into(), preference: Preference { suites, is_clients } })
    }
}

/// Returns the slot of an ordered pair. Fails if one of its two variables is used without the other, or nothing is
/// ordered.
fn both_ordered(
    certificate: &Text,
    key: &Text,
    ordered: Option<&Arc<Slot>>,
) -> Result<Arc<Slot>, Box<Diagnostic>> {
    if !is_ordered(certificate) || !is_ordered(key) || certificate.bytes() == key.bytes() {
        let error =
            "\"ssl_certificate $acme_certificate\" requires \"ssl_certificate_key $acme_certificate_key\"";
        return Err(fail(key, error.to_owned()));
    }
    let missing =
        || fail(certificate, "\"$acme_certificate\" requires \"acme_certificate\" in this server".to_owned());
    ordered.map(Arc::clone).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::acme_client::{CertificateOrder, SigningKey};
    use crate::resume::kept::Kept;
    use crate::server::config::server_config;
    use crate::testing::{Client, Made, Site, der, now_s};
    use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};

    const ORDERS: &str = "acme_issuer ca { uri https://ca.test/; }
        server { listen 443 ssl; server_name a.test; acme_certificate ca;
        ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key; }";

    fn first_shown(http: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let config = Site::of(http, files).config().unwrap();
        let client = Client::new();
        client.shake(&config).unwrap();
        client.shown().0
    }

    #[test]
    fn of_two_certificates_the_cheaper_is_shown_and_of_one_kind_the_later() {
        let [rsa, ecdsa, other] =
            [AcmeKeyKind::Rsa2048, AcmeKeyKind::P256, AcmeKeyKind::P256].map(|kind| Made::of(kind, "a.test"));
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
        let site = Site::server("ssl_stapling on; ssl_stapling_file answer;", &[("answer", answer)]);
        let client = Client::new();
        client.shake(&site.config().unwrap()).unwrap();
        assert_eq!(client.shown().1, answer);
        let off = Site::server("ssl_stapling_file answer;", &[("answer", answer)]);
        client.shake(&off.config().unwrap()).unwrap();
        assert_eq!(client.shown().1, b"");
        let none = Site::server("ssl_stapling on; ssl_stapling_file answer;", &[("answer", b"x")]);
        assert!(none.error().contains("openssl ocsp"), "{}", none.error());
    }

    #[test]
    fn what_is_ordered_is_shown_once_it_has_come() {
        let site = Site::of(ORDERS, &[]);
        let identifiers = vec![AcmeIdentifier::Dns("a.test".to_owned())];
        let slot = Slot::new(CertificateOrder { identifiers, key: AcmeKeyKind::P256 });
        let parts = ServerParts { ordered: Some(&slot), ..site.parts() };
        let config = Arc::new(server_config(&parts, &mut Kept::default()).unwrap());
        let client = Client::new();
        assert!(client.shake(&config).is_err());
        let made = Made::with(&SigningKey::generate(AcmeKeyKind::P256).unwrap(), "a.test", now_s());
        slot.fill(&made.both()).unwrap();
        client.shake(&config).unwrap();
        assert_eq!(client.shown().0, der(&made.certificate));
    }

    #[test]
    fn incomplete_certificate_pairs_are_reported() {
        assert!(Site::of(ORDERS, &[]).error().contains("in this server"));
        let lone = ORDERS.replace("$acme_certificate_key", "a.key");
        assert!(Site::of(&lone, &[]).error().contains("requires"));
        let mut site = Site::server("", &[]);
        site.model.http.as_mut().unwrap().servers[0].settings.tls.keys.clear();
        assert_eq!(site.error(), "no \"ssl_certificate_key\" is defined for certificate \"a.crt\"");
    }

    #[test]
    fn the_clients_order_decides_unless_the_server_insists() {
        let of = |says: &str| is_clients(Site::server(says, &[]).tls());
        assert!(of("") && of("ssl_prefer_server_ciphers off;"));
        assert!(!of("ssl_prefer_server_ciphers on;"));
    }

    #[test]
    fn variables_of_orders_name_no_files() {
        assert!(!are_named(Site::of(ORDERS, &[]).tls()));
        let named = "server { listen 443 ssl; ssl_certificate $host; ssl_certificate_key $host; }";
        assert!(are_named(Site::of(named, &[]).tls()));
        let config = Site::of(named, &[]).config().unwrap();
        assert!(Client::new().shake(&config).is_err(), "nothing is shown until the variables are known");
    }
}
