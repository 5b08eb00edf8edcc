//! Thread of an issuer: orders missing certificates and renews old certificates, one at a time.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use myriad_conf::settings::Level;
use parking_lot::{Condvar, Mutex};
use zeroize::Zeroizing;

use crate::acme_client::challenges::Challenges;
use crate::acme_client::error::Error;
use crate::acme_client::https::{Https, Resolve};
use crate::acme_client::issuer::{AccountKey, CertificateOrder, Issuer};
use crate::acme_client::key::SigningKey;
use crate::acme_client::order::{self, Surroundings};
use crate::acme_client::protocol::Client;
use crate::acme_client::roots;
use crate::acme_client::schedule::{self, LEAST_INTERVAL_S, Window, information_interval_s, pause_s, span};
use crate::acme_client::slot::Slot;

/// Name of the file of an account key.
pub const ACCOUNT_FILE: &str = "account.key";
/// Maximum age of a directory that a client has read.
const DIRECTORY_AGE: Duration = Duration::from_hours(1);
/// Maximum sleep in seconds, because clocks may be set.
const LONGEST_SLEEP_S: u64 = 3600;

/// Callback that writes a line to the error log.
pub type Log = Arc<dyn Fn(Level, &str) + Send + Sync>;
/// Callback that stores a file of the issuer's state, by its name, over restarts.
pub type Keep = Arc<dyn Fn(&str, &[u8]) + Send + Sync>;

/// Callbacks of an agent into the process.
#[derive(Clone)]
pub struct Outside {
    /// Error log.
    pub log: Log,
    /// Storage of state over restarts.
    pub keep: Keep,
    /// Name resolution.
    pub resolve: Resolve,
}

/// Running issuer. When dropped, it stops after the request in progress.
pub struct Agent {
    shared: Arc<Shared>,
    issuer: Issuer,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    outside: Outside,
    entries: Vec<Entry>,
    stopped: bool,
}

/// Certificate and the times of its next tasks.
struct Entry {
    slot: Arc<Slot>,
    /// Failures since the last success.
    failures: u32,
    /// Time of the next order or renewal.
    order_at_s: u64,
    /// Time of the next query for renewal information.
    information_at_s: u64,
    /// Window from which `order_at_s` was selected.
    window: Option<Window>,
}

/// Task of the thread.
enum Task {
    Order(Arc<Slot>),
    Information(Arc<Slot>),
}

impl Agent {
    /// Starts the thread of an issuer. `account` is the stored key in PEM; slots may contain certificates already.
    pub fn start(
        issuer: Issuer,
        slots: Vec<Arc<Slot>>,
        account: Option<Zeroizing<Vec<u8>>>,
        challenges: Arc<Challenges>,
        outside: Outside,
    ) -> std::io::Result<Self> {
        let entries = slots.into_iter().map(|slot| Entry::new(slot, now_s())).collect();
        let state = Mutex::new(State { outside, entries, stopped: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let worker = Worker {
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

    /// Returns whether the agent was started for this issuer.
    pub fn is_for(&self, issuer: &Issuer) -> bool {
        self.issuer == *issuer
    }

    /// Replaces the list of certificates. Entries without failures retain their schedule; failed entries are retried
    /// immediately, because the configuration may have been corrected.
    pub fn set(&self, slots: Vec<Arc<Slot>>, outside: Outside) {
        let mut state = self.shared.state.lock();
        let now = now_s();
        let mut before: HashMap<CertificateOrder, Entry> =
            state.entries.drain(..).map(|entry| (entry.slot.order.clone(), entry)).collect();
        let entries = slots.into_iter().map(|slot| {
            let known = before.remove(&slot.order);
            known.filter(|entry| entry.failures == 0).unwrap_or_else(|| Entry::new(slot, now))
        });
        state.entries = entries.collect();
        state.outside = outside;
        self.shared.changed.notify_all();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Entry {
    fn new(slot: Arc<Slot>, now_s: u64) -> Self {
        let facts = slot.facts();
        let window = facts.map(|facts| schedule::renewal_window(facts.not_before_s, facts.not_after_s));
        let order_at_s = window.map_or(now_s, |window| window.pick(chance()));
        Self { slot, failures: 0, order_at_s, information_at_s: now_s, window }
    }

    /// Returns the time of the next task.
    fn due_s(&self) -> u64 {
        if self.slot.is_ready() { self.order_at_s.min(self.information_at_s) } else { self.order_at_s }
    }

    fn task(&self, now_s: u64) -> Option<Task> {
        if self.order_at_s <= now_s {
            return Some(Task::Order(Arc::clone(&self.slot)));
        }
        let asks = self.slot.is_ready() && self.information_at_s <= now_s;
        asks.then(|| Task::Information(Arc::clone(&self.slot)))
    }
}

impl Shared {
    /// Waits for the next task that is due; returns `None` when the agent is stopped.
    fn next(&self) -> Option<(Task, Outside)> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            let now = now_s();
            if let Some(task) = state.entries.iter().find_map(|entry| entry.task(now)) {
                return Some((task, state.outside.clone()));
            }
            let due = state.entries.iter().map(Entry::due_s).min().unwrap_or(u64::MAX);
            let left = due.saturating_sub(now).clamp(1, LONGEST_SLEEP_S);
            self.changed.wait_for(&mut state, Duration::from_secs(left));
        }
    }

    /// Sleeps. Returns `false` if the certificate is no longer in the list.
    fn sleep(&self, pause: Duration, slot: &Arc<Slot>) -> bool {
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

    fn with_entry<R>(&self, slot: &Arc<Slot>, change: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        let mut state = self.state.lock();
        state.entries.iter_mut().find(|entry| entry.slot.order == slot.order).map(change)
    }
}

/// State of the thread.
struct Worker {
    shared: Arc<Shared>,
    issuer: Issuer,
    account: Option<Zeroizing<Vec<u8>>>,
    key: Option<Arc<SigningKey>>,
    client: Option<(Instant, Client)>,
    challenges: Arc<Challenges>,
}

impl Worker {
    fn run(mut self) {
        while let Some((task, outside)) = self.shared.next() {
            match task {
                Task::Order(slot) => self.order(&slot, &outside),
                Task::Information(slot) => self.inform(&slot, &outside),
            }
        }
    }

    fn say(&self, outside: &Outside, level: Level, message: fmt::Arguments<'_>) {
        (outside.log)(level, &format!("acme issuer \"{}\": {message}", self.issuer.name));
    }

    fn order(&mut self, slot: &Arc<Slot>, outside: &Outside) {
        let deed = if slot.is_ready() { "renewing" } else { "ordering" };
        self.say(outside, Level::Info, format_args!("{deed} the certificate for {}", slot.order));
        match self.try_order(slot, outside) {
            Ok(()) => self.came(slot, outside),
            Err(Error::Stopped) => {}
            Err(error) => {
                // The client is created again, because its state may be the cause.
                self.client = None;
                let pause = self.shared.with_entry(slot, |entry| {
                    entry.failures = entry.failures.saturating_add(1);
                    let pause = pause_s(entry.failures, error.retry_after_s(), chance());
                    entry.order_at_s = now_s().saturating_add(pause);
                    pause
                });
                // The certificate is no longer in the list, so the failure is not logged.
                let Some(pause) = pause else { return };
                let stands = if slot.is_ready() {
                    "the current certificate remains in use"
                } else {
                    "TLS handshakes are refused until a certificate is issued"
                };
                self.say(
                    outside,
                    Level::Error,
                    format_args!(
                        "could not obtain the certificate for {}: {error}; {stands}; next attempt in {}",
                        slot.order,
                        span(pause)
                    ),
                );
            }
        }
    }

    fn try_order(&mut self, slot: &Arc<Slot>, outside: &Outside) -> Result<(), Error> {
        let replaces = slot.facts().and_then(|facts| facts.renewal_id.clone());
        let shared = Arc::clone(&self.shared);
        let wait = |pause: Duration| shared.sleep(pause, slot);
        let challenges = Arc::clone(&self.challenges);
        let issuer = self.issuer.clone();
        let around = Surroundings { issuer: &issuer, challenges: &challenges, now_s: now_s(), wait: &wait };
        let client = self.client(outside)?;
        let replaces = replaces.filter(|_| client.directory.renewal_info.is_some());
        let text = order::run(client, &around, &slot.order, replaces.as_deref())?;
        slot.fill(text.as_bytes())?;
        (outside.keep)(&slot.order.file_name(), text.as_bytes());
        Ok(())
    }

    fn came(&self, slot: &Arc<Slot>, outside: &Outside) {
        let now = now_s();
        let renewal = self.shared.with_entry(slot, |entry| {
            *entry = Entry::new(Arc::clone(slot), now);
            entry.order_at_s = entry.order_at_s.max(now + LEAST_INTERVAL_S);
            entry.order_at_s
        });
        let (Some(facts), Some(renewal)) = (slot.facts(), renewal) else { return };
        self.say(
            outside,
            Level::Notice,
            format_args!(
                "obtained the certificate for {}, issued by \"{}\", valid for {}, renewal in {}",
                slot.order,
                facts.issuer,
                span(facts.not_after_s.saturating_sub(now)),
                span(renewal.saturating_sub(now))
            ),
        );
    }

    /// Queries the renewal information of the authority. Without a reply the schedule is unchanged.
    fn inform(&mut self, slot: &Arc<Slot>, outside: &Outside) {
        let Some(facts) = slot.facts() else { return };
        let told = self.client(outside).and_then(|client| order::renewal_information(client, &facts));
        let now = now_s();
        let (window, asked) = match told {
            Ok(Some((window, asked))) => (Some(window), asked),
            Ok(None) => (None, None),
            Err(error) => {
                self.client = None;
                self.say(
                    outside,
                    Level::Info,
                    format_args!("could not fetch renewal information for {}: {error}", slot.order),
                );
                (None, None)
            }
        };
        // A window that starts after the certificate expires is unusable.
        let window = window.filter(|window| window.start_s < facts.not_after_s);
        let sooner = self.shared.with_entry(slot, |entry| {
            entry.information_at_s = now + information_interval_s(asked);
            let window = window.filter(|window| entry.window != Some(*window) && entry.failures == 0)?;
            entry.window = Some(window);
            entry.order_at_s = window.pick(chance()).min(facts.not_after_s);
            Some(entry.order_at_s)
        });
        if let Some(Some(at)) = sooner {
            self.say(
                outside,
                Level::Info,
                format_args!(
                    "the certificate authority suggests renewing the certificate for {} in {}",
                    slot.order,
                    span(at.saturating_sub(now))
                ),
            );
        }
    }

    fn client(&mut self, outside: &Outside) -> Result<&mut Client, Error> {
        let key = self.key(outside)?;
        let fresh = self.client.take().filter(|(read, _)| read.elapsed() < DIRECTORY_AGE);
        let client = if let Some(client) = fresh {
            client
        } else {
            let https = Https::new(roots::tls_config(&self.issuer)?, Arc::clone(&outside.resolve));
            (Instant::now(), Client::open(https, &self.issuer, key)?)
        };
        Ok(&mut self.client.insert(client).1)
    }

    /// Returns the account key: configured, stored, or generated now. A new key is stored before it is sent to the
    /// authority.
    fn key(&mut self, outside: &Outside) -> Result<Arc<SigningKey>, Error> {
        if let Some(key) = &self.key {
            return Ok(Arc::clone(key));
        }
        let key = match &self.issuer.account_key {
            AccountKey::Given(text) => SigningKey::from_pem(text).ok_or_else(|| {
                Error::Refused("the file named by account_key contains no usable private key".to_owned())
            })?,
            AccountKey::Made(kind) => {
                let kept = self.account.as_deref().and_then(|text| SigningKey::from_pem(text));
                if let Some(key) = kept {
                    key
                } else {
                    let key = SigningKey::generate(*kind)?;
                    (outside.keep)(ACCOUNT_FILE, key.to_pem().as_bytes());
                    key
                }
            }
        };
        Ok(Arc::clone(self.key.insert(Arc::new(key))))
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns a random number from 0 to 1, or 0.5 without randomness, because it is not critical.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
