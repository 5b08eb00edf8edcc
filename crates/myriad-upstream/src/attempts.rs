//! Attempts to get a response from an origin for a request: the source of `$upstream_addr`, `$upstream_status` and
//! related variables.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::clock;
use crate::peer::PeerState;
use crate::peer_counts::FinishedAttempt;

/// Attempt to get a response from a single peer. Times are in milliseconds from the start of the attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Address of the peer; without a peer, the name of the group, or the host name that could not be resolved
    /// (`$upstream_addr`).
    pub address: Arc<str>,
    /// Name of the group; for a host name that could not be resolved, that name.
    pub group: Arc<str>,
    /// Start time of the attempt, in units of [`clock::now`].
    began: u64,
    /// Status of the response or of the failure; 0 before the response head, and if the attempt was cancelled before it
    /// (`$upstream_status`).
    pub status: u16,
    /// Time to a usable connection; `None` before a connection is usable (`$upstream_connect_time`).
    pub connect_ms: Option<u64>,
    /// Time to the response head, or to the first byte of a byte stream; `None` before it is received
    /// (`$upstream_header_time`).
    pub header_ms: Option<u64>,
    /// Time until the body was complete, the attempt failed, or the body was no longer needed; `None` while the attempt
    /// is in progress (`$upstream_response_time`).
    pub response_ms: Option<u64>,
    /// Number of bytes sent to the peer (`$upstream_bytes_sent`).
    pub bytes_sent: u64,
    /// Number of bytes received from the peer, including framing (`$upstream_bytes_received`).
    pub bytes_received: u64,
    /// Number of body bytes received (`$upstream_response_length`).
    pub response_length: u64,
    /// True if the FastCGI application reported a fatal error: a fatal error of PHP or a text of `fastcgi_catch_stderr`
    /// on stderr, or a status other than success in END_REQUEST. The response may be incomplete although it was
    /// terminated properly.
    pub fatal: bool,
    /// True if the attempt used an existing connection; false before the attempt has a connection.
    pub reused: bool,
    /// True for the first attempt of a later fetch for the same client request, as after an internal redirect.
    pub after_redirect: bool,
    /// Value of the `Set-Cookie` field that identifies the peer to the client; `None` without `sticky cookie` or
    /// without a response.
    pub set_cookie: Option<Vec<u8>>,
}

impl Attempt {
    /// Returns the time since the start of the attempt in milliseconds; it increases even after the attempt is
    /// finished.
    pub fn age_ms(&self) -> u64 {
        clock::now().saturating_sub(self.began)
    }
}

/// Attempts of a request in order. Clones share the list, which changes while the response body is read.
#[derive(Clone, Debug, Default)]
pub struct Attempts(Rc<AttemptList>);

#[derive(Debug, Default)]
struct AttemptList {
    /// Attempts in order, with inline storage for one, because most requests have a single attempt.
    attempts: RefCell<SmallVec<[Attempt; 1]>>,
    /// True if the next attempt is the first of a later fetch for the same client request.
    next_changes_group: Cell<bool>,
}

impl Attempts {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the attempts so far. Do not hold the guard across an `await`: a running attempt updates the list.
    pub fn get(&self) -> Ref<'_, [Attempt]> {
        Ref::map(self.0.attempts.borrow(), SmallVec::as_slice)
    }

    /// Records a failed attempt, with status 502, for a host name that could not be resolved.
    pub fn record_unresolved(&self, name: &str) {
        self.enter_group();
        let name: Arc<str> = name.into();
        self.begin(Arc::clone(&name), name).failed(502);
    }

    /// Stores a `Set-Cookie` value in the last attempt; the cookie identifies the peer of this attempt. No effect if
    /// the list is empty.
    pub fn set_cookie(&self, value: Vec<u8>) {
        if let Some(last) = self.0.attempts.borrow_mut().last_mut() {
            last.set_cookie = Some(value);
        }
    }

    /// Returns a handle that reports whether any attempt that starts after this call has established a connection to a
    /// peer.
    pub fn track_sent(&self) -> SentTracker {
        SentTracker { attempts: self.clone(), from: self.0.attempts.borrow().len() }
    }

    /// Returns whether the application reported a fatal error in the last attempt; false without attempts. The result
    /// is final once the body is complete.
    pub fn had_fatal_error(&self) -> bool {
        self.0.attempts.borrow().last().is_some_and(|attempt| attempt.fatal)
    }

    /// Marks the next attempt as the first of another fetch, as after an internal redirect, unless the list is empty.
    pub(crate) fn enter_group(&self) {
        self.0.next_changes_group.set(!self.0.attempts.borrow().is_empty());
    }

    /// Starts the record of an attempt without a peer, which updates no counters. `address` is the value for
    /// `$upstream_addr`: the name of `group`, or a host name that could not be resolved.
    pub(crate) fn begin(&self, address: Arc<str>, group: Arc<str>) -> AttemptLog {
        self.begin_at(address, group, None)
    }

    /// Starts the record of an attempt to reach the peer at `address` in `group`, and returns its log. The result is
    /// added to the counters of `peer`; `None` updates no counters.
    pub(crate) fn begin_at(
        &self,
        address: Arc<str>,
        group: Arc<str>,
        peer: Option<Arc<PeerState>>,
    ) -> AttemptLog {
        let mut all = self.0.attempts.borrow_mut();
        let elsewhere = self.0.next_changes_group.take();
        let started = clock::now();
        all.push(Attempt { address, group, after_redirect: elsewhere, began: started, ..Attempt::default() });
        let answered = Cell::new(0);
        AttemptLog { all: self.clone(), index: all.len() - 1, started, peer, head_status: answered }
    }
}

/// Handle that reports whether a connection to a peer was established for a request since the handle was created.
#[derive(Clone, Debug)]
pub struct SentTracker {
    attempts: Attempts,
    /// Index of the first attempt that is considered.
    from: usize,
}

impl SentTracker {
    /// Returns whether a connection to a peer was established since the handle was created: a peer may then have
    /// started to process the request.
    pub fn has_begun(&self) -> bool {
        let attempts = self.attempts.get();
        attempts.iter().skip(self.from).any(|attempt| attempt.connect_ms.is_some())
    }
}

/// Writer of a single attempt's log entry; dropping it completes the attempt.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    all: Attempts,
    /// Index of the attempt in the list.
    index: usize,
    /// Start of the attempt, in the units of [`clock::now`].
    started: u64,
    /// State of the peer, whose counters are updated at the end of the attempt; `None` if no counters are updated.
    peer: Option<Arc<PeerState>>,
    /// Status of the received response head; 0 before.
    head_status: Cell<u16>,
}

impl AttemptLog {
    fn update(&self, change: impl FnOnce(&mut Attempt, u64)) {
        if let Some(attempt) = self.all.0.attempts.borrow_mut().get_mut(self.index) {
            change(attempt, clock::now() - self.started);
        }
    }

    /// Returns the milliseconds since the start of the attempt.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        clock::now() - self.started
    }

    /// Records that the connection to the peer is established; `reused` is true for a pooled connection.
    pub(crate) fn connected(&self, reused: bool) {
        self.update(|attempt, elapsed| {
            attempt.connect_ms = Some(elapsed);
            attempt.reused = reused;
        });
    }

    /// Adds `bytes` to the number of bytes sent to the peer.
    pub(crate) fn sent(&self, bytes: usize) {
        self.update(|attempt, _| attempt.bytes_sent += bytes as u64);
    }

    /// Adds `bytes` to the number of bytes received from the peer.
    pub(crate) fn received(&self, bytes: usize) {
        self.update(|attempt, _| attempt.bytes_received += bytes as u64);
    }

    /// Records the time of the first byte received from the peer; later calls have no effect.
    pub(crate) fn first_byte(&self) {
        self.update(|attempt, elapsed| {
            attempt.header_ms.get_or_insert(elapsed);
        });
    }

    /// Records the status of the response head and the time at which it was received.
    pub(crate) fn head(&self, status: u16) {
        self.head_status.set(status);
        self.update(|attempt, elapsed| {
            attempt.status = status;
            attempt.header_ms = Some(elapsed);
        });
    }

    /// Adds `bytes` to the number of received body bytes.
    pub(crate) fn body(&self, bytes: usize) {
        self.update(|attempt, _| attempt.response_length += bytes as u64);
    }

    /// Records a fatal error reported by the application.
    pub(crate) fn fatal(&self) {
        self.update(|attempt, _| attempt.fatal = true);
    }

    /// Records that the attempt failed now; `status`, such as 502, replaces the status of a response head.
    pub(crate) fn failed(&self, status: u16) {
        self.update(|attempt, elapsed| {
            attempt.status = status;
            attempt.response_ms = Some(elapsed);
        });
    }

    /// Removes this attempt, which must be the last of the list. The counters of its peer are not updated.
    pub(crate) fn discard(&mut self) {
        let discarded = self.all.0.attempts.borrow_mut().pop();
        self.all.0.next_changes_group.set(discarded.is_some_and(|attempt| attempt.after_redirect));
        self.index = usize::MAX;
    }
}

impl Drop for AttemptLog {
    /// Records the time of the attempt, unless [`AttemptLog::failed`] has recorded it: the body is complete, has failed
    /// or is no longer needed. Adds the attempt to the counters of its peer, if any.
    fn drop(&mut self) {
        self.update(|attempt, elapsed| {
            attempt.response_ms.get_or_insert(elapsed);
        });
        if let Some(peer) = &self.peer {
            self.update(|attempt, _| {
                peer.counts.record(&FinishedAttempt {
                    sent: attempt.bytes_sent,
                    received: attempt.bytes_received,
                    response_ms: attempt.response_ms.unwrap_or_default(),
                    head_status: self.head_status.get(),
                });
            });
        }
    }
}
