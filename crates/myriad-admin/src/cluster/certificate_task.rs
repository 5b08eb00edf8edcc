//! Task that reads the challenges and certificates of other nodes while a connection exists.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::future::{join3, select};
use myriad_cluster::record::{CertificateNames, ChallengeRecord, PemRecord};
use myriad_conf::model::AcmeChallenge;
use myriad_tls::acme_client::{
    CertificateInfo, ChallengeGuard, PendingChallenges, SharedCertificate, SharedChallenge, answer_challenge,
};

use super::certificate_changes::{ChangedCertificates, change_mark, last_mark};
use super::certificates::{CertificateLink, ClusterCertificates, names_of, now_s};
use super::held_lease::RENEWAL;
use super::link_error::LinkError;

/// Interval at which challenges and changes of certificates are read. A node that publishes challenges waits for two.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// Challenges of an order of another node that this node answers.
struct AnsweredChallenges {
    /// Value in Valkey.
    value: Vec<u8>,
    _guards: Vec<ChallengeGuard>,
}

/// Removes the connection when its task is cancelled.
struct LinkGuard {
    certificates: Arc<ClusterCertificates>,
    link: Arc<CertificateLink>,
}

impl Drop for LinkGuard {
    fn drop(&mut self) {
        self.certificates.with_state(|state| {
            state.link.take_if(|link| Arc::ptr_eq(link, &self.link));
        });
    }
}

impl ClusterCertificates {
    /// Uses a connection, and exchanges challenges and certificates until the task is cancelled.
    pub(super) async fn run(self: Arc<Self>, link: CertificateLink) {
        let link = Arc::new(link);
        let _guard = LinkGuard { certificates: Arc::clone(&self), link: Arc::clone(&link) };
        self.with_state(|state| {
            state.link = Some(Arc::clone(&link));
            state.must_compare = true;
        });
        join3(self.answer_challenges(&link), self.exchange_certificates(&link), self.renew_leases(&link))
            .await;
    }

    /// Renews the leases of the orders of this process. Orders outlive a connection, so that the task of the next connection
    /// continues.
    async fn renew_leases(&self, link: &CertificateLink) {
        loop {
            for lease in self.with_state(|state| state.leases.clone()) {
                if let Err(error) = lease.renew(&link.connection, &link.secret).await {
                    self.note_failure(link, &error);
                }
            }
            tokio::time::sleep(RENEWAL).await;
        }
    }

    /// Answers the challenges of other nodes. Certificates are exchanged separately, which takes longer.
    async fn answer_challenges(&self, link: &CertificateLink) {
        let mut answered = HashMap::new();
        loop {
            let certificates = self.with_state(|state| state.certificates.clone());
            if certificates.is_empty() {
                answered.clear();
            } else {
                let names: Vec<_> =
                    certificates.iter().map(|certificate| names_of(&link.secret, certificate)).collect();
                match link.connection.poll(&names).await {
                    Ok(found) => {
                        let found = found.into_iter();
                        let found = found.map(|(index, value)| (&names[index], &certificates[index], value));
                        self.answer(link, found, &mut answered);
                    }
                    Err(error) => self.note_failure(link, &error),
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Exchanges the certificates that have changed, and all of them at the beginning and after a failure.
    async fn exchange_certificates(&self, link: &CertificateLink) {
        let mut known = Vec::new();
        loop {
            let (certificates, must_compare) = self
                .with_state(|state| (state.certificates.clone(), std::mem::take(&mut state.must_compare)));
            if !certificates.is_empty()
                && let Err(error) = self.exchange(link, &certificates, must_compare, &mut known).await
            {
                self.note_failure(link, &error);
                self.with_state(|state| state.must_compare = true);
            }
            let pause = std::pin::pin!(tokio::time::sleep(INTERVAL));
            select(pause, std::pin::pin!(self.changed.notified())).await;
        }
    }

    /// Synchronizes certificates with Valkey: uses the stored one if it is newer than that of this node, and stores that of
    /// this node if it is newer. Covers the certificates that have changed since the mark `known`; all of them if
    /// `must_compare` is true, or if the mark is no longer in the list of changes. Sets `known` to the newest mark.
    async fn exchange(
        &self,
        link: &CertificateLink,
        certificates: &[SharedCertificate],
        must_compare: bool,
        known: &mut Vec<u8>,
    ) -> Result<(), LinkError> {
        let marks = link.connection.changes(known).await?;
        let changed = marks.as_deref().map(|marks| ChangedCertificates::since(known, marks));
        if must_compare || changed.is_some() {
            for certificate in certificates {
                let names = names_of(&link.secret, certificate);
                if must_compare || changed.as_ref().is_some_and(|changed| changed.contain(&names)) {
                    self.compare(link, &names, certificate).await?;
                }
            }
        }
        if let Some(marks) = marks {
            *known = last_mark(&marks).to_vec();
        }
        Ok(())
    }

    /// Answers exactly the challenges that were found, except those of orders of this process.
    fn answer<'a>(
        &self,
        link: &CertificateLink,
        found: impl Iterator<Item = (&'a CertificateNames, &'a SharedCertificate, Vec<u8>)>,
        answered: &mut HashMap<String, AnsweredChallenges>,
    ) {
        let (own, challenges) =
            self.with_state(|state| (state.own_challenges.clone(), state.challenges.clone()));
        let Some(challenges) = challenges else { return answered.clear() };
        let mut previous = std::mem::take(answered);
        for (names, certificate, value) in found {
            let name = names.challenges();
            if own.contains(&name) {
                continue;
            }
            // Dropping the previous answers must not remove new ones to the same challenges.
            if let Some(known) = previous.remove(&name).filter(|known| known.value == value) {
                answered.insert(name, known);
                continue;
            }
            match ChallengeRecord::decode_all(&link.secret, &name, &value) {
                Ok(records) => {
                    let guards = guards_of(&challenges, certificate, records);
                    answered.insert(name, AnsweredChallenges { value, _guards: guards });
                }
                Err(error) => self.refuse_value(link, certificate, error),
            }
        }
    }

    /// Uses the certificate in Valkey if it is newer than that of this node; otherwise, stores that of this node for the
    /// others.
    async fn compare(
        &self,
        link: &CertificateLink,
        names: &CertificateNames,
        certificate: &SharedCertificate,
    ) -> Result<(), LinkError> {
        let value = link.connection.read_certificate(names).await?;
        let stored = self.decode(link, names, certificate, &value);
        if stored.is_none() && !value.is_empty() {
            return Ok(());
        }
        if stored.as_ref().is_some_and(|record| self.take(link, certificate, record)) {
            return Ok(());
        }
        let (Some(text), Some(info)) = (certificate.slot.text(), certificate.slot.info()) else {
            return Ok(());
        };
        let stored_info = stored.as_ref().and_then(|record| CertificateInfo::from_pem(&record.pem));
        let is_newer = stored_info.is_none_or(|stored| info.is_newer_than(&stored));
        if !is_newer || info.not_after_s <= now_s() {
            return Ok(());
        }
        let record = PemRecord { pem: text.to_vec().into() };
        let Some(record) = record.encode(&link.secret, &names.certificate()) else { return Ok(()) };
        let lifetime_ms = (info.not_after_s - now_s()) * 1000;
        let mark = change_mark(names, &record);
        if link.connection.replace_certificate(names, &value, &record, lifetime_ms, &mark).await? {
            self.counters.stored.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

/// Answers the challenges of a certificate; those for names that were not ordered are left out.
fn guards_of(
    challenges: &Arc<PendingChallenges>,
    certificate: &SharedCertificate,
    records: Vec<ChallengeRecord>,
) -> Vec<ChallengeGuard> {
    let identifiers = &certificate.slot.order.identifiers;
    let challenge = |record: ChallengeRecord| {
        let identifier = identifiers.iter().find(|own| own.to_string() == record.identifier)?.clone();
        let kind = if record.token.is_some() { AcmeChallenge::Http01 } else { AcmeChallenge::TlsAlpn01 };
        let token = record.token.unwrap_or_default();
        let challenge = SharedChallenge { kind, token, identifier, answer: record.answer };
        answer_challenge(challenges, &challenge, now_s()).ok()
    };
    records.into_iter().filter_map(challenge).collect()
}
