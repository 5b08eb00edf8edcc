//! Body of a page: text and included responses in their order.

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

/// Maximum number of parts waiting for their turn; at this limit the page is not read further.
const PARTS: usize = 32;
/// Maximum number of text bytes in these parts.
const TEXT: usize = 256 << 10;

/// Part of the page that waits for its turn.
enum PendingPart {
    Text(Bytes),
    Include(Box<IncludeInProgress>),
}

/// Page whose commands are executed while it is read.
pub(super) struct SsiBody {
    /// Source body of the page.
    body: BoxBody,
    /// Data read and not yet parsed.
    input: Bytes,
    is_complete: bool,
    /// Error that aborted the page.
    failed: Option<BodyError>,
    page: SsiPage,
    shared: Rc<RefCell<SsiState>>,
    exchange: Box<Exchange>,
    parts: VecDeque<PendingPart>,
    text_bytes: usize,
}

impl SsiBody {
    /// Creates the body. `exchange` is a copy for this page with the lifetime of the body.
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

    /// Returns whether more of the page may be parsed.
    fn may_read(&self) -> bool {
        let waits = matches!(self.parts.back(), Some(PendingPart::Include(include)) if include.wait);
        !self.is_complete && !waits && self.parts.len() < PARTS && self.text_bytes < TEXT
    }

    /// Parses the available part of the page within the limits.
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

    /// Starts the subrequest of an include; if it cannot be started, the error message is written instead.
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

    /// Completes an include and applies its result.
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

/// Returns the text of a stub block; it is processed as a page if the included place has SSI.
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
