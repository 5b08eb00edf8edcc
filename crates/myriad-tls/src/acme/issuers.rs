//! Certificate authorities for automatic certificates (`acme_issuer`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acme_client::agent::ACCOUNT_FILE;
use crate::acme_client::https::is_url;
use crate::acme_client::issuer::{AccountKey, decode_key};
use crate::acme_client::{CertificateSlot, ExternalAccount, Issuer, SigningKey};
use crate::x509::pem;
use myriad_conf::model::{AccountKeyConf, AcmeIssuerConf, ExternalAccountConf};
use myriad_conf::{Diagnostic, Model, Text};
use zeroize::Zeroizing;

use super::orders::{AcmeOrders, state_folder};
use crate::certificates::files::{DATA, TlsFileReader, display_name, tls_path};

/// Certificate authority of a configuration, with everything to start its [`crate::acme_client::agent::AcmeAgent`].
pub struct PlannedIssuer {
    /// Settings of the authority and of the account.
    pub issuer: Issuer,
    /// Slots of the certificates ordered from the authority.
    pub slots: Vec<Arc<CertificateSlot>>,
    /// Those of `slots` that the nodes of a cluster share.
    pub shared: Vec<Arc<CertificateSlot>>,
    /// Folder of the issuer's account key and certificates; `None` if nothing is stored (`state_path`).
    pub state: Option<PathBuf>,
    /// Stored key of the ACME account in PEM; `None` if none was read.
    pub account: Option<Zeroizing<Vec<u8>>>,
}

/// Returns the issuers of a configuration, each with its certificate slots from `orders`, and a diagnostic for each
/// unusable issuer. A relative `state_path` is resolved against `prefix`.
pub fn planned_issuers(
    model: &Model,
    prefix: &Path,
    files: TlsFileReader<'_>,
    orders: &AcmeOrders,
) -> (Vec<PlannedIssuer>, Vec<Diagnostic>) {
    let (mut issuers, mut errors) = (Vec::new(), Vec::new());
    for conf in model.http.iter().flat_map(|http| &http.acme_issuers) {
        let slots = orders.slots_of_issuer(&conf.name, model);
        let shared = orders.shared_slots(&conf.name, model);
        let state = state_folder(conf, prefix);
        let account = state.as_ref().and_then(|folder| files.read.get(&folder.join(ACCOUNT_FILE)));
        let account = account.cloned().map(Zeroizing::new);
        match issuer(conf, files) {
            Ok(issuer) => issuers.push(PlannedIssuer { issuer, slots, shared, state, account }),
            Err(error) => errors.push(*error),
        }
    }
    (issuers, errors)
}

/// Returns the files named in `acme_issuer` blocks: account keys, external account keys (except those after `data:`)
/// and CA certificates.
pub(crate) fn files(model: &Model) -> impl Iterator<Item = &Text> {
    let issuers = model.http.iter().flat_map(|http| &http.acme_issuers);
    issuers.flat_map(|issuer| {
        let account = match &issuer.account_key {
            AccountKeyConf::File(file) => Some(file),
            AccountKeyConf::Kind(_) => None,
        };
        let external = issuer.external_account.as_ref().map(|external| &external.key);
        let external = external.filter(|key| !key.bytes().starts_with(DATA));
        account.into_iter().chain(external).chain(&issuer.trusted_certificate)
    })
}

fn issuer(conf: &AcmeIssuerConf, files: TlsFileReader<'_>) -> Result<Issuer, Box<Diagnostic>> {
    let uri = conf.uri.lossy().into_owned();
    if !is_url(&uri) {
        let error = Diagnostic::error(conf.uri.span, format!("invalid URL \"{uri}\" in \"uri\""));
        let help = "write the URL of the certificate authority's directory, which begins with https://";
        return Err(Box::new(error.help(help)));
    }
    let account_key = match &conf.account_key {
        AccountKeyConf::Kind(kind) => AccountKey::Generated(*kind),
        AccountKeyConf::File(file) => {
            let text = read_file(file, files)?;
            if SigningKey::from_pem(text).is_none() {
                return Err(unusable_file(
                    file,
                    "the file contains no ECDSA or RSA private key in PEM format",
                ));
            }
            AccountKey::Configured(text.to_vec().into())
        }
    };
    let roots = conf.trusted_certificate.as_ref().map(|file| {
        let text = read_file(file, files)?;
        let empty = pem::certificates(text).flatten().next().is_none();
        if empty {
            Err(unusable_file(file, "the file contains no certificate in PEM format"))
        } else {
            Ok(text.to_vec())
        }
    });
    let text = |text: &Text| text.lossy().into_owned();
    Ok(Issuer {
        name: conf.name.clone(),
        uri,
        account_key,
        challenge: conf.challenge,
        contacts: conf.contacts.iter().map(text).collect(),
        external_account: conf
            .external_account
            .as_ref()
            .map(|own| external_account(own, files))
            .transpose()?,
        preferred_chain: conf.preferred_chain.as_ref().map(text),
        profile: conf.profile.as_ref().map(|(name, required)| (text(name), *required)),
        common_name: conf.common_name_in_csr,
        roots: roots.transpose()?,
        verify: conf.verify,
        accepts_terms: conf.accepts_terms,
    })
}

fn external_account(
    conf: &ExternalAccountConf,
    files: TlsFileReader<'_>,
) -> Result<ExternalAccount, Box<Diagnostic>> {
    let text = match conf.key.bytes().strip_prefix(DATA) {
        Some(key) => key,
        None => read_file(&conf.key, files)?,
    };
    let key = decode_key(text).ok_or_else(|| {
        unusable_file(&conf.key, "the key must be base64url-encoded, as shown by the certificate authority")
    })?;
    Ok(ExternalAccount { kid: conf.kid.lossy().into_owned(), key })
}

fn read_file<'a>(name: &Text, files: TlsFileReader<'a>) -> Result<&'a [u8], Box<Diagnostic>> {
    let read = files.read.get(&tls_path(files.folder, name));
    read.map(Vec::as_slice).ok_or_else(|| unusable_file(name, "it cannot be read"))
}

#[expect(clippy::unnecessary_box_returns, reason = "callers return it in a boxed result")]
fn unusable_file(name: &Text, why: &str) -> Box<Diagnostic> {
    let shown = display_name(name.bytes());
    Box::new(Diagnostic::error(name.span, format!("cannot use \"{shown}\": {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCertificate, TestSite};
    use myriad_conf::model::AcmeChallenge;

    const PREFIX: &str = "/prefix";

    fn site(says: &str) -> TestSite {
        let made = TestCertificate::usual();
        let files: [(&str, &[u8]); 4] =
            [("key", &made.key), ("crt", &made.certificate), ("mac", b"c2VjcmV0\n"), ("words", b"w o r d s")];
        TestSite::of(
            &format!(
                "acme_issuer ca {{ {says} }} server {{ listen 80; server_name a.test; acme_certificate ca; }}"
            ),
            &files,
        )
    }

    fn planned(says: &str) -> Result<PlannedIssuer, String> {
        let site = site(&format!("uri https://ca.test/dir; {says}"));
        let (mut issuers, errors) =
            planned_issuers(&site.model, Path::new(PREFIX), site.files(), &AcmeOrders::default());
        errors.into_iter().next().map_or_else(|| Ok(issuers.remove(0)), |error| Err(error.message))
    }

    #[test]
    fn issuer_settings_follow_configuration() {
        let issuer = planned("").unwrap().issuer;
        assert_eq!((issuer.name.as_str(), issuer.uri.as_str()), ("ca", "https://ca.test/dir"));
        assert!(issuer.verify && issuer.roots.is_none() && issuer.external_account.is_none());
        let directives = "challenge tls-alpn-01; contact a@b.test; ssl_verify off; ssl_trusted_certificate crt; \
                    preferred_chain Top; accept_terms_of_service; account_key key;";
        let issuer = planned(directives).unwrap().issuer;
        assert!(matches!(issuer.challenge, AcmeChallenge::TlsAlpn01) && issuer.roots.is_some());
        assert!(!issuer.verify && issuer.accepts_terms);
        assert!(matches!(issuer.account_key, AccountKey::Configured(_)));
        assert_eq!(issuer.preferred_chain.as_deref(), Some("Top"));
    }

    #[test]
    fn unusable_issuer_files_are_reported() {
        let error = |says: &str| planned(says).err().expect("an error");
        assert_eq!(error("account_key none;"), "cannot use \"none\": it cannot be read");
        assert!(
            error("account_key crt;")
                .ends_with("the file contains no ECDSA or RSA private key in PEM format")
        );
        assert!(
            error("ssl_trusted_certificate key;").ends_with("the file contains no certificate in PEM format")
        );
        assert!(error("external_account_key kid words;").contains("must be base64url"));
    }

    #[test]
    fn key_of_an_account_elsewhere_is_never_repeated() {
        let account = |says: &str| planned(says).map(|planned| planned.issuer.external_account);
        let known = |says: &str| account(says).unwrap().map(|account| (account.kid, account.key));
        let expected = Some(("kid".to_owned(), b"secret".to_vec().into()));
        assert_eq!(known("external_account_key kid mac;"), expected);
        assert_eq!(known("external_account_key kid data:c2VjcmV0;"), expected);
        let error = account("external_account_key kid 'data:pass word';").err().unwrap();
        assert!(error.starts_with("cannot use \"data:\": ") && !error.contains("word"), "{error}");
    }

    #[test]
    fn invalid_issuer_url_is_reported_with_its_position() {
        let site = site("uri https://ca.test:port/;");
        let (issuers, errors) =
            planned_issuers(&site.model, Path::new(PREFIX), site.files(), &AcmeOrders::default());
        assert!(issuers.is_empty());
        assert_eq!(errors[0].message, "invalid URL \"https://ca.test:port/\" in \"uri\"");
        assert!(errors[0].help.concat().contains("begins with https://"));
        assert_eq!(errors[0].span, site.http().acme_issuers[0].uri.span);
    }

    #[test]
    fn stored_account_is_reused_and_slots_match_those_of_servers() {
        let mut site = site("uri https://ca.test/;");
        let folder = Path::new("/prefix/acme_ca");
        site.read.insert(folder.join(ACCOUNT_FILE), b"account".to_vec());
        let mut orders = AcmeOrders::default();
        let slot = orders.slot(site.first(), site.http(), (Path::new(PREFIX), &site.read), |_| {});
        let (issuers, _) = planned_issuers(&site.model, Path::new(PREFIX), site.files(), &orders);
        let [planned] = &issuers[..] else { panic!("one") };
        assert_eq!(planned.account.as_ref().map(|text| &text[..]), Some(&b"account"[..]));
        assert_eq!(planned.state.as_deref(), Some(folder));
        assert!(Arc::ptr_eq(&planned.slots[0], &slot.unwrap()) && planned.slots.len() == 1);
    }
}
