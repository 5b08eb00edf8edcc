//! OCSP answers that are shown with certificates (`ssl_stapling`), asked for ahead and kept fresh by a thread of their own.
//!
//! ```text
//! asked --good--> shown, asked again before it is old
//!   |  ^            |
//!   |  '--pause-----+--no answer, a wrong one: what is shown stays until it is old
//!   '---------------+--revoked: nothing is shown
//! ```
//!
//! A handshake never waits for an answer: it shows what is there. Nor does a certificate wait for more than one responder that
//! says nothing: one question at a time finds out whether it does again, and those for others come first.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use myriad_conf::settings::Level;
use myriad_x509::{Certificate, OcspAnswer, OcspError, OcspId};
use parking_lot::{Condvar, Mutex};
use rustls::crypto::aws_lc_rs::default_provider;

use crate::agent::Log;
use crate::https::{Resolve, plain_host};
use crate::responder::{self, Unanswered};

/// Pauses after failures: a responder that starts together with this server is there in a moment; later as in nginx.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(5),
];
/// The longest of them that holds for all questions to a responder: one certificate's may be what it does not answer.
const LONGEST_FOR_ALL: usize = 3;
/// Seconds after which a good answer is asked for again, and how long before its end, at the latest; as in nginx.
const REFRESH_S: (i64, i64) = (300, 3600);
/// An answer is asked for again before it ends, seconds.
const AHEAD_S: i64 = 300;
/// One that has not twice as long is asked for when half of its time is over, and no sooner than after so long, seconds.
const SOONEST_S: i64 = 5;

/// What is asked, and of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the certificate is called in messages: its file.
    pub name: String,
    /// The certificate in DER.
    pub certificate: Vec<u8>,
    /// The certificate of its issuer.
    pub issuer: Vec<u8>,
    /// The responder: a URL of plain HTTP.
    pub url: String,
    /// `ssl_stapling_verify`: only the issuer, or whom it has made a responder, is believed.
    pub verify: bool,
}

/// The answer to a question, as it is now.
pub struct Staple {
    /// What is asked.
    pub question: Question,
    /// Another one with each answer.
    number: AtomicU64,
    /// Up to when what is shown counts, seconds since the epoch.
    until_s: AtomicI64,
    shown: Mutex<Option<Arc<[u8]>>>,
    /// The address of the responder that answered last.
    worked: Mutex<Option<IpAddr>>,
}

struct Shown {
    der: Arc<[u8]>,
    /// Seconds since the epoch.
    until_s: Option<i64>,
}

impl fmt::Debug for Staple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staple").field("question", &self.question.name).finish_non_exhaustive()
    }
}

impl Staple {
    /// A question that was not answered yet.
    pub fn new(question: Question) -> Arc<Self> {
        Arc::new(Self {
            question,
            number: AtomicU64::new(0),
            until_s: AtomicI64::new(i64::MAX),
            shown: Mutex::new(None),
            worked: Mutex::new(None),
        })
    }

    /// Changes whenever the answer does, be it that its time is over.
    pub fn number(&self) -> u64 {
        self.expire(now_s());
        self.number.load(Ordering::Acquire)
    }

    /// What is to be shown, in DER.
    pub fn answer(&self) -> Option<Arc<[u8]>> {
        self.shown.lock().clone()
    }

    fn show(&self, shown: Option<Shown>) {
        let mut place = self.shown.lock();
        if place.is_some() || shown.is_some() {
            let until_s = shown.as_ref().and_then(|shown| shown.until_s).unwrap_or(i64::MAX);
            self.until_s.store(until_s, Ordering::Release);
            *place = shown.map(|shown| shown.der);
            self.number.fetch_add(1, Ordering::Release);
        }
    }

    /// Takes away what is too old to be shown.
    fn expire(&self, now_s: i64) {
        let is_old = || self.until_s.load(Ordering::Acquire) < now_s;
        if !is_old() {
            return;
        }
        let mut place = self.shown.lock();
        // Another one may have come meanwhile.
        if is_old() && place.take().is_some() {
            self.until_s.store(i64::MAX, Ordering::Release);
            self.number.fetch_add(1, Ordering::Release);
        }
    }

    /// Asks once.
    fn ask(&self, resolve: &Resolve, now_s: i64) -> Result<OcspAnswer, Failure> {
        let Question { certificate, issuer, url, verify, .. } = &self.question;
        let malformed = |_| Failure::Answer(OcspError::Malformed);
        let certificate = Certificate::parse(certificate).map_err(malformed)?;
        let issuer = Certificate::parse(issuer).map_err(malformed)?;
        let id = OcspId::of(&certificate, &issuer);
        let mut worked = *self.worked.lock();
        let reply = responder::ask(&id, url, resolve, &mut worked);
        *self.worked.lock() = worked;
        let der = reply.map_err(Failure::Unanswered)?;
        let algorithms = default_provider().signature_verification_algorithms;
        let answer = id.check(&der, &issuer, *verify, now_s, algorithms.all).map_err(Failure::Answer)?;
        self.show(Some(Shown { der: der.into(), until_s: answer.next_update }));
        Ok(answer)
    }
}

/// Why there is no answer.
enum Failure {
    Unanswered(Unanswered),
    Answer(OcspError),
}

impl Failure {
    /// The line of the log.
    fn told(&self, Question { name, url, .. }: &Question) -> String {
        let why = match self {
            Self::Unanswered(Unanswered::Connection(why) | Unanswered::Reply(why)) => {
                format!("OCSP responder failed ({why})")
            }
            Self::Answer(error) => error.to_string(),
        };
        format!("{why} while requesting certificate status, responder: {url}, certificate: \"{name}\"")
    }
}

/// A staple, and how the name of its responder is looked up.
#[derive(Clone)]
pub struct Stapled {
    /// What is asked.
    pub staple: Arc<Staple>,
    /// `resolver` of its server.
    pub resolve: Resolve,
}

/// The thread that asks. Dropped, it stops after the question that is under way.
pub struct Stapler(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    entries: Vec<Entry>,
    /// Responders that did not answer last, by host and port.
    silent: HashMap<Host, Silence>,
    log: Log,
    stopped: bool,
}

type Host = (String, u16);

struct Entry {
    stapled: Stapled,
    host: Option<Host>,
    failures: usize,
    due: Instant,
}

/// The silence of a responder, whatever it is asked.
struct Silence {
    failures: usize,
    /// Nothing is asked before.
    due: Instant,
    told: Option<Instant>,
}

impl Stapler {
    /// Starts the thread.
    pub fn start(log: Log) -> std::io::Result<Self> {
        let state = Mutex::new(State { entries: Vec::new(), silent: HashMap::new(), log, stopped: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("ocsp".to_owned()).spawn(move || own.run())?;
        Ok(Self(shared))
    }

    /// Takes over another list. What was going well goes on; what had failed is tried again at once.
    pub fn set(&self, all: Vec<Stapled>, log: Log) {
        let mut state = self.0.state.lock();
        let before = std::mem::take(&mut state.entries);
        let now = Instant::now();
        let due = |staple: &Arc<Staple>| {
            let known = before.iter().find(|known| Arc::ptr_eq(&known.stapled.staple, staple));
            known.filter(|known| known.failures == 0).map_or(now, |known| known.due)
        };
        let entries = all.into_iter().map(|stapled| Entry {
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

impl Drop for Stapler {
    fn drop(&mut self) {
        self.0.state.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Stapler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stapler")
    }
}

impl Shared {
    fn run(&self) {
        while let Some(Stapled { staple, resolve }) = self.next() {
            let outcome = staple.ask(&resolve, now_s());
            if matches!(outcome, Err(Failure::Answer(OcspError::Revoked))) {
                staple.show(None);
            }
            self.settle(&staple, &outcome);
        }
    }

    /// What is due, when its time has come; none when it is over.
    fn next(&self) -> Option<Stapled> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            match state.next(Instant::now()) {
                Next::Now(stapled) => return Some(stapled),
                Next::At(due) => drop(self.changed.wait_until(&mut state, due)),
                Next::Never => self.changed.wait(&mut state),
            }
        }
    }

    /// Says when it is asked again, and in the log what went wrong.
    fn settle(&self, staple: &Arc<Staple>, outcome: &Result<OcspAnswer, Failure>) {
        let mut state = self.state.lock();
        let log = Arc::clone(&state.log);
        let is_told = state.settle(staple, outcome, Instant::now());
        drop(state);
        if let Err(failure) = outcome
            && is_told
        {
            log(Level::Warn, &failure.told(&staple.question));
        }
    }
}

/// What is to be asked, or when.
enum Next {
    Now(Stapled),
    At(Instant),
    Never,
}

impl State {
    fn silence(&self, entry: &Entry) -> Option<&Silence> {
        self.silent.get(entry.host.as_ref()?)
    }

    /// The next certificate to ask for: of those due first, one whose responder answers; then the one that waits longest.
    fn next(&self, now: Instant) -> Next {
        let due = |entry: &Entry| self.silence(entry).map_or(entry.due, |silence| silence.due.max(entry.due));
        let are_due = self.entries.iter().filter(|entry| due(entry) <= now);
        match are_due.min_by_key(|entry| (self.silence(entry).is_some(), entry.due)) {
            Some(entry) => Next::Now(entry.stapled.clone()),
            None => self.entries.iter().map(due).min().map_or(Next::Never, Next::At),
        }
    }

    /// Whether a failure is to be told: the first of a row, and those that are minutes apart.
    fn settle(&mut self, staple: &Arc<Staple>, outcome: &Result<OcspAnswer, Failure>, now: Instant) -> bool {
        // Nobody shows any more what a reload has taken off the list meanwhile.
        let Some(entry) = self.entries.iter_mut().find(|entry| Arc::ptr_eq(&entry.stapled.staple, staple))
        else {
            return false;
        };
        let pause = match outcome {
            Ok(answer) => refresh(answer, now_s()),
            Err(_) => PAUSES[entry.failures.min(PAUSES.len() - 1)],
        };
        entry.due = now + with_jitter(pause);
        entry.failures = if outcome.is_ok() { 0 } else { entry.failures.saturating_add(1) };
        let is_told = entry.failures == 1 || entry.failures >= PAUSES.len();
        let Some(host) = &entry.host else { return is_told };
        if !matches!(outcome, Err(Failure::Unanswered(Unanswered::Connection(_)))) {
            self.silent.remove(host);
            return is_told;
        }
        let silence =
            self.silent.entry(host.clone()).or_insert(Silence { failures: 0, due: now, told: None });
        silence.due = now + with_jitter(PAUSES[silence.failures.min(LONGEST_FOR_ALL)]);
        silence.failures = silence.failures.saturating_add(1);
        // Once for all its questions.
        let is_told = is_told && silence.told.is_none_or(|told| now - told >= PAUSES[PAUSES.len() - 1] / 2);
        if is_told {
            silence.told = Some(now);
        }
        is_told
    }
}

/// How long a good answer is left alone.
fn refresh(answer: &OcspAnswer, now_s: i64) -> Duration {
    let pause = match answer.next_update.map(|next| next.saturating_sub(now_s)) {
        None => REFRESH_S.1,
        Some(left) if left < 2 * AHEAD_S => (left / 2).max(SOONEST_S),
        Some(left) => (left - AHEAD_S).clamp(REFRESH_S.0, REFRESH_S.1),
    };
    Duration::from_secs(pause.unsigned_abs())
}

/// Up to a tenth less, so that not all servers of the world come at once.
fn with_jitter(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without chance all the same.
    let _ = SystemRandom::new().fill(&mut byte);
    pause.mul_f64(1.0 - f64::from(byte[0]) / 2550.0)
}

fn now_s() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
