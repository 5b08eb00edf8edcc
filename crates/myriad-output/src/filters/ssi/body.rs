//! Body of a page with SSI: text and included responses, in order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use myriad_http::body::{Body, BodyError, BoxBody, FullBody};
use myriad_log::LogLevel;
use myriad_script::ssi::{IncludeUse, SsiPage, SsiRules, SsiState};

use super::environment::ExchangeEnvironment;
use super::include::{IncludeInProgress, IncludeResult};
use super::rules::Ssi;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest;

/// Number of parts of a page (text, includes) waiting until the previous parts are sent, at which the page is not read
/// further.
const PARTS: usize = 32;
/// Number of bytes of text in the waiting parts of a page at which the page is not read further.
const TEXT: usize = 256 << 10;

/// Part of the page that waits until the previous parts are sent.
enum PendingPart {
    Text(Bytes),
    Include(Box<IncludeInProgress>),
}

/// Body that executes the SSI commands of a page while it is read.
pub(super) struct SsiBody {
    /// Body of the page with the SSI commands.
    body: BoxBody,
    /// Bytes of the page that were read but not parsed.
    input: Bytes,
    is_complete: bool,
    /// Error of the source body, returned after the parts before it; `None` if it has not failed.
    failed: Option<BodyError>,
    page: SsiPage,
    shared: Rc<RefCell<SsiState>>,
    exchange: Box<Exchange>,
    parts: VecDeque<PendingPart>,
    text_bytes: usize,
}

impl SsiBody {
    /// Creates the body of a page from `body`, its text with commands. `exchange` is a copy of the page's exchange,
    /// which the body owns.
    pub(super) fn new(exchange: Box<Exchange>, rules: SsiRules, body: BoxBody) -> Self {
        let shared = exchange.request.shared_by_pages();
        Self {
            body,
            input: Bytes::new(),
            is_complete: false,
            failed: None,
            page: SsiPage::new(rules, Rc::clone(&shared)),
            shared,
            exchange,
            parts: VecDeque::new(),
            text_bytes: 0,
        }
    }

    /// Returns whether more of the page may be parsed: it is not complete, the limits are not reached, and the last
    /// waiting part is not an include with `wait`.
    fn may_read(&self) -> bool {
        let waits = matches!(self.parts.back(), Some(PendingPart::Include(include)) if include.wait);
        !self.is_complete && !waits && self.parts.len() < PARTS && self.text_bytes < TEXT
    }

    /// Parses the available bytes of the page, within the limits.
    fn read(&mut self, cx: &mut Context<'_>) {
        while self.may_read() {
            let mut text = Vec::new();
            if self.input.is_empty() {
                match self.body.as_mut().poll_data(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok(piece))) => self.input = piece,
                    Poll::Ready(Some(Err(error))) => {
                        self.is_complete = true;
                        self.failed = Some(error);
                    }
                    Poll::Ready(None) => {
                        self.is_complete = true;
                        self.page.finish(&mut ExchangeEnvironment(&mut self.exchange), &mut text);
                    }
                }
            }
            let mut rest = &self.input[..];
            let include = self.page.push(&mut rest, &mut ExchangeEnvironment(&mut self.exchange), &mut text);
            let looked_at = self.input.len() - rest.len();
            self.input.advance(looked_at);
            let started = include.map(|include| self.start(include, &mut text));
            if !text.is_empty() {
                self.text_bytes += text.len();
                self.parts.push_back(PendingPart::Text(Bytes::from(text)));
            }
            self.parts.extend(started.flatten().map(PendingPart::Include));
        }
    }

    /// Starts the subrequest of an include. If it cannot be started, appends the error message to `text` and returns
    /// `None`; an unsafe URI is also logged.
    fn start(
        &mut self,
        include: myriad_script::ssi::SsiInclude,
        text: &mut Vec<u8>,
    ) -> Option<Box<IncludeInProgress>> {
        let Some((path, args)) = subrequest::target(&include.uri) else {
            let uri = String::from_utf8_lossy(&include.uri).into_owned();
            self.exchange.request.log(LogLevel::Error, format_args!("unsafe URI \"{uri}\" was detected"));
            self.page.failed(text);
            return None;
        };
        let Ok(mut child) = subrequest::begin(&mut self.exchange, &path, args) else {
            self.page.failed(text);
            return None;
        };
        if matches!(include.then, IncludeUse::Stub(_)) {
            child.request.leave_errors_empty();
        }
        Some(Box::new(IncludeInProgress::new(subrequest::execute(child), include.wait, include.then)))
    }

    /// Applies the result of a complete include: sets a variable, or adds the text of a stub block to the page. Logs an
    /// error if the page sets too many variables.
    fn finish(&mut self, include: IncludeInProgress) {
        let wait = include.wait;
        match include.into_result() {
            IncludeResult::Nothing => {}
            IncludeResult::Set(name, value) => {
                if !self.shared.borrow_mut().set(&name, &value) {
                    self.exchange.request.log(
                        LogLevel::Error,
                        format_args!(
                            "no space for an SSI variable: the page sets too many variables, or too long ones"
                        ),
                    );
                }
            }
            IncludeResult::Declare(name) => self.shared.borrow_mut().declare(&name),
            IncludeResult::Stub(asked, text) => {
                let body = stub(asked, text);
                self.parts.push_front(PendingPart::Include(Box::new(IncludeInProgress::of_body(body, wait))));
            }
        }
    }
}

/// Returns the text of a stub block as a body. It is processed as a page if SSI is on in the location of the
/// subrequest.
fn stub(asked: Box<Exchange>, text: Bytes) -> BoxBody {
    let text = Box::pin(FullBody::new(text));
    let rules = asked.request.place().filters.get::<Ssi>().map(|ssi| ssi.page);
    match rules {
        Some(rules) => Box::pin(SsiBody::new(asked, rules, text)),
        None => text,
    }
}

impl Body for SsiBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        loop {
            this.read(cx);
            for part in this.parts.iter_mut().skip(1) {
                if let PendingPart::Include(include) = part {
                    include.prepare(cx);
                }
            }
            let polled = match this.parts.front_mut() {
                None if this.is_complete => return Poll::Ready(this.failed.take().map(Err)),
                None => return Poll::Pending,
                Some(PendingPart::Text(_)) => None,
                Some(PendingPart::Include(include)) => match include.poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(polled) => polled,
                },
            };
            if let Some(Err(error)) = &polled {
                this.exchange
                    .request
                    .log(LogLevel::Error, format_args!("an SSI include is incomplete: {error}"));
            }
            if polled.is_some() {
                return Poll::Ready(polled);
            }
            match this.parts.pop_front() {
                Some(PendingPart::Text(text)) => {
                    this.text_bytes -= text.len();
                    if !text.is_empty() {
                        return Poll::Ready(Some(Ok(text)));
                    }
                }
                Some(PendingPart::Include(include)) => this.finish(*include),
                None => {}
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
