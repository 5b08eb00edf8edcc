//! Coordination of orders: leases, by which one node at a time orders a certificate, and the shared account.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use myriad_cluster::record::{CertificateNames, ChallengeRecord, PemRecord};
use myriad_conf::model::AcmeChallenge;
use myriad_tls::acme_client::{
    CertificateInfo, CertificateSlot, Issuer, OrderCoordinator, OrderLease, OrderTurn, SharedCertificate,
    SharedChallenge, WaitReason,
};
use tokio::task::AbortHandle;
use zeroize::Zeroizing;

use super::certificate_task::INTERVAL;
use super::certificates::{CertificateLink, ClusterCertificates, block_on_link, names_of, now_s};
use super::link_error::LinkError;

/// Duration of a lease. The lease of an order in progress is renewed.
const LEASE: Duration = Duration::from_secs(30);
/// Interval at which a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(10);
/// Maximum duration of a lease, including the pause after a failed order.
const MAX_LEASE: Duration = Duration::from_hours(8 * 24);
/// Lifetime of challenges in Valkey. They are removed when the order is closed.
const CHALLENGE_LIFETIME: Duration = Duration::from_mins(15);
/// Time after which all nodes answer a challenge that was stored: each has read it twice.
const SPREAD: Duration = Duration::from_millis(2 * INTERVAL.as_millis() as u64 + 500);
/// Lifetime of the key of an account in Valkey. Nodes that know it store it again.
const ACCOUNT_LIFETIME: Duration = Duration::from_hours(365 * 24);

/// Coordinator of the orders of this process.
pub(super) struct CertificateCoordinator(pub Arc<ClusterCertificates>);

impl OrderCoordinator for CertificateCoordinator {
    fn begin(&self, slot: &Arc<CertificateSlot>, ignores_pause: bool) -> OrderTurn {
        let found = self.0.with_state(|state| {
            let own = state.certificates.iter().find(|own| Arc::ptr_eq(&own.slot, slot));
            own.filter(|_| state.is_enabled).map(|own| (own.clone(), state.link.clone()))
        });
        let Some((certificate, link)) = found else { return OrderTurn::Unshared };
        let unreachable = OrderTurn::Waiting(WaitReason::Unreachable, Duration::ZERO);
        let Some(link) = link else { return unreachable };
        let (certificates, used) = (Arc::clone(&self.0), Arc::clone(&link));
        match block_on_link(&link, async move { claim(certificates, used, certificate, ignores_pause).await })
        {
            Some(Ok(turn)) => turn,
            Some(Err(error)) => {
                self.0.note_failure(&link, &error);
                unreachable
            }
            None => unreachable,
        }
    }

    fn account_key(&self, issuer: &Issuer, proposal: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let is_of_issuer = |own: &SharedCertificate| own.issuer == issuer.name && own.uri == issuer.uri;
        let link = self.0.with_state(|state| {
            let is_shared = state.is_enabled && state.certificates.iter().any(is_of_issuer);
            state.link.clone().filter(|_| is_shared)
        })?;
        let text = format!("account\0{}\0{}", issuer.name, issuer.uri);
        let name = CertificateNames::new(&link.secret, &text).account();
        let record = PemRecord { fence: 0, pem: proposal.to_vec().into() }.encode(&link.secret, &name)?;
        let (connection, agreed_name) = (link.connection.clone(), name.clone());
        let agreed = block_on_link(&link, async move {
            connection.agree(&agreed_name, &record, ACCOUNT_LIFETIME.as_millis() as u64).await
        })?;
        let agreed = agreed.inspect_err(|error| self.0.note_failure(&link, error)).ok()?;
        let record = PemRecord::decode(&link.secret, &name, &agreed);
        let refused = format!("the account of issuer \"{}\"", issuer.name);
        Some(record.inspect_err(|error| self.0.refuse(&link, &refused, &error.to_string())).ok()?.pem)
    }
}

/// Takes a newer certificate from Valkey, or acquires the lease to order one.
async fn claim(
    certificates: Arc<ClusterCertificates>,
    link: Arc<CertificateLink>,
    certificate: SharedCertificate,
    ignores_pause: bool,
) -> Result<OrderTurn, LinkError> {
    let names = names_of(&link.secret, &certificate);
    let token = certificates.new_token(&link);
    let durations = (LEASE.as_millis() as u64, MAX_LEASE.as_millis() as u64);
    let known = certificates.counters.largest_fence.load(Relaxed);
    let reply = link.connection.claim(&names, &token, durations, (known, ignores_pause)).await?;
    let record = certificates.decode(&link, &names, &certificate, &reply.certificate);
    let lease = (reply.number > 0).then(|| {
        ClusterLease::new(&certificates, &link, names.clone(), (token, reply.number), reply.failures)
    });
    if record.is_some_and(|record| certificates.take(&link, &certificate, &record)) {
        // Dropping the lease releases it.
        return Ok(OrderTurn::Taken);
    }
    let reason = if reply.is_pause { WaitReason::Failure } else { WaitReason::OtherNode };
    Ok(match lease {
        Some(lease) => OrderTurn::Granted(Box::new(lease)),
        None => OrderTurn::Waiting(reason, Duration::from_millis(reply.left_ms)),
    })
}

/// Lease of an order, renewed until it is dropped.
struct ClusterLease {
    certificates: Arc<ClusterCertificates>,
    /// Connection at the beginning of the order.
    first_link: Arc<CertificateLink>,
    names: CertificateNames,
    token: String,
    number: u64,
    failures: u32,
    is_lost: Arc<AtomicBool>,
    renewal: AbortHandle,
    has_ended: bool,
}

impl ClusterLease {
    fn new(
        certificates: &Arc<ClusterCertificates>,
        link: &Arc<CertificateLink>,
        names: CertificateNames,
        (token, number): (String, u64),
        failures: u32,
    ) -> Self {
        let is_lost = Arc::<AtomicBool>::default();
        let renewing = renew(Arc::clone(certificates), names.clone(), token.clone(), Arc::clone(&is_lost));
        Self {
            certificates: Arc::clone(certificates),
            first_link: Arc::clone(link),
            renewal: link.runtime.spawn(renewing).abort_handle(),
            names,
            token,
            number,
            failures,
            is_lost,
            has_ended: false,
        }
    }

    /// Returns the current connection, or without one, that at the beginning of the order.
    fn link(&self) -> Arc<CertificateLink> {
        self.certificates.link().unwrap_or_else(|| Arc::clone(&self.first_link))
    }

    /// Closes the order, which has no certificate.
    fn end(&mut self, pause: Duration, failures: u32) {
        self.has_ended = true;
        let (link, names, token) = (self.link(), self.names.clone(), self.token.clone());
        let (number, used) = (self.number, Arc::clone(&link));
        let pause_ms = pause.min(MAX_LEASE).as_millis() as u64;
        // If it fails, the lease expires.
        link.runtime.spawn(async move {
            let _ = used.connection.end_order(&names, (&token, number), pause_ms, failures).await;
        });
    }
}

/// Renews a lease until it is lost: another node has it, or it could not be renewed for its duration.
async fn renew(
    certificates: Arc<ClusterCertificates>,
    names: CertificateNames,
    token: String,
    is_lost: Arc<AtomicBool>,
) {
    let mut renewed_at = Instant::now();
    while renewed_at.elapsed() < LEASE {
        tokio::time::sleep(RENEWAL).await;
        let Some(link) = certificates.link() else { continue };
        let sent_at = Instant::now();
        match link.connection.renew_order(&names, &token, LEASE.as_millis() as u64).await {
            Ok(true) => renewed_at = sent_at,
            Ok(false) => break,
            Err(_) => {}
        }
    }
    is_lost.store(true, Relaxed);
}

impl OrderLease for ClusterLease {
    fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    fn failures(&self) -> u32 {
        self.failures
    }

    fn publish(&self, challenges: &[SharedChallenge]) -> Result<(), String> {
        let (link, name) = (self.link(), self.names.challenges());
        let record = |challenge: &SharedChallenge| ChallengeRecord {
            token: (challenge.kind == AcmeChallenge::Http01).then(|| challenge.token.clone()),
            identifier: challenge.identifier.to_string(),
            answer: challenge.answer.clone(),
        };
        let records: Vec<_> = challenges.iter().map(record).collect();
        let value = ChallengeRecord::encode_all(&records, &link.secret, &name)
            .ok_or("they cannot be encrypted, or are too many")?;
        self.certificates.with_state(|state| state.own_challenges.insert(name));
        let (names, token, used) = (self.names.clone(), self.token.clone(), Arc::clone(&link));
        let published = block_on_link(&link, async move {
            let lifetime_ms = CHALLENGE_LIFETIME.as_millis() as u64;
            used.connection.publish_challenges(&names, &token, &value, lifetime_ms).await
        });
        match published {
            Some(Ok(true)) => {
                std::thread::sleep(SPREAD);
                Ok(())
            }
            Some(Ok(false)) => {
                self.is_lost.store(true, Relaxed);
                Err("another node orders the certificate now".to_owned())
            }
            Some(Err(error)) => {
                self.certificates.note_failure(&link, &error);
                Err(error.why)
            }
            None => Err("Valkey did not reply in time".to_owned()),
        }
    }

    fn complete(mut self: Box<Self>, text: &[u8]) {
        let (link, name) = (self.link(), self.names.certificate());
        let record = PemRecord { fence: self.number, pem: text.to_vec().into() };
        let info = CertificateInfo::from_pem(text);
        let record = record.encode(&link.secret, &name);
        let (Some(info), Some(record)) = (info, record) else { return };
        let lifetime_ms = info.not_after_s.saturating_sub(now_s()).max(1) * 1000;
        let (names, token, number) = (self.names.clone(), self.token.clone(), self.number);
        let (mark, used) = (self.certificates.new_token(&link), Arc::clone(&link));
        let stored = block_on_link(&link, async move {
            used.connection.store_certificate(&names, (&token, number), &record, lifetime_ms, &mark).await
        });
        match stored {
            Some(Ok(true)) => {
                self.has_ended = true;
                self.certificates.counters.stored.fetch_add(1, Relaxed);
            }
            // Another node may have obtained a certificate meanwhile: the one that is valid for longer is used.
            Some(Ok(false)) | None => self.certificates.compare_again(),
            Some(Err(error)) => {
                self.certificates.note_failure(&link, &error);
                self.certificates.compare_again();
            }
        }
    }

    fn fail(mut self: Box<Self>, pause: Duration) {
        let failures = self.failures.saturating_add(1);
        self.end(pause, failures);
    }
}

impl Drop for ClusterLease {
    fn drop(&mut self) {
        self.renewal.abort();
        let name = self.names.challenges();
        self.certificates.with_state(|state| state.own_challenges.remove(&name));
        if !self.has_ended {
            self.end(Duration::ZERO, self.failures);
        }
    }
}
