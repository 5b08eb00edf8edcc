//! Include of a page: subrequest, its response, and the use of the response.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_conf::settings::Settings;
use myriad_http::body::{BodyError, BoxBody};
use myriad_script::ssi::IncludeUse;

use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_exchange::subrequest::SubrequestFuture;

/// Maximum number of bytes of an include's response that are read while previous parts of the page are sent.
const AHEAD: usize = 64 << 10;

/// State of an include.
///
/// ```text
/// Asking --response--> Body --complete--> Over
/// ```
enum IncludeState {
    /// The subrequest is in progress.
    Asking(SubrequestFuture),
    /// The response is being read.
    Body(BoxBody),
    /// The response is complete, or failed.
    Over,
}

/// Include in progress.
pub(super) struct IncludeInProgress {
    /// Set if the page must not be read further before the include is complete.
    pub(super) wait: bool,
    state: IncludeState,
    then: IncludeUse,
    /// Exchange of the subrequest, in which its stub block is processed; `None` before the response, and for an
    /// include without a stub block.
    subrequest: Option<Box<Exchange>>,
    /// Data that was read while previous parts of the page were sent.
    read_ahead: VecDeque<Bytes>,
    ahead_bytes: usize,
    failed: Option<BodyError>,
    /// Set once a piece of the response body was returned to the page; never set for the parameter `set`.
    has_output: bool,
    /// Value collected for the parameter `set`.
    value: Vec<u8>,
    /// Maximum length of `value`, in bytes (`subrequest_output_buffer_size`).
    max_value: u64,
    /// True if the status of the response is below 300; only then is the response assigned to the variable of the
    /// parameter `set`.
    is_success: bool,
}

/// Result of a complete include, which the page must apply.
pub(super) enum IncludeResult {
    /// No further action: the response, if any, has already been sent as part of the page.
    Nothing,
    /// The response was empty: the text of the stub block is to be sent, processed in the exchange of the subrequest.
    Stub(Box<Exchange>, Bytes),
    /// Name and value of a variable to set.
    Set(Vec<u8>, Vec<u8>),
    /// Name of a variable that is not changed, or set to an empty text if it does not exist, because the status of the
    /// response was 300 or above.
    Declare(Vec<u8>),
}

impl IncludeInProgress {
    pub(super) fn new(asked: SubrequestFuture, wait: bool, then: IncludeUse) -> Self {
        Self {
            wait,
            state: IncludeState::Asking(asked),
            then,
            subrequest: None,
            read_ahead: VecDeque::new(),
            ahead_bytes: 0,
            failed: None,
            has_output: false,
            value: Vec::new(),
            max_value: 0,
            is_success: false,
        }
    }

    /// Creates an include whose body is already available; `wait` is the parameter `wait` of the command.
    pub(super) fn of_body(body: BoxBody, wait: bool) -> Self {
        let mut include = Self::new(Box::pin(std::future::pending()), wait, IncludeUse::Show);
        include.state = IncludeState::Body(body);
        include
    }

    /// Reads ahead while previous parts of the page are sent, up to the limit.
    pub(super) fn prepare(&mut self, cx: &mut Context<'_>) {
        while self.failed.is_none() && self.ahead_bytes < AHEAD {
            match self.poll_more(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    self.ahead_bytes += piece.len();
                    self.read_ahead.push_back(piece);
                }
                Poll::Ready(Some(Err(error))) => self.failed = Some(error),
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }

    /// Returns the next piece of the response; `None` when it is complete.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(piece) = self.read_ahead.pop_front() {
            self.ahead_bytes -= piece.len();
            return Poll::Ready(Some(Ok(piece)));
        }
        if let Some(error) = self.failed.take() {
            self.state = IncludeState::Over;
            return Poll::Ready(Some(Err(error)));
        }
        self.poll_more(cx)
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match &mut self.state {
                IncludeState::Asking(asked) => {
                    let mut answer = ready!(asked.as_mut().poll(cx));
                    self.state = IncludeState::Over;
                    if answer.response.dropped {
                        return Poll::Ready(Some(Err(BodyError::Aborted)));
                    }
                    self.is_success = answer.response.status < 300;
                    self.max_value = output_buffer_size(&answer.exchange().request);
                    if matches!(self.then, IncludeUse::Stub(_)) {
                        self.subrequest = Some(answer.exchange().body_companion());
                    }
                    self.state = IncludeState::Body(answer.into_body());
                }
                IncludeState::Body(body) => match ready!(body.as_mut().poll_data(cx)) {
                    Some(Ok(piece)) if matches!(self.then, IncludeUse::Set(_)) => {
                        if (self.value.len() + piece.len()) as u64 > self.max_value {
                            self.state = IncludeState::Over;
                            let reason = "a response is longer than subrequest_output_buffer_size".to_owned();
                            return Poll::Ready(Some(Err(BodyError::Io(reason))));
                        }
                        self.value.extend_from_slice(&piece);
                    }
                    Some(Ok(piece)) => {
                        self.has_output = true;
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    end => {
                        self.state = IncludeState::Over;
                        return Poll::Ready(end);
                    }
                },
                IncludeState::Over => return Poll::Ready(None),
            }
        }
    }

    /// Returns the result of the include. Must be called after the last piece of the response.
    pub(super) fn into_result(self) -> IncludeResult {
        match (self.then, self.subrequest) {
            (IncludeUse::Stub(text), Some(asked)) if !self.has_output => IncludeResult::Stub(asked, text),
            (IncludeUse::Set(name), _) if self.is_success => IncludeResult::Set(name, self.value),
            (IncludeUse::Set(name), _) => IncludeResult::Declare(name),
            (IncludeUse::Stub(_) | IncludeUse::Show, _) => IncludeResult::Nothing,
        }
    }
}

/// Value of `subrequest_output_buffer_size` of a location, in bytes.
struct OutputBufferSize(u64);

/// Stores `subrequest_output_buffer_size` of a configuration level in `features`: the maximum number of response bytes
/// that an include assigns to a variable.
pub fn store_output_buffer_size(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    features.insert(OutputBufferSize(settings.content.subrequest_output_buffer_size));
}

fn output_buffer_size(request: &Request) -> u64 {
    request.place().features.get::<OutputBufferSize>().map_or(0, |most| most.0)
}
