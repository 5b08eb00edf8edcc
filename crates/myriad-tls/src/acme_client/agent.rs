//! Thread of an ACME issuer: orders missing certificates and renews existing ones, one at a time.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use myriad_conf::model::AcmeChallenge;
use myriad_conf::settings::LogLevel;
use parking_lot::{Condvar, Mutex};
use zeroize::Zeroizing;

use crate::acme_client::callbacks::{LogCallback, StoreCallback};
use crate::acme_client::certificate_slot::CertificateSlot;
use crate::acme_client::challenges::{NameReservation, PendingChallenges};
use crate::acme_client::coordination::{
    LONGEST_ORDER, OrderCoordinator, OrderLease, OrderRequest, OrderTurn,
};
use crate::acme_client::error::AcmeError;
use crate::acme_client::https::{Https, Resolve};
use crate::acme_client::issuer::{AccountKey, CertificateOrder, Issuer};
use crate::acme_client::key::SigningKey;
use crate::acme_client::order::{self, OrderContext};
use crate::acme_client::protocol::AcmeClient;
use crate::acme_client::roots;
use crate::acme_client::schedule::{
    self, LEAST_INTERVAL_S, RenewalWindow, format_duration, information_interval_s, pause_s,
};
use crate::acme_client::wait_times::{WaitReason, WaitTimes};

/// Name of the file that contains the account key.
pub const ACCOUNT_FILE: &str = "account.key";
/// Age after which the cached directory of the certificate authority is read again.
const DIRECTORY_AGE: Duration = Duration::from_hours(1);
/// Maximum sleep of the agent between checks for due tasks, in seconds, because the system clock may be set meanwhile.
const LONGEST_SLEEP_S: u64 = 3600;

/// Minimum pause in seconds before the right to order a certificate is requested again. It is also the pause after the
/// right was lost, and that of a node without a usable certificate that cannot reach the other nodes.
const RETRY_S: u64 = 2;
/// Pause in seconds before the right to order a certificate is requested again, if the other nodes cannot be reached
/// and the current certificate is usable.
const UNREACHABLE_S: u64 = 60;
/// Maximum pause in seconds before the right to order a certificate is requested again.
const LONGEST_WAIT_S: u64 = 12 * 3600;

/// Functions of the process that an [`AcmeAgent`] calls.
#[derive(Clone)]
pub struct AgentCallbacks {
    /// Writes a line to the error log.
    pub log: LogCallback,
    /// Stores files permanently.
    pub store: StoreCallback,
    /// Resolves the host name of the authority.
    pub resolve: Resolve,
    /// Coordinates orders with the other nodes of a cluster; `None` if this process orders its certificates for itself.
    pub cluster: Option<Arc<dyn OrderCoordinator>>,
}

/// Handle of the thread that orders and renews the certificates of one ACME issuer. Dropping it stops the thread at its
/// next wait.
pub struct AcmeAgent {
    shared: Arc<AgentShared>,
    issuer: Issuer,
}

struct AgentShared {
    state: Mutex<AgentState>,
    changed: Condvar,
}

struct AgentState {
    callbacks: AgentCallbacks,
    entries: Vec<ScheduledCertificate>,
    stopped: bool,
}

/// Certificate with the times of its next order and of its next query for renewal information.
struct ScheduledCertificate {
    slot: Arc<CertificateSlot>,
    /// [`CertificateSlot::version`] for which the times were computed.
    version: u64,
    /// Times since which the order of the certificate waits, by reason.
    waits: WaitTimes,
    /// Number of consecutive failed orders of the certificate, of this node or, if that is more, of the nodes of a
    /// cluster. Reset by a reload.
    failures: u32,
    /// Time of the next order or renewal of the certificate, in seconds since the Unix epoch.
    order_at_s: u64,
    /// Time of the next query for renewal information (RFC 9773), in seconds since the Unix epoch.
    information_at_s: u64,
    /// Last known renewal window of the certificate; `None` before the first certificate.
    window: Option<RenewalWindow>,
}

/// Next task of the agent's thread.
enum AgentTask {
    /// Order a certificate for this slot, or renew it.
    Order(Arc<CertificateSlot>),
    /// Query the authority for renewal information about the certificate in this slot.
    Information(Arc<CertificateSlot>),
}

impl AcmeAgent {
    /// Starts the thread of an issuer, without certificates: [`Self::set`] adds them. `account` is the stored account key
    /// in PEM, if there is one. Fails if the thread cannot be started.
    pub fn start(
        issuer: Issuer,
        account: Option<Zeroizing<Vec<u8>>>,
        challenges: Arc<PendingChallenges>,
        outside: AgentCallbacks,
    ) -> std::io::Result<Self> {
        let state = Mutex::new(AgentState { callbacks: outside, entries: Vec::new(), stopped: false });
        let shared = Arc::new(AgentShared { state, changed: Condvar::new() });
        let worker = AgentThread {
            shared: Arc::clone(&shared),
            issuer: issuer.clone(),
            account,
            key: None,
            client: None,
            challenges,
        };
        std::thread::Builder::new().name(format!("acme {}", issuer.name)).spawn(move || worker.run())?;
        Ok(Self { shared, issuer })
    }

    /// Returns true if the agent was started with the same issuer settings.
    pub fn is_for(&self, issuer: &Issuer) -> bool {
        self.issuer == *issuer
    }

    /// Replaces the agent's list of certificates and its callbacks. Slots may already contain certificates. Certificates
    /// without failures retain their schedule; new ones and those with failures of any node, whose configuration may have been
    /// corrected, are ordered immediately if the slot is empty, and otherwise within their renewal window.
    pub fn set(&self, slots: Vec<Arc<CertificateSlot>>, outside: AgentCallbacks) {
        let mut state = self.shared.state.lock();
        let now = now_s();
        let mut before: HashMap<CertificateOrder, ScheduledCertificate> =
            state.entries.drain(..).map(|entry| (entry.slot.order.clone(), entry)).collect();
        let entries = slots.into_iter().map(|slot| {
            let known = before.remove(&slot.order);
            known.filter(|entry| !entry.has_failed()).unwrap_or_else(|| ScheduledCertificate::new(slot, now))
        });
        state.entries = entries.collect();
        state.callbacks = outside;
        self.shared.changed.notify_all();
    }
}

impl Drop for AcmeAgent {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for AcmeAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcmeAgent").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl ScheduledCertificate {
    fn new(slot: Arc<CertificateSlot>, now_s: u64) -> Self {
        let (version, facts) = (slot.version(), slot.info());
        let window = facts.map(|facts| schedule::renewal_window(facts.not_before_s, facts.not_after_s));
        let order_at_s = window.map_or(now_s, |window| window.pick(random_fraction()));
        Self {
            slot,
            version,
            waits: WaitTimes::default(),
            failures: 0,
            order_at_s,
            information_at_s: now_s,
            window,
        }
    }

    /// Returns true if the last order of the certificate has failed, of this node or of another one.
    fn has_failed(&self) -> bool {
        self.failures > 0 || self.waits.is_paused()
    }

    /// Returns the request to pass to [`OrderCoordinator::begin`] at `now_s` (seconds since the Unix epoch).
    fn request(&self, now_s: u64) -> OrderRequest {
        // The configuration may have been corrected, or the process restarted for it.
        let is_first = !self.slot.is_ready() && self.failures == 0 && !self.waits.has_reached();
        OrderRequest { ignores_pause: is_first, takes_over: self.waits.takes_over(now_s) }
    }

    /// Returns the time of the certificate's next task, in seconds since the Unix epoch.
    fn due_s(&self) -> u64 {
        if self.slot.is_ready() { self.order_at_s.min(self.information_at_s) } else { self.order_at_s }
    }

    fn due_task(&self, now_s: u64) -> Option<AgentTask> {
        if self.order_at_s <= now_s {
            return Some(AgentTask::Order(Arc::clone(&self.slot)));
        }
        let is_information_due = self.slot.is_ready() && self.information_at_s <= now_s;
        is_information_due.then(|| AgentTask::Information(Arc::clone(&self.slot)))
    }
}

impl AgentShared {
    /// Waits until a task is due and returns it; `None` once the agent is stopped.
    fn next(&self) -> Option<(AgentTask, AgentCallbacks)> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            let now = now_s();
            // Certificates of other nodes of a cluster are put into the slots by another thread.
            for entry in state.entries.iter_mut().filter(|entry| entry.version != entry.slot.version()) {
                *entry = ScheduledCertificate::new(Arc::clone(&entry.slot), now);
            }
            if let Some(task) = state.entries.iter().find_map(|entry| entry.due_task(now)) {
                return Some((task, state.callbacks.clone()));
            }
            let due = state.entries.iter().map(ScheduledCertificate::due_s).min().unwrap_or(u64::MAX);
            let left = due.saturating_sub(now).clamp(1, LONGEST_SLEEP_S);
            self.changed.wait_for(&mut state, Duration::from_secs(left));
        }
    }

    /// Sleeps for `pause`. Returns false early if the agent is stopped or the certificate is no longer in the list.
    fn sleep(&self, pause: Duration, slot: &Arc<CertificateSlot>) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        loop {
            if state.stopped || !state.entries.iter().any(|entry| entry.slot.order == slot.order) {
                return false;
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return true;
            }
        }
    }

    fn with_entry<R>(
        &self,
        slot: &Arc<CertificateSlot>,
        change: impl FnOnce(&mut ScheduledCertificate) -> R,
    ) -> Option<R> {
        let mut state = self.state.lock();
        state.entries.iter_mut().find(|entry| entry.slot.order == slot.order).map(change)
    }
}

/// State of the agent's thread.
struct AgentThread {
    shared: Arc<AgentShared>,
    issuer: Issuer,
    account: Option<Zeroizing<Vec<u8>>>,
    key: Option<Arc<SigningKey>>,
    client: Option<(Instant, AcmeClient)>,
    challenges: Arc<PendingChallenges>,
}

impl AgentThread {
    fn run(mut self) {
        while let Some((task, outside)) = self.shared.next() {
            match task {
                AgentTask::Order(slot) => self.order(&slot, &outside),
                AgentTask::Information(slot) => self.update_renewal_window(&slot, &outside),
            }
        }
    }

    fn log(&self, outside: &AgentCallbacks, level: LogLevel, message: fmt::Arguments<'_>) {
        (outside.log)(level, &format!("acme issuer \"{}\": {message}", self.issuer.name));
    }

    fn order(&mut self, slot: &Arc<CertificateSlot>, outside: &AgentCallbacks) {
        let Ok(right) = self.turn(slot, outside, now_s()) else { return };
        let OrderRight { lease, names: _names } = right;
        let action = if slot.is_ready() { "renewing" } else { "ordering" };
        self.log(outside, LogLevel::Info, format_args!("{action} the certificate for {}", slot.order));
        match self.order_once(slot, outside, lease.as_deref()) {
            Ok(text) => {
                self.certificate_issued(slot, outside);
                if let Some(lease) = lease {
                    lease.complete(text.as_bytes());
                }
            }
            Err(AcmeError::Stopped) => {}
            // Another node has the right to order the certificate now: whatever the error is, it is not a failed order.
            Err(error) if lease.as_ref().is_some_and(|lease| lease.is_lost()) => {
                self.client = None;
                let message =
                    format_args!("gave up the order of the certificate for {}: {error}", slot.order);
                self.log(outside, LogLevel::Info, message);
                self.postpone(slot, RETRY_S);
            }
            Err(error) => self.order_failed(slot, outside, lease, &error),
        }
    }

    /// Obtains the right to order a certificate: the reservation of its names, and in a cluster a lease. If this is not
    /// possible now, postpones the order and returns an error.
    fn turn(
        &self,
        slot: &Arc<CertificateSlot>,
        outside: &AgentCallbacks,
        now_s: u64,
    ) -> Result<OrderRight, OrderPostponed> {
        let names = match self.issuer.challenge {
            AcmeChallenge::Http01 => None,
            AcmeChallenge::TlsAlpn01 => {
                let Some(names) = self.challenges.reserve(&slot.order) else {
                    self.wait(slot, outside, (WaitReason::OtherOrder, Duration::ZERO), now_s);
                    return Err(OrderPostponed);
                };
                Some(names)
            }
        };
        let Some(cluster) = &outside.cluster else { return Ok(OrderRight { lease: None, names }) };
        let request = self.shared.with_entry(slot, |entry| entry.request(now_s)).unwrap_or_default();
        match cluster.begin(slot, request) {
            OrderTurn::Unshared => Ok(OrderRight { lease: None, names }),
            OrderTurn::Granted(lease) => {
                // The certificate may have been put into the slot before the right was requested.
                let is_current = self.shared.with_entry(slot, |entry| {
                    entry.waits.clear();
                    entry.version == slot.version()
                });
                let right = OrderRight { lease: Some(lease), names };
                if is_current == Some(true) { Ok(right) } else { Err(OrderPostponed) }
            }
            // The new version of the slot gives it another schedule.
            OrderTurn::Taken => Err(OrderPostponed),
            OrderTurn::Waiting(reason, time) => {
                let is_alone = self.wait(slot, outside, (reason, time), now_s);
                if is_alone { Ok(OrderRight { lease: None, names }) } else { Err(OrderPostponed) }
            }
        }
    }

    /// Postpones the order of a certificate: by `time`, from [`RETRY_S`] to [`LONGEST_WAIT_S`], or by a fixed pause if
    /// `reason` is that the other nodes cannot be reached. Logs the first wait for the reason. Returns true if the node
    /// orders the certificate for itself instead, because it could not reach the other nodes for too long and has no
    /// usable certificate.
    fn wait(
        &self,
        slot: &Arc<CertificateSlot>,
        outside: &AgentCallbacks,
        (reason, time): (WaitReason, Duration),
        now_s: u64,
    ) -> bool {
        let pause_s = match reason {
            WaitReason::Unreachable if slot.is_usable(now_s) => UNREACHABLE_S,
            WaitReason::Unreachable => RETRY_S,
            WaitReason::OtherNode | WaitReason::OtherOrder | WaitReason::Failure => {
                time.as_secs().saturating_add(1).clamp(RETRY_S, LONGEST_WAIT_S)
            }
        };
        let wait = self.shared.with_entry(slot, |entry| {
            entry.order_at_s = now_s.saturating_add(pause_s);
            entry.waits.begin(reason, now_s)
        });
        // The certificate is no longer in the list.
        let Some(wait) = wait else { return false };
        let (order, reason) = (&slot.order, reason.text());
        if wait.is_over && !slot.is_usable(now_s) {
            let message = format_args!("this node orders the certificate for {order} for itself: {reason}");
            self.log(outside, LogLevel::Warn, message);
            return true;
        }
        if wait.is_first {
            let message = format_args!("waiting for the certificate for {order}: {reason}");
            self.log(outside, LogLevel::Info, message);
        }
        false
    }

    fn postpone(&self, slot: &Arc<CertificateSlot>, pause_s: u64) {
        self.shared.with_entry(slot, |entry| entry.order_at_s = now_s().saturating_add(pause_s));
    }

    /// Schedules the next attempt after a failed order, reports the failure to the other nodes (`lease`), and logs it.
    /// Only discards the ACME client if the certificate is no longer in the list.
    fn order_failed(
        &mut self,
        slot: &Arc<CertificateSlot>,
        outside: &AgentCallbacks,
        lease: Option<Box<dyn OrderLease>>,
        error: &AcmeError,
    ) {
        // A new client is created for the next attempt, because the state of this one may be the cause.
        self.client = None;
        let others = lease.as_ref().map_or(0, |lease| lease.failures());
        let pause = self.shared.with_entry(slot, |entry| {
            entry.failures = entry.failures.max(others).saturating_add(1);
            let pause = pause_s(entry.failures, error.retry_after_s(), random_fraction());
            entry.order_at_s = now_s().saturating_add(pause);
            pause
        });
        let Some(pause) = pause else { return };
        if let Some(lease) = lease {
            lease.fail(Duration::from_secs(pause));
        }
        let stands = if slot.is_ready() {
            "the current certificate remains in use"
        } else {
            "TLS handshakes are refused until a certificate is issued"
        };
        self.log(
            outside,
            LogLevel::Error,
            format_args!(
                "could not obtain the certificate for {}: {error}; {stands}; next attempt in {}",
                slot.order,
                format_duration(pause)
            ),
        );
    }

    fn order_once(
        &mut self,
        slot: &Arc<CertificateSlot>,
        outside: &AgentCallbacks,
        lease: Option<&dyn OrderLease>,
    ) -> Result<Zeroizing<String>, AcmeError> {
        let replaces = slot.info().and_then(|facts| facts.renewal_id.clone());
        let shared = Arc::clone(&self.shared);
        let wait = |pause: Duration| shared.sleep(pause, slot);
        let challenges = Arc::clone(&self.challenges);
        let issuer = self.issuer.clone();
        let around = OrderContext {
            issuer: &issuer,
            challenges: &challenges,
            lease,
            deadline: lease.map(|_| Instant::now() + LONGEST_ORDER),
            now_s: now_s(),
            wait: &wait,
        };
        let client = self.client(outside)?;
        let replaces = replaces.filter(|_| client.directory.renewal_info.is_some());
        let text = order::order_certificate(client, &around, &slot.order, replaces.as_deref())?;
        // Another node may have obtained a newer certificate meanwhile.
        let is_lost = lease.is_some_and(OrderLease::is_lost);
        let is_used = if is_lost {
            slot.fill_newer(text.as_bytes(), now_s())?
        } else {
            slot.fill(text.as_bytes())?;
            true
        };
        if is_used {
            (outside.store)(&slot.order.file_name(), text.as_bytes());
        }
        Ok(text)
    }

    fn certificate_issued(&self, slot: &Arc<CertificateSlot>, outside: &AgentCallbacks) {
        let now = now_s();
        let renewal = self.shared.with_entry(slot, |entry| {
            *entry = ScheduledCertificate::new(Arc::clone(slot), now);
            entry.order_at_s = entry.order_at_s.max(now + LEAST_INTERVAL_S);
            entry.order_at_s
        });
        let (Some(facts), Some(renewal)) = (slot.info(), renewal) else { return };
        self.log(
            outside,
            LogLevel::Notice,
            format_args!(
                "obtained the certificate for {}, issued by \"{}\", valid for {}, renewal in {}",
                slot.order,
                facts.issuer,
                format_duration(facts.not_after_s.saturating_sub(now)),
                format_duration(renewal.saturating_sub(now))
            ),
        );
    }

    /// Queries the authority for renewal information (RFC 9773) and logs errors. Reschedules the renewal if the
    /// suggested window is new and starts before the certificate expires, and the last order of the certificate has not
    /// failed; the new time is logged.
    fn update_renewal_window(&mut self, slot: &Arc<CertificateSlot>, outside: &AgentCallbacks) {
        let Some(facts) = slot.info() else { return };
        let renewal_info = self.client(outside).and_then(|client| order::renewal_information(client, &facts));
        let now = now_s();
        let (window, asked) = match renewal_info {
            Ok(Some((window, asked))) => (Some(window), asked),
            Ok(None) => (None, None),
            Err(error) => {
                self.client = None;
                self.log(
                    outside,
                    LogLevel::Info,
                    format_args!("could not fetch renewal information for {}: {error}", slot.order),
                );
                (None, None)
            }
        };
        // A window that starts after the certificate expires is ignored.
        let window = window.filter(|window| window.start_s < facts.not_after_s);
        let sooner = self.shared.with_entry(slot, |entry| {
            entry.information_at_s = now + information_interval_s(asked);
            let window = window.filter(|window| entry.window != Some(*window) && entry.failures == 0)?;
            entry.window = Some(window);
            entry.order_at_s = window.pick(random_fraction()).min(facts.not_after_s);
            Some(entry.order_at_s)
        });
        if let Some(Some(at)) = sooner {
            self.log(
                outside,
                LogLevel::Info,
                format_args!(
                    "the certificate authority suggests renewing the certificate for {} in {}",
                    slot.order,
                    format_duration(at.saturating_sub(now))
                ),
            );
        }
    }

    fn client(&mut self, outside: &AgentCallbacks) -> Result<&mut AcmeClient, AcmeError> {
        let fresh = self.client.take().filter(|(read, _)| read.elapsed() < DIRECTORY_AGE);
        let client = if let Some(client) = fresh {
            client
        } else {
            let key = self.key(outside)?;
            let https = Https::new(roots::tls_config(&self.issuer)?, Arc::clone(&outside.resolve));
            (Instant::now(), AcmeClient::open(https, &self.issuer, key)?)
        };
        Ok(&mut self.client.insert(client).1)
    }

    /// Returns the account key: the configured key; or else the key on which the nodes of a cluster agree; or else the
    /// known or stored key; or else a new key. A key that is not stored on this node is stored before it is used. The
    /// nodes agree again for each new ACME client, because Valkey may have lost the key.
    fn key(&mut self, outside: &AgentCallbacks) -> Result<Arc<SigningKey>, AcmeError> {
        let kind = match &self.issuer.account_key {
            AccountKey::Generated(kind) => *kind,
            AccountKey::Configured(text) => {
                let key = SigningKey::from_pem(text).ok_or_else(|| {
                    AcmeError::Refused(
                        "the file named by account_key contains no usable private key".to_owned(),
                    )
                })?;
                return Ok(Arc::new(key));
            }
        };
        let stored = || self.account.as_deref().and_then(|text| SigningKey::from_pem(text)).map(Arc::new);
        let known = self.key.clone().or_else(stored);
        let is_stored = known.is_some();
        let own = known.map_or_else(|| SigningKey::generate(kind).map(Arc::new), Ok)?;
        let (key, is_own) = match self.shared_key(&own, outside) {
            Some(shared) => (Arc::new(shared), false),
            None => (own, true),
        };
        if !is_stored || !is_own {
            (outside.store)(ACCOUNT_FILE, key.to_pem().as_bytes());
        }
        Ok(Arc::clone(self.key.insert(key)))
    }

    /// Returns the account key on which the nodes of the cluster agree; `None` if it is equal to `own` or unusable, or
    /// there is none.
    fn shared_key(&self, own: &SigningKey, outside: &AgentCallbacks) -> Option<SigningKey> {
        let own = own.to_pem();
        let agreed = outside.cluster.as_ref()?.account_key(&self.issuer, own.as_bytes())?;
        SigningKey::from_pem(&agreed).filter(|agreed| *agreed.to_pem() != *own)
    }
}

/// Right to order a certificate.
struct OrderRight {
    /// Right among the nodes of a cluster; `None` if the certificate is not shared, or this node orders it for itself because
    /// it has waited too long for the other nodes.
    lease: Option<Box<dyn OrderLease>>,
    /// Names that are validated by handshakes; `None` for another type of challenge.
    names: Option<NameReservation>,
}

/// The right to order a certificate was not granted: the order was postponed, or another node has obtained the
/// certificate.
struct OrderPostponed;

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns a random number from 0 to 1. Without random numbers it returns 0.5, because the number only spreads the load
/// of authorities.
fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests;
