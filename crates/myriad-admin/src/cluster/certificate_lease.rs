//! Coordination of orders: leases, by which one node at a time orders a certificate, and the shared account.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use myriad_cluster::record::{
    CertificateNames, ChallengeRecord, OrderLeaseRecord, OrderState, PemRecord, RecordError,
};
use myriad_conf::model::AcmeChallenge;
use myriad_log::LogLevel;
use myriad_tls::acme_client::{
    CertificateInfo, CertificateSlot, Issuer, LONGEST_ORDER, OrderCoordinator, OrderLease, OrderRequest,
    OrderTurn, PublishError, SharedCertificate, SharedChallenge, WaitReason,
};
use zeroize::Zeroizing;

use super::certificate_changes::change_mark;
use super::certificate_commands::{BlockingLease, LeaseClaim};
use super::certificate_task::INTERVAL;
use super::certificates::{CertificateLink, ClusterCertificates, block_on_link, names_of, now_s};
use super::held_lease::{HeldLease, LEASE};
use super::link_error::LinkError;

/// Maximum pause after a failed order.
const MAX_PAUSE: Duration = Duration::from_hours(8 * 24);
/// Maximum time after which the lease of another order is checked again.
const OTHER_ORDER_CHECK: Duration = Duration::from_secs(5);
/// Maximum number of other orders with a common name that are considered.
const MAX_OTHER_ORDERS: usize = 64;
/// Lifetime of challenges in Valkey. They are removed when the order is closed.
const CHALLENGE_LIFETIME: Duration = LONGEST_ORDER;
/// Maximum number of attempts to store challenges, if another client changes the lease.
const PUBLISH_ATTEMPTS: u32 = 3;
/// Time after which all nodes answer a challenge that was stored: each has read it twice.
const SPREAD: Duration = Duration::from_millis(2 * INTERVAL.as_millis() as u64 + 500);
/// Lifetime of the key of an account in Valkey. A node that has the key proposes it again for each order.
const ACCOUNT_LIFETIME: Duration = Duration::from_hours(365 * 24);

/// Coordinator of the orders of this process.
pub(super) struct CertificateCoordinator(pub Arc<ClusterCertificates>);

impl OrderCoordinator for CertificateCoordinator {
    fn begin(&self, slot: &Arc<CertificateSlot>, request: OrderRequest) -> OrderTurn {
        let found = self.0.with_state(|state| {
            let own = state.certificates.iter().find(|own| Arc::ptr_eq(&own.slot, slot));
            own.filter(|_| state.is_enabled).map(|own| {
                let others = state.certificates.iter().filter(|other| needs_other_order(own, other));
                let others = others.take(MAX_OTHER_ORDERS).cloned().collect::<Vec<_>>();
                (own.clone(), others, state.link.clone())
            })
        });
        let Some((certificate, others, link)) = found else { return OrderTurn::Unshared };
        let unreachable = OrderTurn::Waiting(WaitReason::Unreachable, Duration::ZERO);
        let Some(link) = link else { return unreachable };
        let claim =
            Claim { certificates: Arc::clone(&self.0), link: Arc::clone(&link), certificate, request };
        match block_on_link(&link, async move { claim.execute(&others).await }) {
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
        let record = PemRecord { pem: proposal.to_vec().into() }.encode(&link.secret, &name)?;
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

/// Returns true if two certificates must not be ordered at once: they have a common name, which has one challenge of the type
/// `tls-alpn-01` at a time.
fn needs_other_order(own: &SharedCertificate, other: &SharedCertificate) -> bool {
    let is_by_handshake = |one: &SharedCertificate| one.challenge == AcmeChallenge::TlsAlpn01;
    let names = &other.slot.order.identifiers;
    !Arc::ptr_eq(&own.slot, &other.slot)
        && is_by_handshake(own)
        && is_by_handshake(other)
        && own.slot.order.identifiers.iter().any(|name| names.contains(name))
}

/// Request for the lease of an order.
struct Claim {
    certificates: Arc<ClusterCertificates>,
    link: Arc<CertificateLink>,
    certificate: SharedCertificate,
    request: OrderRequest,
}

/// Effect of a lease on the request for a lease.
#[derive(Debug, PartialEq, Eq)]
enum LeaseEffect {
    /// The lease does not count. The number is that of the failed orders.
    Free(u32),
    /// As [`Self::Free`]; the lease is that of an order that takes longer than an order may take.
    TakenOver(u32),
    /// The order waits for this reason and time.
    Wait(WaitReason, Duration),
}

impl Claim {
    /// Takes a newer certificate from Valkey, or acquires the lease to order one, unless another node orders it, or another
    /// certificate with a common name (`others`).
    async fn execute(self, others: &[SharedCertificate]) -> Result<OrderTurn, LinkError> {
        let all = std::iter::once(&self.certificate).chain(others);
        let names = all.map(|certificate| names_of(&self.link.secret, certificate));
        let mut leases: Vec<_> = names.map(|names| (names, Vec::new())).collect();
        let mut failures = 0;
        // Each lease that does not count is passed at most once, unless other clients change it meanwhile.
        for _ in 0..leases.len() + 2 {
            let until_s = now_s().saturating_add(LONGEST_ORDER.as_secs());
            let record = OrderLeaseRecord { state: OrderState::InProgress, until_s, failures };
            let name = leases[0].0.lease();
            let value = record.encode(&self.link.secret, &name);
            let Some(value) = value else { return Err(LinkError::new("no random numbers")) };
            let (requested_at, lease_ms) = (Instant::now(), LEASE.as_millis() as u64);
            let claim = LeaseClaim { leases: &leases, value: &value, lease_ms };
            let reply = self.link.connection.claim(&claim).await?;
            let lease = reply.blocking.is_none().then(|| {
                let held = HeldLease::new(leases[0].0.clone(), (record, value), requested_at);
                ClusterLease::new(&self.certificates, &self.link, held)
            });
            let stored =
                self.certificates.decode(&self.link, &leases[0].0, &self.certificate, &reply.certificate);
            if stored.is_some_and(|record| self.certificates.take(&self.link, &self.certificate, &record)) {
                // Dropping the lease releases it.
                return Ok(OrderTurn::Taken);
            }
            if let Some(lease) = lease {
                return Ok(OrderTurn::Granted(Box::new(lease)));
            }
            let Some(blocking) = reply.blocking else { continue };
            let effect = self.effect(&leases[blocking.index].0, &blocking);
            match effect {
                LeaseEffect::Wait(reason, time) => return Ok(OrderTurn::Waiting(reason, time)),
                LeaseEffect::Free(count) | LeaseEffect::TakenOver(count) if blocking.index == 0 => {
                    failures = count;
                }
                LeaseEffect::Free(_) | LeaseEffect::TakenOver(_) => {}
            }
            leases[blocking.index].1 = blocking.value;
        }
        Ok(OrderTurn::Waiting(WaitReason::OtherNode, Duration::ZERO))
    }

    /// Returns the effect of a lease of the order with these names, and logs if it is refused or taken over.
    fn effect(&self, names: &CertificateNames, blocking: &BlockingLease) -> LeaseEffect {
        let BlockingLease { index, value, left_ms } = blocking;
        let record = OrderLeaseRecord::decode(&self.link.secret, &names.lease(), value);
        if let Err(error) = &record {
            self.certificates.refuse_value(&self.link, &self.certificate, *error);
        }
        let left = Duration::from_millis(*left_ms);
        let effect = lease_effect(record, left, *index == 0, self.request, now_s());
        if matches!(effect, LeaseEffect::TakenOver(_)) {
            let text = format!(
                "the order of the certificate for {} by another node takes longer than {} minutes; this node takes it over",
                self.certificate.slot.order,
                LONGEST_ORDER.as_secs() / 60
            );
            self.certificates.log(&self.link, LogLevel::Warn, &text);
        }
        effect
    }
}

/// Returns the effect of a lease with this remaining time on a request. `is_own` is true for the lease of the requested order,
/// and false for that of another order with a common name.
fn lease_effect(
    record: Result<OrderLeaseRecord, RecordError>,
    left: Duration,
    is_own: bool,
    request: OrderRequest,
    now_s: u64,
) -> LeaseEffect {
    let (reason, longest) =
        if is_own { (WaitReason::OtherNode, LEASE) } else { (WaitReason::OtherOrder, OTHER_ORDER_CHECK) };
    let (state, until_s, failures) = match record {
        Ok(record) => (record.state, record.until_s, record.failures),
        // The format is unknown: it counts as an order that may be taken over.
        Err(RecordError::NewerVersion) => (OrderState::InProgress, 0, 0),
        Err(RecordError::NotAuthentic | RecordError::Malformed) => return LeaseEffect::Free(0),
    };
    match state {
        // The time of the record limits a pause that another client has restored or extended.
        OrderState::Paused => {
            let left = left.min(Duration::from_secs(until_s.saturating_sub(now_s)));
            if !is_own || request.ignores_pause || left.is_zero() {
                return LeaseEffect::Free(failures);
            }
            LeaseEffect::Wait(WaitReason::Failure, left)
        }
        OrderState::InProgress if left.is_zero() => LeaseEffect::Free(failures),
        OrderState::InProgress if request.takes_over && is_overdue(until_s, now_s) => {
            LeaseEffect::TakenOver(failures)
        }
        OrderState::InProgress => LeaseEffect::Wait(reason, left.min(longest)),
    }
}

/// Returns true if an order takes longer than an order may take, by the time in its lease, or if that time is so late that the
/// clock of its node is wrong. The lease of a node that has just taken over the order is not overdue.
fn is_overdue(until_s: u64, now_s: u64) -> bool {
    until_s <= now_s || until_s > now_s.saturating_add(2 * LONGEST_ORDER.as_secs())
}

/// Lease of an order, renewed until it is dropped.
struct ClusterLease {
    certificates: Arc<ClusterCertificates>,
    /// Connection at the beginning of the order.
    first_link: Arc<CertificateLink>,
    lease: Arc<HeldLease>,
    is_closed: bool,
}

impl ClusterLease {
    fn new(certificates: &Arc<ClusterCertificates>, link: &Arc<CertificateLink>, lease: HeldLease) -> Self {
        let lease = Arc::new(lease);
        certificates.add_lease(&lease);
        Self { certificates: Arc::clone(certificates), first_link: Arc::clone(link), lease, is_closed: false }
    }

    /// Returns the current connection, or without one, that at the beginning of the order.
    fn link(&self) -> Arc<CertificateLink> {
        self.certificates.link().unwrap_or_else(|| Arc::clone(&self.first_link))
    }

    /// Closes the order, whose certificate could not be stored in Valkey: a comparison of the certificates stores it.
    fn complete_later(&mut self) {
        self.close(Duration::ZERO, 0);
        self.certificates.compare_again();
    }

    /// Closes the order, which has no certificate.
    fn close(&mut self, pause: Duration, failures: u32) {
        self.is_closed = true;
        self.certificates.remove_lease(&self.lease);
        let (link, lease) = (self.link(), Arc::clone(&self.lease));
        let pause = pause.min(MAX_PAUSE);
        let until_s = now_s().saturating_add(pause.as_secs());
        let record = OrderLeaseRecord { state: OrderState::Paused, until_s, failures };
        // Without failures, there is nothing to store.
        let value = if failures > 0 { record.encode(&link.secret, &lease.names.lease()) } else { None };
        let used = Arc::clone(&link);
        // If it fails, the lease expires.
        link.runtime.spawn(async move {
            let pause = (value.as_deref().unwrap_or_default(), pause.as_millis() as u64);
            let _ = used.connection.close_order(&lease.names, &lease.value, pause).await;
        });
    }
}

/// Stores challenges for the other nodes. Returns false if the lease is lost.
async fn publish(link: &CertificateLink, lease: &HeldLease, value: &[u8]) -> Result<bool, LinkError> {
    let lifetime_ms = CHALLENGE_LIFETIME.as_millis() as u64;
    for _ in 0..PUBLISH_ATTEMPTS {
        if link.connection.publish_challenges(&lease.names, &lease.value, value, lifetime_ms).await? {
            return Ok(true);
        }
        if !lease.renew(&link.connection, &link.secret).await? {
            return Ok(false);
        }
    }
    Err(LinkError::new("another client of Valkey changes the lease of the order"))
}

impl OrderLease for ClusterLease {
    fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    fn failures(&self) -> u32 {
        self.lease.failures()
    }

    fn publish(&self, challenges: &[SharedChallenge]) -> Result<(), PublishError> {
        let failed = |why: &str| PublishError::Failed(why.to_owned());
        let (link, name) = (self.link(), self.lease.names.challenges());
        let record = |challenge: &SharedChallenge| ChallengeRecord {
            token: (challenge.kind == AcmeChallenge::Http01).then(|| challenge.token.clone()),
            identifier: challenge.identifier.to_string(),
            answer: challenge.answer.clone(),
        };
        let records: Vec<_> = challenges.iter().map(record).collect();
        let value = ChallengeRecord::encode_all(&records, &link.secret, &name)
            .ok_or_else(|| failed("they cannot be encrypted, or are too many"))?;
        self.certificates.with_state(|state| state.own_challenges.insert(name));
        let (lease, used) = (Arc::clone(&self.lease), Arc::clone(&link));
        match block_on_link(&link, async move { publish(&used, &lease, &value).await }) {
            Some(Ok(true)) => {
                std::thread::sleep(SPREAD);
                Ok(())
            }
            Some(Ok(false)) => Err(PublishError::LeaseLost),
            Some(Err(error)) => {
                self.certificates.note_failure(&link, &error);
                Err(PublishError::Failed(error.why))
            }
            None => Err(failed("Valkey did not reply in time")),
        }
    }

    fn complete(mut self: Box<Self>, text: &[u8]) {
        let (link, name) = (self.link(), self.lease.names.certificate());
        let record = PemRecord { pem: text.to_vec().into() };
        let info = CertificateInfo::from_pem(text);
        let record = record.encode(&link.secret, &name);
        let (Some(info), Some(record)) = (info, record) else { return };
        let lifetime_ms = info.not_after_s.saturating_sub(now_s()).max(1) * 1000;
        let (lease, used) = (Arc::clone(&self.lease), Arc::clone(&link));
        lease.close();
        let stored = block_on_link(&link, async move {
            let mark = change_mark(&lease.names, &record);
            let HeldLease { names, value, .. } = &*lease;
            used.connection.store_certificate(names, value, &record, lifetime_ms, &mark).await
        });
        match stored {
            Some(Ok(true)) => {
                self.is_closed = true;
                self.certificates.counters.stored.fetch_add(1, Relaxed);
            }
            // Another node may have obtained a certificate meanwhile: the one that was issued last is used.
            Some(Ok(false)) | None => self.complete_later(),
            Some(Err(error)) => {
                self.certificates.note_failure(&link, &error);
                self.complete_later();
            }
        }
    }

    fn fail(mut self: Box<Self>, pause: Duration) {
        let failures = self.lease.failures().saturating_add(1);
        self.close(pause, failures);
    }
}

impl Drop for ClusterLease {
    fn drop(&mut self) {
        if self.is_closed {
            self.certificates.remove_lease(&self.lease);
        } else {
            self.close(Duration::ZERO, self.lease.failures());
        }
        let name = self.lease.names.challenges();
        self.certificates.with_state(|state| state.own_challenges.remove(&name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LeaseEffect::{Free, TakenOver, Wait};

    const NOW_S: u64 = 1_800_000_000;
    const REQUEST: OrderRequest = OrderRequest { ignores_pause: false, takes_over: false };
    const TAKES_OVER: OrderRequest = OrderRequest { takes_over: true, ..REQUEST };
    const IGNORES_PAUSE: OrderRequest = OrderRequest { ignores_pause: true, ..REQUEST };

    fn effect(
        (state, until_s): (OrderState, u64),
        left_s: u64,
        is_own: bool,
        request: OrderRequest,
    ) -> LeaseEffect {
        let record = OrderLeaseRecord { state, until_s, failures: 3 };
        lease_effect(Ok(record), Duration::from_secs(left_s), is_own, request, NOW_S)
    }

    #[test]
    fn value_without_the_secret_does_not_delay_an_order() {
        for error in [RecordError::NotAuthentic, RecordError::Malformed] {
            for is_own in [true, false] {
                let week = Duration::from_hours(7 * 24);
                assert_eq!(lease_effect(Err(error), week, is_own, REQUEST, NOW_S), Free(0));
            }
        }
        let newer = |request| {
            lease_effect(Err(RecordError::NewerVersion), Duration::from_secs(9), true, request, NOW_S)
        };
        assert_eq!(newer(REQUEST), Wait(WaitReason::OtherNode, Duration::from_secs(9)));
        assert_eq!(newer(TAKES_OVER), TakenOver(0));
    }

    #[test]
    fn order_of_another_node_is_waited_for_until_its_lease_expires_or_it_takes_too_long() {
        let order = (OrderState::InProgress, NOW_S + 600);
        assert_eq!(effect(order, 20, true, REQUEST), Wait(WaitReason::OtherNode, Duration::from_secs(20)));
        // Another client has extended the lease.
        assert_eq!(effect(order, 999_999, true, REQUEST), Wait(WaitReason::OtherNode, LEASE));
        assert_eq!(effect(order, 0, true, REQUEST), Free(3));
        let other = Wait(WaitReason::OtherOrder, Duration::from_secs(5));
        assert_eq!(effect(order, 20, false, REQUEST), other);
    }

    #[test]
    fn only_an_overdue_order_is_taken_over_so_that_two_nodes_do_not_take_over_each_others_orders() {
        let of = |until_s| effect((OrderState::InProgress, until_s), 20, true, TAKES_OVER);
        let wait = Wait(WaitReason::OtherNode, Duration::from_secs(20));
        assert_eq!(of(NOW_S), TakenOver(3));
        // The node that took over the order has a new lease.
        assert_eq!(of(NOW_S + LONGEST_ORDER.as_secs()), wait);
        // Its clock is a minute ahead.
        assert_eq!(of(NOW_S + LONGEST_ORDER.as_secs() + 60), wait);
        assert_eq!(of(NOW_S + 86_400), TakenOver(3), "a wrong clock");
        assert_eq!(effect((OrderState::InProgress, NOW_S), 20, true, REQUEST), wait);
    }

    #[test]
    fn pause_after_a_failure_is_not_shortened_by_a_long_wait_nor_extended_by_another_client() {
        let pause = (OrderState::Paused, NOW_S + 300);
        let wait = |seconds| Wait(WaitReason::Failure, Duration::from_secs(seconds));
        assert_eq!(effect(pause, 200, true, REQUEST), wait(200));
        assert_eq!(effect(pause, 200, true, TAKES_OVER), wait(200));
        assert_eq!(effect(pause, 999_999, true, REQUEST), wait(300));
        assert_eq!(effect((OrderState::Paused, NOW_S), 999_999, true, REQUEST), Free(3));
        assert_eq!(effect(pause, 200, true, IGNORES_PAUSE), Free(3));
        assert_eq!(effect(pause, 200, false, REQUEST), Free(3), "no order is in progress");
    }
}
