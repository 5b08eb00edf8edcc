//! OCSP queries for client certificates during a request (`ssl_ocsp`).
//!
//! ```text
//! query -- equal query queued or in progress? --yes--> both get its result
//!    '-- queue full? --yes--> error
//!    '-- queued --> a thread (a limited number per responder) --> result
//! ```
//!
//! Threads are started on demand and exit when idle. A query that has been queued for more than ten seconds fails
//! without being sent.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::x509::{Certificate, OcspId, OcspStatus, OcspValidity};
use parking_lot::{Condvar, Mutex};
use rustls::crypto::aws_lc_rs::default_provider;

use crate::acme_client::https::{Resolve, plain_host};
use crate::acme_client::responder::{self, ResponderError};

/// Maximum number of threads for OCSP queries about client certificates, and so of concurrent queries.
const MOST_AT_ONCE: usize = 8;
/// Maximum number of concurrent queries of one OCSP responder, so that a slow responder does not block the others.
const MOST_OF_ONE: usize = 4;
/// Maximum number of queued OCSP queries; further ones fail.
const MOST_WAITING: usize = 256;
/// Maximum number of callers that wait for the result of the same OCSP query.
const MOST_FOR_ONE: usize = 1024;
/// Time in the queue after which an OCSP query is not sent any more.
const LATE: Duration = Duration::from_secs(10);
/// Time without a query after which an OCSP thread exits.
const IDLE: Duration = Duration::from_secs(10);

/// Certificate whose revocation status is queried, and its OCSP responder.
pub struct StatusRequest {
    /// Certificate in DER.
    pub certificate: Vec<u8>,
    /// Certificate of the issuer in DER.
    pub issuer: Vec<u8>,
    /// URL of the OCSP responder (http).
    pub url: String,
    /// Resolution of the responder's host name.
    pub resolve: Resolve,
}

/// Revocation status of a certificate with the validity of the response. The error is a message.
pub type StatusResult = Result<(OcspStatus, OcspValidity), String>;

/// Function that is called once with the result of an OCSP query.
pub type StatusCallback = Box<dyn FnOnce(StatusResult) + Send>;

type StatusResponder = (String, u16);
type StatusKey = (String, Box<[u8]>);

struct StatusQuery {
    question: StatusRequest,
    key: StatusKey,
    host: StatusResponder,
    /// Time at which the query was queued.
    since: Instant,
}

#[derive(Default)]
struct StatusState {
    waiting: VecDeque<StatusQuery>,
    callbacks: HashMap<StatusKey, Vec<StatusCallback>>,
    /// Numbers of queries in progress, by OCSP responder.
    in_progress: HashMap<StatusResponder, usize>,
    /// Number of threads that perform queries.
    threads: usize,
    /// Number of threads that wait for a query.
    idle: usize,
}

#[derive(Default)]
struct StatusQueue {
    state: Mutex<StatusState>,
    changed: Condvar,
}

static QUEUE: LazyLock<StatusQueue> = LazyLock::new(StatusQueue::default);

/// Queries an OCSP responder on a separate thread and calls `callback` there with the result; an equal query that is
/// queued or in progress is shared. Calls `callback` with an error on this thread if a certificate or the URL is
/// invalid, if too many queries are queued or too many callers wait for the same one, or if no thread can be started.
pub fn request_status(question: StatusRequest, callback: StatusCallback) {
    let (Ok(certificate), Ok(issuer)) =
        (Certificate::parse(&question.certificate), Certificate::parse(&question.issuer))
    else {
        return callback(Err("the certificate or the certificate of its issuer cannot be parsed".to_owned()));
    };
    let Some(host) = plain_host(&question.url) else {
        return callback(Err(format!(
            "the OCSP responder URL \"{}\" is invalid or does not begin with http://",
            question.url
        )));
    };
    let key = (question.url.clone(), OcspId::of(&certificate, &issuer).key());
    QUEUE.enqueue(StatusQuery { question, key, host, since: Instant::now() }, callback);
}

impl StatusQueue {
    fn enqueue(&'static self, job: StatusQuery, callback: StatusCallback) {
        let mut state = self.state.lock();
        if let Some(callbacks) = state.callbacks.get_mut(&job.key)
            && callbacks.len() < MOST_FOR_ONE
        {
            return callbacks.push(callback);
        }
        if state.waiting.len() >= MOST_WAITING || state.callbacks.contains_key(&job.key) {
            drop(state);
            return callback(Err("too many OCSP requests are queued".to_owned()));
        }
        state.callbacks.insert(job.key.clone(), vec![callback]);
        state.waiting.push_back(job);
        let needs_thread = state.idle < state.waiting.len() && state.threads < MOST_AT_ONCE;
        if needs_thread {
            state.threads += 1;
            let begun = std::thread::Builder::new().name("ocsp-client".to_owned()).spawn(|| self.run());
            if begun.is_err() {
                state.threads -= 1;
            }
            if state.threads == 0 {
                // There is no thread that would process the query.
                let callbacks = state.waiting.pop_back().and_then(|job| state.callbacks.remove(&job.key));
                drop(state);
                return notify_all(callbacks, &Err("cannot start a thread for OCSP requests".to_owned()));
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    fn run(&self) {
        while let Some(job) = self.next() {
            // Calls the callbacks even if the query panics.
            let mut under_way =
                QueryGuard { queue: self, key: Some(job.key.clone()), host: job.host.clone() };
            let result = if job.since.elapsed() > LATE {
                Err("the OCSP request timed out in the queue".to_owned())
            } else {
                query_status(&job.question)
            };
            under_way.finish(&result);
        }
    }

    /// Waits until there is a queued query that the limit of its responder allows, and returns it; `None` after
    /// [`IDLE`] with an empty queue.
    fn next(&self) -> Option<StatusQuery> {
        let mut state = self.state.lock();
        loop {
            let StatusState { waiting, in_progress, .. } = &mut *state;
            let may_be =
                |job: &StatusQuery| in_progress.get(&job.host).is_none_or(|count| *count < MOST_OF_ONE);
            if let Some(job) = waiting.iter().position(may_be).and_then(|at| waiting.remove(at)) {
                *in_progress.entry(job.host.clone()).or_default() += 1;
                return Some(job);
            }
            state.idle += 1;
            let is_over = self.changed.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            if is_over && state.waiting.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}

/// Query in progress on a thread. Its callbacks are called with the result by [`Self::finish`], or with an error when
/// it is dropped after a panic.
struct QueryGuard<'a> {
    queue: &'a StatusQueue,
    key: Option<StatusKey>,
    host: StatusResponder,
}

impl QueryGuard<'_> {
    fn finish(&mut self, result: &StatusResult) {
        let Some(key) = self.key.take() else { return };
        let mut state = self.queue.state.lock();
        if let Some(count) = state.in_progress.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                state.in_progress.remove(&self.host);
            }
        }
        let callbacks = state.callbacks.remove(&key);
        drop(state);
        // Wakes a thread for another query of this responder.
        self.queue.changed.notify_one();
        notify_all(callbacks, result);
    }
}

impl Drop for QueryGuard<'_> {
    fn drop(&mut self) {
        if self.key.is_some() {
            // The thread panics and ends.
            self.queue.state.lock().threads -= 1;
            self.finish(&Err("the OCSP request was aborted".to_owned()));
        }
    }
}

fn notify_all(callbacks: Option<Vec<StatusCallback>>, result: &StatusResult) {
    for callback in callbacks.into_iter().flatten() {
        callback(result.clone());
    }
}

/// Sends the OCSP query and verifies the response. Returns the status of the certificate.
fn query_status(question: &StatusRequest) -> StatusResult {
    let StatusRequest { certificate, issuer, url, resolve } = question;
    let (Ok(certificate), Ok(issuer)) = (Certificate::parse(certificate), Certificate::parse(issuer)) else {
        return Err("the certificate or the certificate of its issuer cannot be parsed".to_owned());
    };
    let id = OcspId::of(&certificate, &issuer);
    let answer = responder::query_responder(&id, url, resolve, &mut None).map_err(|why| match why {
        ResponderError::Connection(why) | ResponderError::Reply(why) => {
            format!("OCSP responder failed ({why})")
        }
    });
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_s = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    let algorithms = default_provider().signature_verification_algorithms;
    answer.and_then(|der| id.status(&der, &issuer, now_s, algorithms.all).map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests;
