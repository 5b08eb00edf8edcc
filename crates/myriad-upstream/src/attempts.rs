//! What was tried for a request: the source of `$upstream_addr`, `$upstream_status` and their kin.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::clock;
use crate::peer::PeerState;
use crate::peer_counts::Tried;

/// One try of one peer. Times are milliseconds from the start of the try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The peer, or the group's name where no peer was live (`$upstream_addr`).
    pub address: Arc<str>,
    /// The group that the peer is one of.
    pub group: Arc<str>,
    /// When it began, by the clock of this crate.
    began: u64,
    /// The status of the response or of the failure, 0 while unknown (`$upstream_status`).
    pub status: u16,
    /// Time to a usable connection, `None` until then (`$upstream_connect_time`).
    pub connect_ms: Option<u64>,
    /// Time to the response head, `None` until then (`$upstream_header_time`).
    pub header_ms: Option<u64>,
    /// Time to the end of the body, or to the failure; `None` until then (`$upstream_response_time`).
    pub response_ms: Option<u64>,
    /// Bytes sent to the peer (`$upstream_bytes_sent`).
    pub bytes_sent: u64,
    /// Bytes received from the peer, framing included (`$upstream_bytes_received`).
    pub bytes_received: u64,
    /// Body bytes received (`$upstream_response_length`).
    pub response_length: u64,
    /// Whether the application reported a fatal error: its response may be incomplete, although it ended properly.
    pub fatal: bool,
    /// Whether the connection had served before.
    pub reused: bool,
    /// Whether it is the first try of a request that an internal redirect sent to another group.
    pub elsewhere: bool,
    /// The value of the `Set-Cookie` that tells the visitor which peer it was; none without `sticky cookie`.
    pub set_cookie: Option<Vec<u8>>,
}

impl Attempt {
    /// How long ago it began, milliseconds.
    pub fn age_ms(&self) -> u64 {
        clock::now().saturating_sub(self.began)
    }
}

/// The tries of one request in their order; clones share them, and they change while the body is read.
#[derive(Clone, Debug, Default)]
pub struct Attempts(Rc<Tries>);

#[derive(Debug, Default)]
struct Tries {
    /// Mostly there is but one.
    made: RefCell<SmallVec<[Attempt; 1]>>,
    /// The next try is the first at another group.
    moves: Cell<bool>,
}

impl Attempts {
    /// No tries yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tries so far. Do not hold it across an `await`: the exchange writes here.
    pub fn get(&self) -> Ref<'_, [Attempt]> {
        Ref::map(self.0.made.borrow(), SmallVec::as_slice)
    }

    /// Notes that a name could not be resolved, which is the try that there was.
    pub fn unresolved(&self, name: &str) {
        self.enter_group();
        let name: Arc<str> = name.into();
        self.begin(Arc::clone(&name), name).failed(502);
    }

    /// Notes the cookie that tells the visitor which peer the last try was answered by.
    pub fn set_cookie(&self, value: Vec<u8>) {
        if let Some(last) = self.0.made.borrow_mut().last_mut() {
            last.set_cookie = Some(value);
        }
    }

    /// Whether a request was sent, of those that are begun from now on.
    pub fn sent(&self) -> Sent {
        Sent { attempts: self.clone(), from: self.0.made.borrow().len() }
    }

    /// Whether the application reported a fatal error during the last try. It is known for certain once the body has ended.
    pub fn ended_fatally(&self) -> bool {
        self.0.made.borrow().last().is_some_and(|attempt| attempt.fatal)
    }

    /// The next try is the first at another group.
    pub(crate) fn enter_group(&self) {
        self.0.moves.set(!self.0.made.borrow().is_empty());
    }

    /// Begins a try of a peer, or of a group that has none, in the group of that name.
    pub(crate) fn begin(&self, address: Arc<str>, group: Arc<str>) -> AttemptLog {
        self.begin_at(address, group, None)
    }

    /// The same of a peer that counts what becomes of it.
    pub(crate) fn begin_at(
        &self,
        address: Arc<str>,
        group: Arc<str>,
        peer: Option<Arc<PeerState>>,
    ) -> AttemptLog {
        let mut all = self.0.made.borrow_mut();
        let elsewhere = self.0.moves.take();
        let started = clock::now();
        all.push(Attempt { address, group, elsewhere, began: started, ..Attempt::default() });
        let answered = Cell::new(0);
        AttemptLog { all: self.clone(), index: all.len() - 1, started, peer, answered }
    }
}

/// Tells whether a request has reached a peer.
#[derive(Clone, Debug)]
pub struct Sent {
    attempts: Attempts,
    /// The tries before do not count.
    from: usize,
}

impl Sent {
    /// Whether a connection was made for it: from then on a peer may be working.
    pub fn has_begun(&self) -> bool {
        let attempts = self.attempts.get();
        attempts.iter().skip(self.from).any(|attempt| attempt.connect_ms.is_some())
    }
}

/// Writes one try.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    all: Attempts,
    index: usize,
    started: u64,
    /// Who counts the try when it is over.
    peer: Option<Arc<PeerState>>,
    /// The status of the head that came, 0 before.
    answered: Cell<u16>,
}

impl AttemptLog {
    fn update(&self, change: impl FnOnce(&mut Attempt, u64)) {
        if let Some(attempt) = self.all.0.made.borrow_mut().get_mut(self.index) {
            change(attempt, clock::now() - self.started);
        }
    }

    /// Milliseconds since the try began.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        clock::now() - self.started
    }

    pub(crate) fn connected(&self, reused: bool) {
        self.update(|attempt, elapsed| {
            attempt.connect_ms = Some(elapsed);
            attempt.reused = reused;
        });
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.update(|attempt, _| attempt.bytes_sent += bytes as u64);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.update(|attempt, _| attempt.bytes_received += bytes as u64);
    }

    /// The first byte of a peer came, where it has not come before.
    pub(crate) fn first_byte(&self) {
        self.update(|attempt, elapsed| {
            attempt.header_ms.get_or_insert(elapsed);
        });
    }

    pub(crate) fn head(&self, status: u16) {
        self.answered.set(status);
        self.update(|attempt, elapsed| {
            attempt.status = status;
            attempt.header_ms = Some(elapsed);
        });
    }

    pub(crate) fn body(&self, bytes: usize) {
        self.update(|attempt, _| attempt.response_length += bytes as u64);
    }

    /// Notes that the application reported a fatal error.
    pub(crate) fn fatal(&self) {
        self.update(|attempt, _| attempt.fatal = true);
    }

    pub(crate) fn failed(&self, status: u16) {
        self.update(|attempt, elapsed| {
            attempt.status = status;
            attempt.response_ms = Some(elapsed);
        });
    }

    /// Takes the try off the list, as if it had not been made.
    pub(crate) fn discard(&mut self) {
        let discarded = self.all.0.made.borrow_mut().pop();
        self.all.0.moves.set(discarded.is_some_and(|attempt| attempt.elsewhere));
        self.index = usize::MAX;
    }
}

impl Drop for AttemptLog {
    /// The body was read to its end, or nobody wants more of it.
    fn drop(&mut self) {
        self.update(|attempt, elapsed| {
            attempt.response_ms.get_or_insert(elapsed);
        });
        if let Some(peer) = &self.peer {
            self.update(|attempt, _| {
                peer.counts.over(&Tried {
                    sent: attempt.bytes_sent,
                    received: attempt.bytes_received,
                    response_ms: attempt.response_ms.unwrap_or_default(),
                    answered: self.answered.get(),
                });
            });
        }
    }
}
