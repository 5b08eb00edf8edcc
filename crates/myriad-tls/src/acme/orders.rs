//! Certificates that servers order (`acme_certificate`), and their files.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acme_client::agent::ACCOUNT_FILE;
use crate::acme_client::{CertificateOrder, CertificateSlot, PendingChallenges};
use myriad_conf::Model;
use myriad_conf::model::{AcmeCertificateConf, AcmeIssuerConf, HttpConf, ServerConf};

use crate::certificates::files::TlsFiles;

/// Slots for the automatic certificates of all servers, and the pending challenges of their authorities. Retained over
/// reloads.
#[derive(Default)]
pub struct AcmeOrders {
    /// Responses to pending challenges of certificate authorities.
    pub challenges: Arc<PendingChallenges>,
    /// Certificate slots, by the name of the issuer and the certificate order (requested names and key type).
    slots: HashMap<(String, CertificateOrder), Arc<CertificateSlot>>,
}

impl AcmeOrders {
    /// Returns the slot of a server's automatic certificate; `None` if the server has no `acme_certificate` or its
    /// issuer does not exist. Servers that order the same names and key type from the same issuer share a slot, which
    /// is retained over reloads. An empty slot is filled from its stored file, whose relative name is resolved against
    /// `prefix`, if `read` contains the file; if the contents are unusable, the reason is passed to `log`.
    pub fn slot(
        &mut self,
        server: &ServerConf,
        http: &HttpConf,
        (prefix, read): (&Path, &TlsFiles),
        log: impl FnOnce(&str),
    ) -> Option<Arc<CertificateSlot>> {
        let certificate = server.acme.as_ref()?;
        let issuer = certificate.issuer.lossy().into_owned();
        let order = order(certificate);
        let conf = http.acme_issuers.iter().find(|conf| conf.name == issuer)?;
        let state = state_folder(conf, prefix).map(|folder| folder.join(order.file_name()));
        let slot = self.slots.entry((issuer, order.clone())).or_insert_with(|| CertificateSlot::new(order));
        if !slot.is_ready()
            && let Some((path, text)) = state.and_then(|path| read.get(&path).map(|text| (path, text)))
            && let Err(error) = slot.fill(text)
        {
            log(&format!("acme: cannot use the stored certificate \"{}\": {error}", path.display()));
        }
        Some(Arc::clone(slot))
    }

    /// Returns the slots of the certificates that the servers of a configuration order from an issuer, each once.
    pub(crate) fn slots_of_issuer(&self, issuer: &str, model: &Model) -> Vec<Arc<CertificateSlot>> {
        let Some(http) = &model.http else { return Vec::new() };
        let mut slots: Vec<Arc<CertificateSlot>> = Vec::new();
        for certificate in http.servers.iter().filter_map(|server| server.acme.as_ref()) {
            if certificate.issuer.lossy() == issuer
                && let Some(slot) = self.slots.get(&(issuer.to_owned(), order(certificate)))
                && !slots.iter().any(|known| Arc::ptr_eq(known, slot))
            {
                slots.push(Arc::clone(slot));
            }
        }
        slots
    }

    /// Returns those of [`Self::slots_of_issuer`] that the nodes of a cluster share: no server has `cluster=off` for them.
    pub(crate) fn shared_slots(&self, issuer: &str, model: &Model) -> Vec<Arc<CertificateSlot>> {
        let mut slots = self.slots_of_issuer(issuer, model);
        let servers = model.http.iter().flat_map(|http| &http.servers);
        for certificate in servers.filter_map(|server| server.acme.as_ref()).filter(|own| !own.cluster) {
            let excluded = order(certificate);
            slots.retain(|slot| certificate.issuer.lossy() != issuer || slot.order != excluded);
        }
        slots
    }

    /// Removes all certificate slots except those in `ordered`, whose certificates the configuration still uses.
    pub fn retain_only<'a>(&mut self, ordered: impl IntoIterator<Item = &'a Arc<CertificateSlot>>) {
        let ordered: Vec<&Arc<CertificateSlot>> = ordered.into_iter().collect();
        self.slots.retain(|_, slot| ordered.iter().any(|wanted| Arc::ptr_eq(wanted, slot)));
    }
}

/// Returns the paths of all files that the issuers of a configuration may store: account keys and certificates. A
/// relative `state_path` is resolved against `prefix`, as in nginx.
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

/// Returns the certificates ordered in a configuration, each once: the name of the issuer, the requested names with the
/// key type, and the path of the file (`None` if the certificate is not stored, or the issuer does not exist).
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

/// Returns the folder for the state of an issuer, below `prefix` if it is relative; `None` if the state is not stored.
pub(crate) fn state_folder(issuer: &AcmeIssuerConf, prefix: &Path) -> Option<PathBuf> {
    let path = issuer.state_path.as_ref()?;
    Some(prefix.join(OsStr::from_bytes(path.bytes())))
}

fn order(certificate: &AcmeCertificateConf) -> CertificateOrder {
    CertificateOrder { identifiers: certificate.identifiers.clone(), key: certificate.key }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCertificate, TestSite};
    use myriad_conf::model::AcmeKeyKind;

    const PREFIX: &str = "/prefix";
    const TWO: &str = "acme_issuer ca { uri https://ca.test/; }
        server { listen 80; server_name a.test; acme_certificate ca; }
        server { listen 81; server_name a.test; acme_certificate ca; }
        server { listen 82; server_name b.test; acme_certificate ca key=rsa:2048; }
        server { listen 83; server_name c.test; }";

    fn slots(site: &TestSite, orders: &mut AcmeOrders) -> (Vec<Option<Arc<CertificateSlot>>>, Vec<String>) {
        let mut errors = Vec::new();
        let state = (Path::new(PREFIX), &site.read);
        let servers = &site.http().servers;
        let slots = servers
            .iter()
            .map(|server| orders.slot(server, site.http(), state, |why| errors.push(why.to_owned())))
            .collect();
        (slots, errors)
    }

    #[test]
    fn identical_orders_share_slot_and_file() {
        let site = TestSite::of(TWO, &[]);
        let (slots, _) = slots(&site, &mut AcmeOrders::default());
        let [Some(one), Some(same), Some(other), None] = &slots[..] else { panic!("{slots:?}") };
        assert!(Arc::ptr_eq(one, same) && !Arc::ptr_eq(one, other));
        let orders = acme_orders(&site.model, Path::new(PREFIX));
        assert_eq!(orders.len(), 2);
        let (issuer, order, file) = &orders[1];
        assert_eq!((issuer.as_str(), order.key), ("ca", AcmeKeyKind::Rsa2048));
        assert_eq!(file.as_deref(), Some(&*Path::new("/prefix/acme_ca").join(order.file_name())));
    }

    #[test]
    fn files_of_state_are_the_account_and_each_certificate() {
        let state = |http: &str| acme_state(&TestSite::of(http, &[]).model, Path::new(PREFIX));
        let files = state(TWO);
        assert_eq!(files[0], Path::new("/prefix/acme_ca").join(ACCOUNT_FILE));
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(state(&TWO.replace("uri", "state_path off; uri")).is_empty());
        let elsewhere = state(&TWO.replace("uri", "state_path /var/acme; uri"));
        assert!(elsewhere.iter().all(|file| file.starts_with("/var/acme")), "{elsewhere:?}");
        assert!(state("server { listen 80; }").is_empty());
    }

    #[test]
    fn stored_certificate_is_loaded_and_damaged_one_is_reported() {
        let mut site = TestSite::of(TWO, &[]);
        let orders = acme_orders(&site.model, Path::new(PREFIX));
        let path = |index: usize| orders[index].2.clone().unwrap();
        site.read.insert(path(0), TestCertificate::usual().both());
        site.read.insert(path(1), b"damaged".to_vec());
        let (slots, said) = slots(&site, &mut AcmeOrders::default());
        let ready: Vec<_> = slots.iter().flatten().map(|slot| slot.is_ready()).collect();
        assert_eq!(ready, [true, true, false]);
        let [said] = &said[..] else { panic!("{said:?}") };
        let start = format!("acme: cannot use the stored certificate \"{}\": ", path(1).display());
        assert!(said.starts_with(&start), "{said}");
        assert!(said.ends_with("the certificate cannot be read"), "{said}");
    }

    #[test]
    fn certificate_with_cluster_off_in_one_server_is_not_shared() {
        let site =
            TestSite::of(&TWO.replacen("acme_certificate ca;", "acme_certificate ca cluster=off;", 1), &[]);
        let mut orders = AcmeOrders::default();
        let (slots, _) = slots(&site, &mut orders);
        let shared = orders.shared_slots("ca", &site.model);
        let [other] = &shared[..] else { panic!("{shared:?}") };
        assert!(Arc::ptr_eq(other, slots[2].as_ref().expect("a slot")));
    }

    #[test]
    fn places_stay_over_reloads_while_somebody_orders_them() {
        let (two, mut orders) = (TestSite::of(TWO, &[]), AcmeOrders::default());
        let (before, _) = slots(&two, &mut orders);
        let slot = before[0].as_ref().unwrap();
        assert_eq!(orders.slots_of_issuer("ca", &two.model).len(), 2);
        assert!(orders.slots_of_issuer("other", &two.model).is_empty());
        orders.retain_only([slot]);
        let (after, _) = slots(&two, &mut orders);
        assert!(Arc::ptr_eq(slot, after[0].as_ref().unwrap()));
        assert!(!Arc::ptr_eq(before[2].as_ref().unwrap(), after[2].as_ref().unwrap()));
    }
}
