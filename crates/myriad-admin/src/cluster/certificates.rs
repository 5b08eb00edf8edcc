//! Automatic certificates that the nodes of a cluster share: one node orders a certificate, and all use it.
//!
//! ```text
//! agent of an issuer --begin--> lease: order, publish challenges, complete or fail      certificate_lease
//! task of the connection: challenges of other nodes -> PendingChallenges                certificate_task
//!                         changed certificates of other nodes -> slots, files           certificate_changes
//!                         renewal of the leases of this process                         held_lease
//! ```
//!
//! Requests and handshakes use the challenges and certificates in memory, and never wait for Valkey.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use myriad_cluster::record::{CertificateNames, ClusterSecret, PemRecord, RecordError};
use myriad_log::{ErrorLog, LogLevel};
use myriad_net::clock::now_ms;
use myriad_tls::acme_client::{PendingChallenges, SharedCertificate};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::held_lease::HeldLease;
use super::input::clock_ms;
use super::link_error::LinkError;
use super::log_limiter::LogLimiter;
use super::secret_commands::SecretConnection;

/// Maximum time for which the thread of an issuer waits for Valkey.
const BLOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Shared certificates of this process. They outlive the connection and the node.
#[derive(Default)]
pub(super) struct ClusterCertificates {
    state: Mutex<CertificatesState>,
    pub(super) counters: CertificateCounters,
    log_limiter: Mutex<LogLimiter>,
    /// Wakes the task of the connection.
    pub(super) changed: Notify,
}

#[derive(Default)]
pub(super) struct CertificatesState {
    /// True if this server belongs to a cluster.
    pub is_enabled: bool,
    pub link: Option<Arc<CertificateLink>>,
    pub certificates: Vec<SharedCertificate>,
    pub challenges: Option<Arc<PendingChallenges>>,
    /// Names of the challenges of orders of this process, which answers them already.
    pub own_challenges: HashSet<String>,
    /// Leases of the orders in progress of this process.
    pub leases: Vec<Arc<HeldLease>>,
    /// True if all certificates must be compared with those in Valkey.
    pub must_compare: bool,
}

/// Connection to Valkey, with what is needed to use it.
pub(super) struct CertificateLink {
    pub connection: SecretConnection,
    pub secret: ClusterSecret,
    /// Runtime of the connection.
    pub runtime: Handle,
    pub log: ErrorLog,
}

#[derive(Default)]
pub(super) struct CertificateCounters {
    pub taken: AtomicU64,
    pub stored: AtomicU64,
    pub refused: AtomicU64,
    pub failed: AtomicU64,
}

impl ClusterCertificates {
    /// Starts or stops the exchange. Without it, this server orders all its certificates for itself.
    pub(super) fn set_enabled(&self, is_enabled: bool) {
        self.state.lock().is_enabled = is_enabled;
    }

    /// Replaces the certificates, and the challenges that this server answers.
    pub(super) fn set(
        &self,
        challenges: Option<Arc<PendingChallenges>>,
        certificates: Vec<SharedCertificate>,
    ) {
        let mut state = self.state.lock();
        (state.challenges, state.certificates) = (challenges, certificates);
        state.must_compare = true;
        self.changed.notify_one();
    }

    /// Compares all certificates with those in Valkey as soon as possible.
    pub(super) fn compare_again(&self) {
        self.state.lock().must_compare = true;
        self.changed.notify_one();
    }

    /// Returns the names and values of the counters.
    pub(super) fn counters(&self) -> [(&'static str, u64); 4] {
        let counters = &self.counters;
        [
            ("certificates_taken", &counters.taken),
            ("certificates_stored", &counters.stored),
            ("certificates_refused", &counters.refused),
            ("certificate_failures", &counters.failed),
        ]
        .map(|(name, counter)| (name, counter.load(Relaxed)))
    }

    /// Adds a lease, which is renewed until [`Self::remove_lease`].
    pub(super) fn add_lease(&self, lease: &Arc<HeldLease>) {
        self.state.lock().leases.push(Arc::clone(lease));
    }

    /// Removes a lease, and stops its renewal.
    pub(super) fn remove_lease(&self, lease: &Arc<HeldLease>) {
        lease.close();
        self.state.lock().leases.retain(|other| !Arc::ptr_eq(other, lease));
    }

    /// Calls a function with the locked state.
    pub(super) fn with_state<R>(&self, change: impl FnOnce(&mut CertificatesState) -> R) -> R {
        change(&mut self.state.lock())
    }

    /// Returns the connection, if there is one.
    pub(super) fn link(&self) -> Option<Arc<CertificateLink>> {
        self.state.lock().link.clone()
    }

    /// Uses the certificate of a record if it is newer than that in the slot, and stores it. Returns true if it is used.
    pub(super) fn take(
        &self,
        link: &CertificateLink,
        certificate: &SharedCertificate,
        record: &PemRecord,
    ) -> bool {
        let SharedCertificate { issuer, slot, log, store, .. } = certificate;
        match slot.fill_newer(&record.pem, now_s()) {
            Ok(true) => {
                self.counters.taken.fetch_add(1, Relaxed);
                store(&slot.order.file_name(), &record.pem);
                let text = format!(
                    "acme issuer \"{issuer}\": took the certificate for {}, which another node of the cluster has obtained",
                    slot.order
                );
                log(LogLevel::Notice, &text);
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.refuse(link, &slot.order.to_string(), &error.to_string());
                false
            }
        }
    }

    /// Decrypts a certificate; `None` if there is none or it is refused.
    pub(super) fn decode(
        &self,
        link: &CertificateLink,
        names: &CertificateNames,
        certificate: &SharedCertificate,
        value: &[u8],
    ) -> Option<PemRecord> {
        if value.is_empty() {
            return None;
        }
        let record = PemRecord::decode(&link.secret, &names.certificate(), value);
        record.inspect_err(|error| self.refuse_value(link, certificate, *error)).ok()
    }

    /// Counts and logs a value that is refused.
    pub(super) fn refuse_value(
        &self,
        link: &CertificateLink,
        certificate: &SharedCertificate,
        error: RecordError,
    ) {
        self.refuse(link, &certificate.slot.order.to_string(), &error.to_string());
    }

    /// As [`Self::refuse_value`], for a value of something else.
    pub(super) fn refuse(&self, link: &CertificateLink, subject: &str, why: &str) {
        self.counters.refused.fetch_add(1, Relaxed);
        let text = format!("a value for the certificate for {subject} in Valkey is refused ({why})");
        self.log(link, LogLevel::Error, &text);
    }

    /// Writes a message, at most once per minute.
    pub(super) fn log(&self, link: &CertificateLink, level: LogLevel, text: &str) {
        self.log_limiter.lock().write(&link.log, level, text, clock_ms());
    }

    /// Counts a failed command, and logs it unless the connection is lost.
    pub(super) fn note_failure(&self, link: &CertificateLink, error: &LinkError) {
        self.counters.failed.fetch_add(1, Relaxed);
        if !error.is_connection_lost {
            let text = format!(
                "certificates cannot be exchanged ({}); if Valkey refuses a command, permit those that docs/cluster.md lists",
                error.why
            );
            self.log(link, LogLevel::Error, &text);
        }
    }
}

/// Returns the names of the values of a certificate.
pub(super) fn names_of(secret: &ClusterSecret, certificate: &SharedCertificate) -> CertificateNames {
    let SharedCertificate { issuer, uri, slot, .. } = certificate;
    let text = format!("certificate\0{issuer}\0{uri}\0{}\0{}", slot.order.key.name(), slot.order);
    CertificateNames::new(secret, &text)
}

/// Executes a future on the runtime of the connection, and waits for its result; `None` if it takes too long, or the
/// connection is closed.
pub(super) fn block_on_link<T: Send + 'static>(
    link: &CertificateLink,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (sender, result) = std::sync::mpsc::channel();
    link.runtime.spawn(async move {
        // Fails if the thread no longer waits.
        let _ = sender.send(work.await);
    });
    result.recv_timeout(BLOCK_TIMEOUT).ok()
}

/// Returns the time in seconds since the Unix epoch.
pub(super) fn now_s() -> u64 {
    now_ms() / 1000
}
