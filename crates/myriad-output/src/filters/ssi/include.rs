//! Included response of a page.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_conf::settings::Settings;
use myriad_http::body::{BodyError, BoxBody};
use myriad_script::ssi::Then;

use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_exchange::subrequest::Asked;

/// Maximum number of bytes of a response that are read before its turn.
const AHEAD: usize = 64 << 10;

/// ```text
/// Asking --response--> Body --complete--> Over
/// ```
enum State {
    Asking(Asked),
    Body(BoxBody),
    Over,
}

/// Include in progress.
pub(super) struct Include {
    /// Set if the page is not read further before this is complete.
    pub(super) wait: bool,
    state: State,
    then: Then,
    /// Exchange of the subrequest, for its stub.
    asked: Option<Box<Exchange>>,
    /// Data read before its turn.
    ahead: VecDeque<Bytes>,
    ahead_bytes: usize,
    failed: Option<BodyError>,
    /// Set if some output was written.
    shown: bool,
    /// Value collected for `set`, and its maximum length (`subrequest_output_buffer_size`).
    value: Vec<u8>,
    most: u64,
    /// Set if the response is not an error, so that `set` uses it.
    good: bool,
}

/// Result of a completed include.
pub(super) enum Left {
    /// No result.
    Nothing,
    /// Text of the stub block, which is processed as a page of the subrequest.
    Stub(Box<Exchange>, Bytes),
    /// Variable to set.
    Set(Vec<u8>, Vec<u8>),
    /// Variable that retains its value because the response was an error.
    Declare(Vec<u8>),
}

impl Include {
    pub(super) fn new(asked: Asked, wait: bool, then: Then) -> Self {
        Self {
            wait,
            state: State::Asking(asked),
            then,
            asked: None,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            failed: None,
            shown: false,
            value: Vec::new(),
            most: 0,
            good: false,
        }
    }

    /// Creates an include with an available body.
    pub(super) fn of_body(body: BoxBody, wait: bool) -> Self {
        let mut include = Self::new(Box::pin(std::future::pending()), wait, Then::Show);
        include.state = State::Body(body);
        include
    }

    /// Reads ahead before its turn, up to the limit.
    pub(super) fn prepare(&mut self, cx: &mut Context<'_>) {
        while self.failed.is_none() && self.ahead_bytes < AHEAD {
            match self.poll_more(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    self.ahead_bytes += piece.len();
                    self.ahead.push_back(piece);
                }
                Poll::Ready(Some(Err(error))) => self.failed = Some(error),
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }

    /// Returns the next piece of output; `None` when complete.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.ahead.pop_front() {
            self.ahead_bytes -= piece.len();
            return Poll::Ready(Some(Ok(piece)));
        }
        if let Some(error) = self.failed.take() {
            self.state = State::Over;
            return Poll::Ready(Some(Err(error)));
        }
        self.poll_more(cx)
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match &mut self.state {
                State::Asking(asked) => {
                    let mut answer = ready!(asked.as_mut().poll(cx));
                    self.state = State::Over;
                    if answer.answer.dropped {
                        return Poll::Ready(Some(Err(BodyError::Aborted)));
                    }
                    self.good = answer.answer.status < 300;
                    self.most = most(&answer.exchange().request);
                    if matches!(self.then, Then::Stub(_)) {
                        self.asked = Some(answer.exchange().companion());
                    }
                    self.state = State::Body(answer.into_body());
                }
                State::Body(body) => match ready!(body.as_mut().poll_data(cx)) {
                    Some(Ok(piece)) if matches!(self.then, Then::Set(_)) => {
                        if (self.value.len() + piece.len()) as u64 > self.most {
                            self.state = State::Over;
                            let reason = "a response is longer than subrequest_output_buffer_size".to_owned();
                            return Poll::Ready(Some(Err(BodyError::Io(reason))));
                        }
                        self.value.extend_from_slice(&piece);
                    }
                    Some(Ok(piece)) => {
                        self.shown = true;
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    end => {
                        self.state = State::Over;
                        return Poll::Ready(end);
                    }
                },
                State::Over => return Poll::Ready(None),
            }
        }
    }

    /// Returns the result after the last piece.
    pub(super) fn leave(self) -> Left {
        match (self.then, self.asked) {
            (Then::Stub(text), Some(asked)) if !self.shown => Left::Stub(asked, text),
            (Then::Set(name), _) if self.good => Left::Set(name, self.value),
            (Then::Set(name), _) => Left::Declare(name),
            (Then::Stub(_) | Then::Show, _) => Left::Nothing,
        }
    }
}

/// `subrequest_output_buffer_size` of a place, in bytes.
struct Most(u64);

/// Stores the maximum number of response bytes that become a variable, for included places.
pub fn keep_most(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    features.keep(Most(settings.content.subrequest_output_buffer_size));
}

fn most(request: &Request) -> u64 {
    request.place().features.get::<Most>().map_or(0, |most| most.0)
}
