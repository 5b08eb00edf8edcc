//! OCSP responses for stapling (`ssl_stapling`), queried in advance and refreshed by a separate thread.
//!
//! ```text
//! query --good-----------------------------> stapled; queried again before it expires
//!   |-----revoked--------------------------> nothing is stapled; queried again after a pause
//!   '-----unknown, invalid or no response--> the last good response is used until it expires; queried again
//!                                            after a pause
//! ```
//!
//! Handshakes never wait for a query; they use the current response. A responder that does not respond delays queries
//! to others little: these take precedence, and only one query per pause checks whether it responds again.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::x509::{Certificate, OcspError, OcspId, OcspValidity};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use myriad_conf::settings::LogLevel;
use parking_lot::{Condvar, Mutex};
use rustls::crypto::aws_lc_rs::default_provider;

use crate::acme_client::callbacks::LogCallback;
use crate::acme_client::https::{Resolve, plain_host};
use crate::acme_client::responder::{self, ResponderError};

/// Pauses before the next OCSP query after one, two and more consecutive failures. The last, which is that of nginx,
/// applies to all further failures. Short at first, because a responder may start together with this server.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(5),
];
/// Index in `PAUSES` of the longest pause of an unreachable responder, in which it is queried about none of its
/// certificates.
const LONGEST_FOR_ALL: usize = 3;
/// Minimum and maximum time in seconds after which a good OCSP response is refreshed, as in nginx. The minimum does not
/// apply to a response that expires soon ([`SOONEST_S`]).
const REFRESH_S: (i64, i64) = (300, 3600);
/// Time in seconds before its expiry at which an OCSP response is refreshed.
const AHEAD_S: i64 = 300;
/// Minimum time in seconds after which an OCSP response is refreshed that expires in less than twice [`AHEAD_S`]. Such
/// a response is refreshed after half of its remaining time.
const SOONEST_S: i64 = 5;

/// Certificate whose revocation status is queried for stapling, and its OCSP responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StapleRequest {
    /// Name of the certificate in messages: the name of its file, or `data:`.
    pub name: String,
    /// Certificate in DER.
    pub certificate: Vec<u8>,
    /// Certificate of the issuer in DER.
    pub issuer: Vec<u8>,
    /// URL of the OCSP responder (http).
    pub url: String,
    /// `ssl_stapling_verify`: if true, the response must be signed by the issuer or by a responder that it has
    /// authorized; otherwise any certificate in the response may have signed it.
    pub verify: bool,
}

/// Current OCSP response for a certificate, which a [`StapleUpdater`] replaces in the background. There may be none.
pub struct OcspStaple {
    /// Certificate and its OCSP responder.
    pub question: StapleRequest,
    /// Number that changes whenever the response is replaced or removed.
    number: AtomicU64,
    /// Expiry of the current response, in seconds since the Unix epoch; `i64::MAX` if there is none or it does not
    /// expire.
    until_s: AtomicI64,
    shown: Mutex<Option<Arc<[u8]>>>,
    /// IP address of the responder that last returned status 200, which is tried first; `None` before.
    worked: Mutex<Option<IpAddr>>,
}

struct StapledResponse {
    der: Arc<[u8]>,
    /// Expiry of the response in seconds since the Unix epoch; `None` if it does not expire.
    until_s: Option<i64>,
}

impl fmt::Debug for OcspStaple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OcspStaple").field("question", &self.question.name).finish_non_exhaustive()
    }
}

impl OcspStaple {
    /// Creates an entry for a certificate, without a response at first.
    pub fn new(question: StapleRequest) -> Arc<Self> {
        Arc::new(Self {
            question,
            number: AtomicU64::new(0),
            until_s: AtomicI64::new(i64::MAX),
            shown: Mutex::new(None),
            worked: Mutex::new(None),
        })
    }

    /// Removes the response if it has expired. Returns a number that changes whenever the response is replaced or
    /// removed.
    pub fn number(&self) -> u64 {
        self.expire(now_s());
        self.number.load(Ordering::Acquire)
    }

    /// Returns the response to staple in DER; `None` if there is none. An expired response is removed only by
    /// [`Self::number`].
    pub fn answer(&self) -> Option<Arc<[u8]>> {
        self.shown.lock().clone()
    }

    fn set_response(&self, shown: Option<StapledResponse>) {
        let mut place = self.shown.lock();
        if place.is_some() || shown.is_some() {
            let until_s = shown.as_ref().and_then(|shown| shown.until_s).unwrap_or(i64::MAX);
            self.until_s.store(until_s, Ordering::Release);
            *place = shown.map(|shown| shown.der);
            self.number.fetch_add(1, Ordering::Release);
        }
    }

    /// Removes the response if it has expired at `now_s` (seconds since the Unix epoch).
    fn expire(&self, now_s: i64) {
        let is_old = || self.until_s.load(Ordering::Acquire) < now_s;
        if !is_old() {
            return;
        }
        let mut place = self.shown.lock();
        // Checked again under the lock, because a new response may have been set meanwhile.
        if is_old() && place.take().is_some() {
            self.until_s.store(i64::MAX, Ordering::Release);
            self.number.fetch_add(1, Ordering::Release);
        }
    }

    /// Queries the responder once. If the response is good, stores it for stapling and returns its validity.
    fn query(&self, resolve: &Resolve, now_s: i64) -> Result<OcspValidity, StapleError> {
        let StapleRequest { certificate, issuer, url, verify, .. } = &self.question;
        let malformed = |_| StapleError::Answer(OcspError::Malformed);
        let certificate = Certificate::parse(certificate).map_err(malformed)?;
        let issuer = Certificate::parse(issuer).map_err(malformed)?;
        let id = OcspId::of(&certificate, &issuer);
        let mut worked = *self.worked.lock();
        let reply = responder::query_responder(&id, url, resolve, &mut worked);
        *self.worked.lock() = worked;
        let der = reply.map_err(StapleError::Unanswered)?;
        let algorithms = default_provider().signature_verification_algorithms;
        let answer = id.check(&der, &issuer, *verify, now_s, algorithms.all).map_err(StapleError::Answer)?;
        self.set_response(Some(StapledResponse { der: der.into(), until_s: answer.next_update }));
        Ok(answer)
    }
}

/// Reason why an OCSP query has given no response to staple.
enum StapleError {
    /// No OCSP response was received from the responder.
    Unanswered(ResponderError),
    /// The OCSP response is invalid, its status is not good, or the certificate or its issuer cannot be parsed.
    Answer(OcspError),
}

impl StapleError {
    /// Returns the message about this error for the error log.
    fn log_line(&self, StapleRequest { name, url, .. }: &StapleRequest) -> String {
        let why = match self {
            Self::Unanswered(ResponderError::Connection(why) | ResponderError::Reply(why)) => {
                format!("OCSP responder failed ({why})")
            }
            Self::Answer(error) => error.to_string(),
        };
        format!("{why} while requesting certificate status, responder: {url}, certificate: \"{name}\"")
    }
}

/// OCSP response to update, with the name resolution for its responder.
#[derive(Clone)]
pub struct StapleWithResolver {
    /// Response that the updater replaces.
    pub staple: Arc<OcspStaple>,
    /// Name resolution by the `resolver` of the server, or by the system without one.
    pub resolve: Resolve,
}

/// Handle of the thread that queries OCSP responders for stapling. Dropping it stops the thread after the query in
/// progress.
pub struct StapleUpdater(Arc<UpdaterShared>);

struct UpdaterShared {
    state: Mutex<UpdaterState>,
    changed: Condvar,
}

struct UpdaterState {
    entries: Vec<StapleEntry>,
    /// Responders that could not be reached by their last query, by host and port.
    silent: HashMap<ResponderHost, ResponderFailure>,
    log: LogCallback,
    stopped: bool,
}

type ResponderHost = (String, u16);

struct StapleEntry {
    stapled: StapleWithResolver,
    /// Host and port of the responder; `None` if its URL is invalid.
    host: Option<ResponderHost>,
    /// Number of consecutive failed queries; reset by a reload.
    failures: usize,
    /// Time of the next query.
    due: Instant,
}

/// Failures to reach an OCSP responder, counted for all its certificates together.
struct ResponderFailure {
    /// Number of consecutive queries that could not reach the responder; reset by a reload.
    failures: usize,
    /// Time from which the responder may be queried again.
    due: Instant,
    /// Time of the last log message about the responder; `None` if there was none.
    last_logged: Option<Instant>,
}

impl StapleUpdater {
    /// Starts the thread that queries OCSP responders, without certificates: [`Self::set`] adds them. Fails if the
    /// thread cannot be started.
    pub fn start(log: LogCallback) -> std::io::Result<Self> {
        let state =
            Mutex::new(UpdaterState { entries: Vec::new(), silent: HashMap::new(), log, stopped: false });
        let shared = Arc::new(UpdaterShared { state, changed: Condvar::new() });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("ocsp".to_owned()).spawn(move || own.run())?;
        Ok(Self(shared))
    }

    /// Replaces the list of certificates to query, and the function that logs. Certificates that were in the list and
    /// have no failures retain the time of their next query; all others are queried immediately.
    pub fn set(&self, all: Vec<StapleWithResolver>, log: LogCallback) {
        let mut state = self.0.state.lock();
        let before = std::mem::take(&mut state.entries);
        let now = Instant::now();
        let due = |staple: &Arc<OcspStaple>| {
            let known = before.iter().find(|known| Arc::ptr_eq(&known.stapled.staple, staple));
            known.filter(|known| known.failures == 0).map_or(now, |known| known.due)
        };
        let entries = all.into_iter().map(|stapled| StapleEntry {
            host: plain_host(&stapled.staple.question.url),
            failures: 0,
            due: due(&stapled.staple),
            stapled,
        });
        state.entries = entries.collect();
        state.silent.clear();
        state.log = log;
        self.0.changed.notify_all();
    }
}

impl Drop for StapleUpdater {
    fn drop(&mut self) {
        self.0.state.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for StapleUpdater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StapleUpdater").finish_non_exhaustive()
    }
}

impl UpdaterShared {
    fn run(&self) {
        while let Some(StapleWithResolver { staple, resolve }) = self.next() {
            let outcome = staple.query(&resolve, now_s());
            if matches!(outcome, Err(StapleError::Answer(OcspError::Revoked))) {
                staple.set_response(None);
            }
            self.finish_query(&staple, &outcome);
        }
    }

    /// Waits until a query is due and returns it; `None` once the thread is stopped.
    fn next(&self) -> Option<StapleWithResolver> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            match state.next(Instant::now()) {
                NextQuery::Now(stapled) => return Some(stapled),
                NextQuery::At(due) => drop(self.changed.wait_until(&mut state, due)),
                NextQuery::Never => self.changed.wait(&mut state),
            }
        }
    }

    /// Schedules the next query of a certificate. Logs those failures for which `record_result` returns true.
    fn finish_query(&self, staple: &Arc<OcspStaple>, outcome: &Result<OcspValidity, StapleError>) {
        let mut state = self.state.lock();
        let log = Arc::clone(&state.log);
        let is_logged = state.record_result(staple, outcome, Instant::now());
        drop(state);
        if let Err(failure) = outcome
            && is_logged
        {
            log(LogLevel::Warn, &failure.log_line(&staple.question));
        }
    }
}

/// Query that is due now, or the time of the next one.
enum NextQuery {
    Now(StapleWithResolver),
    At(Instant),
    Never,
}

impl UpdaterState {
    fn responder_failure(&self, entry: &StapleEntry) -> Option<&ResponderFailure> {
        self.silent.get(entry.host.as_ref()?)
    }

    /// Returns a certificate whose query is due at `now`, or else the time of the next query. Of several due
    /// certificates, those whose responder was reached by its last query come first, then the one that has been due
    /// longest.
    fn next(&self, now: Instant) -> NextQuery {
        let due = |entry: &StapleEntry| {
            self.responder_failure(entry).map_or(entry.due, |silence| silence.due.max(entry.due))
        };
        let are_due = self.entries.iter().filter(|entry| due(entry) <= now);
        match are_due.min_by_key(|entry| (self.responder_failure(entry).is_some(), entry.due)) {
            Some(entry) => NextQuery::Now(entry.stapled.clone()),
            None => self.entries.iter().map(due).min().map_or(NextQuery::Never, NextQuery::At),
        }
    }

    /// Records the result of a query and schedules the next query. Returns true if a failure must be logged: the first
    /// of consecutive failures, and those after the pauses have reached their maximum. Failures to reach a responder
    /// are logged at most once in 150 seconds for all its certificates. Returns false if the certificate was removed by
    /// a reload.
    fn record_result(
        &mut self,
        staple: &Arc<OcspStaple>,
        outcome: &Result<OcspValidity, StapleError>,
        now: Instant,
    ) -> bool {
        // The certificate was removed by a reload during the query.
        let Some(entry) = self.entries.iter_mut().find(|entry| Arc::ptr_eq(&entry.stapled.staple, staple))
        else {
            return false;
        };
        let pause = match outcome {
            Ok(answer) => refresh_after(answer, now_s()),
            Err(_) => PAUSES[entry.failures.min(PAUSES.len() - 1)],
        };
        entry.due = now + with_jitter(pause);
        entry.failures = if outcome.is_ok() { 0 } else { entry.failures.saturating_add(1) };
        let is_logged = entry.failures == 1 || entry.failures >= PAUSES.len();
        let Some(host) = &entry.host else { return is_logged };
        if !matches!(outcome, Err(StapleError::Unanswered(ResponderError::Connection(_)))) {
            self.silent.remove(host);
            return is_logged;
        }
        let silence = self.silent.entry(host.clone()).or_insert(ResponderFailure {
            failures: 0,
            due: now,
            last_logged: None,
        });
        silence.due = now + with_jitter(PAUSES[silence.failures.min(LONGEST_FOR_ALL)]);
        silence.failures = silence.failures.saturating_add(1);
        // An unreachable responder is logged once for all its certificates.
        let is_logged =
            is_logged && silence.last_logged.is_none_or(|told| now - told >= PAUSES[PAUSES.len() - 1] / 2);
        if is_logged {
            silence.last_logged = Some(now);
        }
        is_logged
    }
}

/// Returns the time from now after which a good OCSP response is refreshed: [`AHEAD_S`] before it expires, limited to
/// [`REFRESH_S`]; half of the remaining time, but at least [`SOONEST_S`], if it expires in less than twice [`AHEAD_S`];
/// the maximum of [`REFRESH_S`] if it does not expire.
fn refresh_after(answer: &OcspValidity, now_s: i64) -> Duration {
    let pause = match answer.next_update.map(|next| next.saturating_sub(now_s)) {
        None => REFRESH_S.1,
        Some(left) if left < 2 * AHEAD_S => (left / 2).max(SOONEST_S),
        Some(left) => (left - AHEAD_S).clamp(REFRESH_S.0, REFRESH_S.1),
    };
    Duration::from_secs(pause.unsigned_abs())
}

/// Shortens a pause by up to 10 % at random, so that many servers do not query at once.
fn with_jitter(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without random numbers the pause is not shortened.
    let _ = SystemRandom::new().fill(&mut byte);
    pause.mul_f64(1.0 - f64::from(byte[0]) / 2550.0)
}

fn now_s() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
