//! `acme_issuer` and `acme_certificate` to what the agents of the issuers do.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_acme::agent::ACCOUNT_FILE;
use myriad_acme::issuer::AccountKey;
use myriad_acme::{
    CertificateOrder, ChallengeKind, Challenges, ExternalAccount, Identifier, Issuer, KeyKind, SigningKey,
    Slot,
};
use myriad_conf::model::{
    AccountKeyConf, AcmeCertificateConf, AcmeChallenge, AcmeIdentifier, AcmeIssuerConf, ExternalAccountConf,
    ServerConf,
};
use myriad_conf::{Diagnostic, Model, Text};

use super::{Compile, tls_path};
use crate::runtime::{AcmePlan, PlannedIssuer};

/// What stands before a key that is written into the configuration.
const DATA: &[u8] = b"data:";

/// What of ACME outlives a reload.
#[derive(Default)]
pub(crate) struct AcmeKept {
    /// What authorities are answered.
    pub challenges: Arc<Challenges>,
    /// Certificates, by issuer and order.
    pub slots: HashMap<(String, CertificateOrder), Arc<Slot>>,
}

impl AcmeKept {
    /// Forgets the certificates that nobody orders any more.
    pub(crate) fn settle(&mut self, plan: Option<&AcmePlan>) {
        let issuers = plan.map_or(&[][..], |plan| &plan.issuers);
        self.slots.retain(|_, slot| {
            issuers.iter().any(|planned| planned.slots.iter().any(|wanted| Arc::ptr_eq(wanted, slot)))
        });
    }
}

/// The files of keys and authorities that `acme_issuer` blocks name.
pub(super) fn files(model: &Model) -> impl Iterator<Item = &Text> {
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

/// The files in which issuers keep what outlives the process: nothing else of theirs is ever written. Relative names start
/// from `prefix`, as in nginx.
pub fn acme_state(model: &Model, prefix: &Path) -> Vec<PathBuf> {
    let Some(http) = &model.http else { return Vec::new() };
    let mut files = Vec::new();
    for issuer in &http.acme_issuers {
        let Some(folder) = state_folder(issuer, prefix) else { continue };
        files.push(folder.join(ACCOUNT_FILE));
        let own = http.servers.iter().filter_map(|server| server.acme.as_ref());
        let own = own.filter(|certificate| certificate.issuer.lossy() == issuer.name);
        for name in own.map(|certificate| order(certificate).file_name()) {
            if !files.contains(&folder.join(&name)) {
                files.push(folder.join(name));
            }
        }
    }
    files
}

/// The certificates that a model orders, each with its issuer's name and its file, if it is kept in one.
pub fn acme_orders(model: &Model, prefix: &Path) -> Vec<(String, CertificateOrder, Option<PathBuf>)> {
    let Some(http) = &model.http else { return Vec::new() };
    let mut orders = Vec::new();
    for certificate in http.servers.iter().filter_map(|server| server.acme.as_ref()) {
        let name = certificate.issuer.lossy();
        let issuer = http.acme_issuers.iter().find(|issuer| issuer.name == name);
        let order = order(certificate);
        let folder = issuer.and_then(|issuer| state_folder(issuer, prefix));
        let file = folder.map(|folder| folder.join(order.file_name()));
        let entry = (name.into_owned(), order, file);
        if !orders.contains(&entry) {
            orders.push(entry);
        }
    }
    orders
}

fn state_folder(issuer: &AcmeIssuerConf, prefix: &Path) -> Option<PathBuf> {
    let path = issuer.state_path.as_ref()?;
    Some(prefix.join(myriad_files::as_path(path.bytes())))
}

fn order(certificate: &AcmeCertificateConf) -> CertificateOrder {
    let identifiers = certificate.identifiers.iter().map(|identifier| match identifier {
        AcmeIdentifier::Dns(name) => Identifier::Dns(name.clone()),
        AcmeIdentifier::Ip(address) => Identifier::Ip(*address),
    });
    CertificateOrder {
        identifiers: identifiers.collect(),
        key: KeyKind::parse(&certificate.key).unwrap_or_default(),
    }
}

impl Compile<'_> {
    /// The place of a server's ordered certificate: the same for all who order the same, and over reloads.
    pub(super) fn acme_slot(&mut self, server: &ServerConf) -> Option<Arc<Slot>> {
        let certificate = server.acme.as_ref()?;
        let issuer = certificate.issuer.lossy().into_owned();
        let order = order(certificate);
        let conf = self.http.acme_issuers.iter().find(|conf| conf.name == issuer)?;
        let state = state_folder(conf, self.around.prefix).map(|folder| folder.join(order.file_name()));
        let slots = &mut self.around.kept.acme.slots;
        let slot = slots.entry((issuer, order.clone())).or_insert_with(|| Slot::new(order));
        if !slot.is_ready()
            && let Some(text) = state.as_ref().and_then(|path| self.around.tls_files.get(path))
            && let Err(error) = slot.fill(text, &myriad_acme::roots::provider())
        {
            let path = state.unwrap_or_default();
            let log = self.error_log(&self.http.settings.log.error);
            let message = format_args!("acme: \"{}\" is not used: {error}", path.display());
            log.write(myriad_log::Level::Warn, None, message);
        }
        let slots = &self.around.kept.acme.slots;
        slots.get(&(certificate.issuer.lossy().into_owned(), self::order(certificate))).map(Arc::clone)
    }

    /// What the issuers do; none where there is no issuer.
    pub(super) fn acme_plan(&mut self) -> Option<Box<AcmePlan>> {
        let http = self.http;
        if http.acme_issuers.is_empty() {
            return None;
        }
        let resolver = self.resolver(&http.settings);
        let mut issuers = Vec::new();
        for conf in &http.acme_issuers {
            let slots = &self.around.kept.acme.slots;
            let wanted = acme_orders(self.model, self.around.prefix);
            let own = wanted.into_iter().filter(|(issuer, ..)| *issuer == conf.name);
            let slots =
                own.filter_map(|(issuer, order, _)| slots.get(&(issuer, order)).map(Arc::clone)).collect();
            let state = state_folder(conf, self.around.prefix);
            let account =
                state.as_ref().and_then(|folder| self.around.tls_files.get(&folder.join(ACCOUNT_FILE)));
            let account = account.cloned();
            match self.issuer(conf) {
                Ok(issuer) => issuers.push(PlannedIssuer { issuer, slots, state, account }),
                Err(error) => self.errors.push(*error),
            }
        }
        Some(Box::new(AcmePlan {
            challenges: Arc::clone(&self.around.kept.acme.challenges),
            issuers,
            resolver: resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms)),
            log: self.error_log(&http.settings.log.error),
        }))
    }

    fn issuer(&self, conf: &AcmeIssuerConf) -> Result<Issuer, Box<Diagnostic>> {
        let uri = conf.uri.lossy().into_owned();
        if !myriad_acme::https::is_url(&uri) {
            return Err(Box::new(Diagnostic::error(
                conf.uri.span,
                format!("invalid URL \"{uri}\" in \"uri\""),
            )));
        }
        let account_key = match &conf.account_key {
            AccountKeyConf::Kind(kind) => AccountKey::Made(KeyKind::parse(kind).unwrap_or_default()),
            AccountKeyConf::File(file) => {
                let text = self.acme_file(file)?;
                if SigningKey::from_pem(text).is_none() {
                    return Err(unusable(file, "it holds no private key of ECDSA or RSA in PEM"));
                }
                AccountKey::Given(text.to_vec())
            }
        };
        let roots = conf.trusted_certificate.as_ref().map(|file| {
            let text = self.acme_file(file)?;
            let empty = myriad_acme::pem::certificates(text).is_empty();
            if empty { Err(unusable(file, "it holds no certificate in PEM")) } else { Ok(text.to_vec()) }
        });
        let text = |text: &Text| text.lossy().into_owned();
        Ok(Issuer {
            name: conf.name.clone(),
            uri,
            account_key,
            challenge: match conf.challenge {
                AcmeChallenge::Http01 => ChallengeKind::Http01,
                AcmeChallenge::TlsAlpn01 => ChallengeKind::TlsAlpn01,
            },
            contacts: conf.contacts.iter().map(text).collect(),
            external_account: conf.external_account.as_ref().map(|own| self.external(own)).transpose()?,
            preferred_chain: conf.preferred_chain.as_ref().map(text),
            profile: conf.profile.as_ref().map(|(name, required)| (text(name), *required)),
            common_name: conf.common_name_in_csr,
            roots: roots.transpose()?,
            verify: conf.verify,
            accepts_terms: conf.accepts_terms,
        })
    }

    fn external(&self, conf: &ExternalAccountConf) -> Result<ExternalAccount, Box<Diagnostic>> {
        let text = match conf.key.bytes().strip_prefix(DATA) {
            Some(key) => key,
            None => self.acme_file(&conf.key)?,
        };
        let key = myriad_acme::issuer::decode_key(text).ok_or_else(|| {
            unusable(&conf.key, "the key must be base64url, as the authority's owner shows it")
        })?;
        Ok(ExternalAccount { kid: conf.kid.lossy().into_owned(), key })
    }

    fn acme_file(&self, name: &Text) -> Result<&[u8], Box<Diagnostic>> {
        let path = tls_path(self.around.folder, name);
        self.around.tls_files.get(&path).map(Vec::as_slice).ok_or_else(|| unusable(name, "it cannot be read"))
    }
}

#[expect(clippy::unnecessary_box_returns, reason = "results carry it boxed")]
fn unusable(name: &Text, why: &str) -> Box<Diagnostic> {
    // A key that stands in the configuration is not repeated in a log.
    let shown = if name.bytes().starts_with(DATA) { "data:…".into() } else { name.lossy() };
    Box::new(Diagnostic::error(name.span, format!("cannot use \"{shown}\": {why}")))
}
