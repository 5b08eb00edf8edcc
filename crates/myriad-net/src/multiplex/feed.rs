//! The body of a request whose stream shares its connection with others.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use myriad_http::body::BodyError;

use crate::deadline::Deadline;
use crate::memory::WaitingBytes;
use crate::patience::{AS_MOVED, Patience, Terms};

/// Shorter pieces than this are joined as they come, bytes: a body in frames of one byte would cost a hundred times its
/// length.
const SHORT: usize = 1024;

/// A body between the driver, who puts in what comes, and whoever takes it out.
///
/// It holds no more than the driver lets the client send ahead: the driver opens the stream's window by what
/// [`Feed::take_released`] says has been taken out.
pub struct Feed {
    inner: Rc<Inner>,
}

struct Inner {
    state: RefCell<State>,
    /// Largest body accepted, bytes (`client_max_body_size`), 0 for any.
    limit: Cell<u64>,
    /// `client_body_timeout` and `client_min_rate`.
    terms: Cell<Terms>,
    deadline: Deadline,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// Short pieces behind them, in one.
    tail: BytesMut,
    /// Bytes of both.
    held: WaitingBytes,
    /// Bytes put in so far.
    received: u64,
    /// Bytes that the fields announced.
    announced: Option<u64>,
    ended: bool,
    failed: Option<BodyError>,
    /// How long the client is waited for.
    patience: Patience,
    /// The client is waited for.
    waiting: bool,
    /// Taken out, and not yet told of.
    released: usize,
    /// The client waits for an interim answer before it sends the body.
    expects_continue: bool,
    /// Whether somebody wants the body of a client that waits.
    wants_continue: bool,
    /// Whether somebody has begun to read, of which the driver has not been told.
    began: bool,
    reads: bool,
    reader: Option<Waker>,
    driver: Option<Waker>,
}

impl Feed {
    /// A body of `announced` bytes, where the fields say it (`Content-Length`). `expects_continue`: the client waits for 100.
    pub fn new(announced: Option<u64>, expects_continue: bool) -> Self {
        let state = State { announced, expects_continue, ..State::default() };
        Self {
            inner: Rc::new(Inner {
                state: RefCell::new(state),
                limit: Cell::new(0),
                terms: Cell::new(Terms::default()),
                deadline: Deadline::new(),
            }),
        }
    }

    /// The other end, for whoever reads.
    pub(crate) fn reader(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }

    /// Sets who is woken when something was taken out, or the client is to be told to go on.
    pub fn set_driver(&self, driver: &Waker) {
        self.inner.state.borrow_mut().driver = Some(driver.clone());
    }

    /// Whether anybody may still read: the other end is there.
    pub fn is_wanted(&self) -> bool {
        Rc::strong_count(&self.inner) > 1
    }

    /// Puts a piece in.
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

    /// The body is complete.
    pub fn end(&self) {
        let mut state = self.inner.state.borrow_mut();
        state.ended = true;
        wake_reader(state);
    }

    /// The body will never be complete; what was put in and not taken out is dropped.
    pub fn fail(&self, error: BodyError) {
        let mut state = self.inner.state.borrow_mut();
        if !state.ended || state.held.get() > 0 {
            state.failed.get_or_insert(error);
            state.drop_held();
        }
        wake_reader(state);
    }

    /// Bytes taken out since this was last asked.
    pub fn take_released(&self) -> usize {
        std::mem::take(&mut self.inner.state.borrow_mut().released)
    }

    /// Whether the client is to be told to go on; true once.
    pub fn take_continue(&self) -> bool {
        std::mem::take(&mut self.inner.state.borrow_mut().wants_continue)
    }

    /// Whether somebody has begun to read; true once.
    pub fn take_reading(&self) -> bool {
        std::mem::take(&mut self.inner.state.borrow_mut().began)
    }

    /// Whether somebody waits for the client to send more.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.inner.state.borrow();
        state.waiting && state.held.get() == 0 && !state.ended
    }

    /// Whether the client took too long.
    pub fn has_timed_out(&self) -> bool {
        self.inner.state.borrow().failed == Some(BodyError::Timeout)
    }

    /// Whether the request has no body after all, as far as that is known.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.inner.state.borrow();
        state.announced == Some(0) || state.ended && state.received == 0
    }

    /// Bytes put in so far.
    pub fn received(&self) -> u64 {
        self.inner.state.borrow().received
    }

    /// Bytes still to be taken out, where that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        let state = self.inner.state.borrow();
        if state.ended {
            return Some(state.held.get());
        }
        let to_come = state.announced.map(|announced| announced.saturating_sub(state.received));
        to_come.map(|to_come| to_come + state.held.get())
    }

    pub(crate) fn configure(&self, limit: u64, terms: Terms) {
        self.inner.limit.set(limit);
        self.inner.terms.set(terms);
    }

    /// Whether all of it has come.
    pub(crate) fn is_whole(&self) -> bool {
        let state = self.inner.state.borrow();
        state.ended && state.failed.is_none()
    }

    pub(crate) fn send_continue(&self) {
        self.inner.state.borrow_mut().ask_to_go_on();
    }

    /// Drops what has come.
    pub(crate) fn discard(&self) -> Result<(), BodyError> {
        let mut state = self.inner.state.borrow_mut();
        state.drop_held();
        state.failed.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Inner { state, limit, terms, deadline } = &*self.inner;
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
            // An origin that is slow to take the body must not count against the client.
            state.waiting = false;
            let piece = state.pieces.pop_front().unwrap_or_else(|| state.tail.split().freeze());
            if state.patience.moved(piece.len() as u64, deadline, terms.get().rate, AS_MOVED) {
                return state.time_out();
            }
            state.release(piece.len());
            return Poll::Ready(Some(Ok(piece)));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.ask_to_go_on();
        if !std::mem::replace(&mut state.reads, true) {
            state.began = true;
            state.wake_driver();
        }
        state.reader = Some(cx.waker().clone());
        state.waiting = true;
        if state.patience.poll(deadline, terms.get(), AS_MOVED, cx).is_pending() {
            return Poll::Pending;
        }
        state.time_out()
    }
}

/// The borrow ends first: whoever is woken may look at once.
fn wake_reader(mut state: std::cell::RefMut<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    if let Some(reader) = reader {
        reader.wake();
    }
}

impl State {
    fn hold(&mut self, more: usize) {
        self.held.add(more);
    }

    fn release(&mut self, count: usize) {
        self.held.take(count);
        self.released += count;
        self.wake_driver();
    }

    fn time_out(&mut self) -> Poll<Option<Result<Bytes, BodyError>>> {
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

    /// RFC 9110 section 10.1.1: asked only once somebody wants the body.
    fn ask_to_go_on(&mut self) {
        if std::mem::take(&mut self.expects_continue) && !self.ended {
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

    fn poll(feed: &Feed) -> Poll<Option<Result<Bytes, BodyError>>> {
        feed.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn what_is_put_in_comes_out_in_order_and_is_told_of() {
        let feed = Feed::new(None, false);
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
        let feed = Feed::new(Some(5), false);
        assert_eq!(feed.length(), Some(5));
        feed.push(b"abc");
        assert_eq!(feed.length(), Some(5));
        assert!(poll(&feed).is_ready());
        assert_eq!(feed.length(), Some(2));
    }

    #[test]
    fn what_is_too_large_or_broken_off_is_dropped_and_stays_an_error() {
        let feed = Feed::new(None, false);
        feed.configure(3, Terms::default());
        feed.push(b"abcd");
        for _ in 0..2 {
            assert_eq!(poll(&feed), Poll::Ready(Some(Err(BodyError::TooLarge))));
        }
        assert_eq!(feed.take_released(), 4);
        let feed = Feed::new(None, false);
        feed.push(b"ab");
        feed.fail(BodyError::Aborted);
        assert_eq!(feed.discard(), Err(BodyError::Aborted));
        assert_eq!(poll(&feed), Poll::Ready(Some(Err(BodyError::Aborted))));
        assert_eq!(feed.take_released(), 2);
    }

    #[test]
    fn a_body_that_has_come_whole_does_not_fail_any_more_once_it_was_read() {
        let feed = Feed::new(None, false);
        feed.push(b"ab");
        feed.end();
        assert!(poll(&feed).is_ready());
        feed.fail(BodyError::Aborted);
        assert_eq!(poll(&feed), Poll::Ready(None));
    }

    #[test]
    fn client_that_waits_is_told_to_go_on_once_and_only_when_somebody_reads() {
        let feed = Feed::new(Some(2), true);
        assert!(!feed.take_continue());
        assert!(poll(&feed).is_pending());
        assert!(feed.take_continue());
        assert!(poll(&feed).is_pending());
        assert!(!feed.take_continue());
    }

    #[test]
    fn driver_knows_whether_anybody_reads() {
        let feed = Feed::new(None, false);
        let body = feed.reader();
        assert!(feed.is_wanted());
        drop(body);
        assert!(!feed.is_wanted());
    }
}
