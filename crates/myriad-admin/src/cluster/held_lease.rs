//! Leases of the orders in progress of this process, and their renewal.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use myriad_cluster::record::{CertificateNames, ClusterSecret, OrderLeaseRecord, OrderState};
use parking_lot::Mutex;

use super::link_error::LinkError;
use super::secret_commands::SecretConnection;

/// Duration of a lease. The lease of an order in progress is renewed.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Interval at which leases are renewed.
pub(super) const RENEWAL: Duration = Duration::from_secs(10);
/// Maximum number of values of other clients that a renewal replaces.
const MAX_REPLACED: usize = 4;

/// Lease of an order of this process.
pub(super) struct HeldLease {
    pub names: CertificateNames,
    /// Value in Valkey.
    pub value: Vec<u8>,
    record: OrderLeaseRecord,
    /// Time at which the last successful renewal was sent.
    renewed_at: Mutex<Instant>,
    /// True if another node has the lease.
    is_replaced: AtomicBool,
    /// True if the order is closed, so that the lease must not be renewed.
    is_closed: AtomicBool,
}

impl HeldLease {
    /// Creates the state of a lease that was requested at `requested_at`.
    pub(super) fn new(
        names: CertificateNames,
        (record, value): (OrderLeaseRecord, Vec<u8>),
        requested_at: Instant,
    ) -> Self {
        Self {
            names,
            value,
            record,
            renewed_at: Mutex::new(requested_at),
            is_replaced: AtomicBool::default(),
            is_closed: AtomicBool::default(),
        }
    }

    /// Returns true if another node has the lease, or may have it, because the lease was not renewed for its duration.
    pub(super) fn is_lost(&self) -> bool {
        self.is_replaced.load(Relaxed) || self.renewed_at.lock().elapsed() >= LEASE
    }

    /// Returns the number of successive orders that had failed before this one.
    pub(super) fn failures(&self) -> u32 {
        self.record.failures
    }

    /// Stops the renewal. To be called before a command that removes the lease.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    /// Renews the lease. Returns false if it is lost, or the order is closed. Before the lease expires, no node takes it over,
    /// except after a loss of data: another value was written by a client without the secret, or is an old one, and is
    /// replaced.
    pub(super) async fn renew(
        &self,
        connection: &SecretConnection,
        secret: &ClusterSecret,
    ) -> Result<bool, LinkError> {
        let mut ignored = Vec::new();
        for _ in 0..MAX_REPLACED {
            if self.is_closed.load(Relaxed) || self.is_lost() {
                return Ok(false);
            }
            let sent_at = Instant::now();
            let lease_ms = LEASE.as_millis() as u64;
            match connection.renew_order(&self.names, &self.value, &ignored, lease_ms).await? {
                None => {
                    *self.renewed_at.lock() = sent_at;
                    return Ok(true);
                }
                Some(other) if self.is_successor(secret, &other) => {
                    self.is_replaced.store(true, Relaxed);
                    return Ok(false);
                }
                Some(other) => ignored = other,
            }
        }
        Ok(false)
    }

    /// Returns true if a value is the lease of a later order.
    fn is_successor(&self, secret: &ClusterSecret, value: &[u8]) -> bool {
        OrderLeaseRecord::decode(secret, &self.names.lease(), value)
            .is_ok_and(|other| other.state == OrderState::InProgress && other.until_s > self.record.until_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_cluster::record::NodeName;

    fn record(state: OrderState, until_s: u64) -> OrderLeaseRecord {
        OrderLeaseRecord { state, until_s, failures: 0 }
    }

    #[test]
    fn lease_is_lost_when_it_was_not_renewed_for_its_duration_without_any_task() {
        let secret =
            ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[1; 32]).expect("long enough");
        let names = CertificateNames::new(&secret, "order");
        let lease = |requested_at| {
            HeldLease::new(names.clone(), (record(OrderState::InProgress, 900), Vec::new()), requested_at)
        };
        assert!(!lease(Instant::now()).is_lost());
        let long_ago = Instant::now().checked_sub(LEASE).expect("a running system");
        assert!(lease(long_ago).is_lost());
    }

    #[test]
    fn only_the_lease_of_a_later_order_replaces_a_lease() {
        let secret =
            ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[1; 32]).expect("long enough");
        let names = CertificateNames::new(&secret, "order");
        let own = (record(OrderState::InProgress, 900), Vec::new());
        let lease = HeldLease::new(names.clone(), own, Instant::now());
        let is_successor = |state, until_s, names: &CertificateNames| {
            let value = record(state, until_s).encode(&secret, &names.lease()).expect("encrypted");
            lease.is_successor(&secret, &value)
        };
        assert!(is_successor(OrderState::InProgress, 901, &names));
        assert!(!is_successor(OrderState::InProgress, 900, &names), "an old value");
        assert!(!is_successor(OrderState::Paused, 901, &names), "no order");
        assert!(!is_successor(OrderState::InProgress, 901, &CertificateNames::new(&secret, "other")));
        assert!(!lease.is_successor(&secret, b"not a lease"));
    }
}
