//! Request body on a multiplexed connection: pushed by the driver, read by the service.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use myriad_http::body::BodyError;

use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, ClientTimeouts};
use crate::deadline::Deadline;
use crate::memory::BufferedBodyBytes;

/// Size in bytes below which received pieces of a request body are joined. Without this, a body in frames of one byte
/// would use a hundred times its length.
const SHORT: usize = 1024;

/// Queue of a request body between the driver, which pushes received pieces, and its reader.
///
/// It is limited by flow control: the driver reopens the client's window by the number of bytes that
/// [`BodyFeed::take_released`] returns.
pub struct BodyFeed {
    inner: Rc<BodyFeedInner>,
}

struct BodyFeedInner {
    state: RefCell<BodyFeedState>,
    /// `client_max_body_size` in bytes; 0 for no limit.
    limit: Cell<u64>,
    /// Time limits for waiting for the client: `client_body_timeout` and `client_min_rate`.
    terms: Cell<ClientTimeLimits>,
    deadline: Deadline,
}

#[derive(Default)]
struct BodyFeedState {
    pieces: VecDeque<Bytes>,
    /// Short pieces that follow `pieces`, joined.
    tail: BytesMut,
    /// Number of unread bytes in `pieces` and `tail`.
    held: BufferedBodyBytes,
    /// Total number of body bytes received from the client.
    received: u64,
    /// Length announced by `Content-Length`; `None` if unknown.
    announced: Option<u64>,
    /// Set once the client has sent the whole body.
    is_complete: bool,
    failed: Option<BodyError>,
    /// Measurement of the waits for the client, for `client_body_timeout` and `client_min_rate`.
    patience: ClientTimeouts,
    /// Set while the reader waits for the client.
    waiting: bool,
    /// Number of body bytes read or dropped, but not yet returned by [`BodyFeed::take_released`] to the driver.
    released: usize,
    /// Set while the client expects `100 Continue` and the driver has not been requested to send it.
    expects_continue: bool,
    /// Set when the driver must send `100 Continue`.
    wants_continue: bool,
    /// Set when the service first waits for bytes of the body, until [`BodyFeed::take_reading`] returns it.
    began: bool,
    reads: bool,
    reader: Option<Waker>,
    driver: Option<Waker>,
}

impl BodyFeed {
    /// Creates a feed. `announced` is the length from `Content-Length`, if known; `expects_continue` is true if the
    /// client waits for `100 Continue`.
    pub fn new(announced: Option<u64>, expects_continue: bool) -> Self {
        let state = BodyFeedState { announced, expects_continue, ..BodyFeedState::default() };
        Self {
            inner: Rc::new(BodyFeedInner {
                state: RefCell::new(state),
                limit: Cell::new(0),
                terms: Cell::new(ClientTimeLimits::default()),
                deadline: Deadline::new(),
            }),
        }
    }

    /// Returns a second handle of the same body, for the service that reads it.
    pub(crate) fn reader(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }

    /// Sets the waker that runs when bytes were read or dropped, the service first waits for bytes, or `100 Continue`
    /// must be sent.
    pub fn set_driver(&self, driver: &Waker) {
        self.inner.state.borrow_mut().driver = Some(driver.clone());
    }

    /// Returns true while the reader exists, so that received bytes are needed.
    pub fn is_wanted(&self) -> bool {
        Rc::strong_count(&self.inner) > 1
    }

    /// Appends a received piece of the body and wakes the reader.
    pub fn push(&self, piece: &[u8]) {
        let mut state = self.inner.state.borrow_mut();
        state.received += piece.len() as u64;
        state.hold(piece.len());
        if piece.len() < SHORT {
            state.tail.extend_from_slice(piece);
        } else {
            if !state.tail.is_empty() {
                let tail = state.tail.split().freeze();
                state.pieces.push_back(tail);
            }
            state.pieces.push_back(Bytes::copy_from_slice(piece));
        }
        wake_reader(state);
    }

    /// Marks the body as complete and wakes the reader.
    pub fn end(&self) {
        let mut state = self.inner.state.borrow_mut();
        state.is_complete = true;
        wake_reader(state);
    }

    /// Marks the body as failed, drops the unread bytes and wakes the reader. An earlier error remains. No effect if
    /// the body was received and read completely.
    pub fn fail(&self, error: BodyError) {
        let mut state = self.inner.state.borrow_mut();
        if !state.is_complete || state.held.get() > 0 {
            state.failed.get_or_insert(error);
            state.drop_held();
        }
        wake_reader(state);
    }

    /// Returns the number of bytes that the service has read or dropped since the last call, by which the client's
    /// window may grow.
    pub fn take_released(&self) -> usize {
        std::mem::take(&mut self.inner.state.borrow_mut().released)
    }

    /// Returns true, once, if `100 Continue` must be sent.
    pub fn take_continue(&self) -> bool {
        std::mem::take(&mut self.inner.state.borrow_mut().wants_continue)
    }

    /// Returns true, once, after the service has first waited for bytes of the body.
    pub fn take_reading(&self) -> bool {
        std::mem::take(&mut self.inner.state.borrow_mut().began)
    }

    /// Returns true if the reader waits for bytes from the client.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.inner.state.borrow();
        state.waiting && state.held.get() == 0 && !state.is_complete
    }

    /// Returns true if reading failed because the client exceeded a time limit.
    pub fn has_timed_out(&self) -> bool {
        self.inner.state.borrow().failed == Some(BodyError::Timeout)
    }

    /// Returns true if the body is known to be empty.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.inner.state.borrow();
        state.announced == Some(0) || state.is_complete && state.received == 0
    }

    /// Returns the number of body bytes received from the client so far.
    pub fn received(&self) -> u64 {
        self.inner.state.borrow().received
    }

    /// Returns the number of body bytes still to be read by the service; `None` if unknown.
    pub(crate) fn length(&self) -> Option<u64> {
        let state = self.inner.state.borrow();
        if state.is_complete {
            return Some(state.held.get());
        }
        let to_come = state.announced.map(|announced| announced.saturating_sub(state.received));
        to_come.map(|to_come| to_come + state.held.get())
    }

    /// Sets the maximum size of the body in bytes (0 for no limit) and the time limits for waiting for the client.
    pub(crate) fn configure(&self, limit: u64, terms: ClientTimeLimits) {
        self.inner.limit.set(limit);
        self.inner.terms.set(terms);
    }

    /// Returns true if the whole body was received without an error.
    pub(crate) fn is_whole(&self) -> bool {
        let state = self.inner.state.borrow();
        state.is_complete && state.failed.is_none()
    }

    /// Lets the driver send `100 Continue` if the client waits for it.
    pub(crate) fn send_continue(&self) {
        self.inner.state.borrow_mut().request_continue();
    }

    /// Drops the unread bytes. Returns the error if the body has failed.
    pub(crate) fn discard(&self) -> Result<(), BodyError> {
        let mut state = self.inner.state.borrow_mut();
        state.drop_held();
        state.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns the next piece of the body; `None` at its end. Fails with the error of the body, if it exceeds the size
    /// limit, or if the client sends too slowly.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let BodyFeedInner { state, limit, terms, deadline } = &*self.inner;
        let mut state = state.borrow_mut();
        if let Some(error) = &state.failed {
            return Poll::Ready(Some(Err(error.clone())));
        }
        if limit.get() != 0 && state.received > limit.get() {
            state.failed = Some(BodyError::TooLarge);
            state.drop_held();
            return Poll::Ready(Some(Err(BodyError::TooLarge)));
        }
        if state.held.get() > 0 {
            // Time during which a slow origin does not read the body does not count against the client.
            state.waiting = false;
            let piece = state.pieces.pop_front().unwrap_or_else(|| state.tail.split().freeze());
            if state.patience.record_transfer(piece.len() as u64, deadline, terms.get().rate, AS_MOVED) {
                return state.fail_with_timeout();
            }
            state.release(piece.len());
            return Poll::Ready(Some(Ok(piece)));
        }
        if state.is_complete {
            return Poll::Ready(None);
        }
        state.request_continue();
        if !std::mem::replace(&mut state.reads, true) {
            state.began = true;
            state.wake_driver();
        }
        state.reader = Some(cx.waker().clone());
        state.waiting = true;
        if state.patience.poll(deadline, terms.get(), AS_MOVED, cx).is_pending() {
            return Poll::Pending;
        }
        state.fail_with_timeout()
    }
}

/// Wakes the reader. The borrow is released first, because the reader may access the state immediately.
fn wake_reader(mut state: std::cell::RefMut<'_, BodyFeedState>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}

impl BodyFeedState {
    fn hold(&mut self, more: usize) {
        self.held.add(more);
    }

    fn release(&mut self, count: usize) {
        self.held.take(count);
        self.released += count;
        self.wake_driver();
    }

    fn fail_with_timeout(&mut self) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.failed = Some(BodyError::Timeout);
        self.drop_held();
        Poll::Ready(Some(Err(BodyError::Timeout)))
    }

    fn drop_held(&mut self) {
        self.pieces.clear();
        self.tail = BytesMut::new();
        let held = self.held.get() as usize;
        if held > 0 {
            self.release(held);
        }
    }

    /// Requests `100 Continue` from the driver, once, if the client expects it (RFC 9110 section 10.1.1).
    fn request_continue(&mut self) {
        if std::mem::take(&mut self.expects_continue) && !self.is_complete {
            self.wants_continue = true;
            self.wake_driver();
        }
    }

    fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(feed: &BodyFeed) -> Poll<Option<Result<Bytes, BodyError>>> {
        feed.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn pushed_pieces_are_read_in_order_and_counted_as_released() {
        let feed = BodyFeed::new(None, false);
        let body = feed.reader();
        assert!(!feed.take_reading());
        assert!(poll(&body).is_pending());
        assert!(feed.take_reading() && !feed.take_reading());
        let long = vec![b'x'; SHORT];
        for piece in [&b"a"[..], b"b", &long, b"c"] {
            feed.push(piece);
        }
        assert_eq!((body.length(), body.is_whole()), (None, false));
        feed.end();
        assert_eq!((body.length(), body.is_whole()), (Some(SHORT as u64 + 3), true));
        for expected in [&b"ab"[..], &long, b"c"] {
            assert_eq!(poll(&body), Poll::Ready(Some(Ok(Bytes::copy_from_slice(expected)))));
            assert_eq!(feed.take_released(), expected.len());
        }
        assert_eq!(poll(&body), Poll::Ready(None));
        assert_eq!(feed.received(), SHORT as u64 + 3);
    }

    #[test]
    fn an_announced_length_is_known_before_the_body_has_come() {
        let feed = BodyFeed::new(Some(5), false);
        assert_eq!(feed.length(), Some(5));
        feed.push(b"abc");
        assert_eq!(feed.length(), Some(5));
        assert!(poll(&feed).is_ready());
        assert_eq!(feed.length(), Some(2));
    }

    #[test]
    fn what_is_too_large_or_broken_off_is_dropped_and_stays_an_error() {
        let feed = BodyFeed::new(None, false);
        feed.configure(3, ClientTimeLimits::default());
        feed.push(b"abcd");
        for _ in 0..2 {
            assert_eq!(poll(&feed), Poll::Ready(Some(Err(BodyError::TooLarge))));
        }
        assert_eq!(feed.take_released(), 4);
        let feed = BodyFeed::new(None, false);
        feed.push(b"ab");
        feed.fail(BodyError::Aborted);
        assert_eq!(feed.discard(), Err(BodyError::Aborted));
        assert_eq!(poll(&feed), Poll::Ready(Some(Err(BodyError::Aborted))));
        assert_eq!(feed.take_released(), 2);
    }

    #[test]
    fn a_body_that_has_come_whole_does_not_fail_any_more_once_it_was_read() {
        let feed = BodyFeed::new(None, false);
        feed.push(b"ab");
        feed.end();
        assert!(poll(&feed).is_ready());
        feed.fail(BodyError::Aborted);
        assert_eq!(poll(&feed), Poll::Ready(None));
    }

    #[test]
    fn continue_is_sent_once_and_only_when_body_is_read() {
        let feed = BodyFeed::new(Some(2), true);
        assert!(!feed.take_continue());
        assert!(poll(&feed).is_pending());
        assert!(feed.take_continue());
        assert!(poll(&feed).is_pending());
        assert!(!feed.take_continue());
    }

    #[test]
    fn driver_knows_whether_anybody_reads() {
        let feed = BodyFeed::new(None, false);
        let body = feed.reader();
        assert!(feed.is_wanted());
        drop(body);
        assert!(!feed.is_wanted());
    }
}
