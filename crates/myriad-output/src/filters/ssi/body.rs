//! Body of a page: text and included responses in their order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use myriad_http::body::{Body, BodyError, BoxBody, Full};
use myriad_log::Level;
use myriad_script::ssi::{Page, Rules, Shared, Then};

use super::include::{Include, Left};
use super::rules::Ssi;
use super::surroundings::Around;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest;

/// Maximum number of parts waiting for their turn; at this limit the page is not read further.
const PARTS: usize = 32;
/// Maximum number of text bytes in these parts.
const TEXT: usize = 256 << 10;

/// Part of the page that waits for its turn.
enum Part {
    Text(Bytes),
    Include(Box<Include>),
}

/// Page whose commands are executed while it is read.
pub(super) struct SsiBody {
    /// Source body of the page.
    body: BoxBody,
    /// Data read and not yet parsed.
    input: Bytes,
    ended: bool,
    /// Error that aborted the page.
    failed: Option<BodyError>,
    page: Page,
    shared: Rc<RefCell<Shared>>,
    exchange: Box<Exchange>,
    parts: VecDeque<Part>,
    text_bytes: usize,
}

impl SsiBody {
    /// Creates the body. `exchange` is a copy for this page with the lifetime of the body.
    pub(super) fn new(exchange: Box<Exchange>, rules: Rules, body: BoxBody) -> Self {
        let shared = exchange.request.shared_by_pages();
        Self {
            body,
            input: Bytes::new(),
            ended: false,
            failed: None,
            page: Page::new(rules, Rc::clone(&shared)),
            shared,
            exchange,
            parts: VecDeque::new(),
            text_bytes: 0,
        }
    }

    /// Returns whether more of the page may be parsed.
    fn may_read(&self) -> bool {
        let waits = matches!(self.parts.back(), Some(Part::Include(include)) if include.wait);
        !self.ended && !waits && self.parts.len() < PARTS && self.text_bytes < TEXT
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
                        self.ended = true;
                        self.failed = Some(error);
                    }
                    Poll::Ready(None) => {
                        self.ended = true;
                        self.page.finish(&mut Around(&mut self.exchange), &mut text);
                    }
                }
            }
            let mut rest = &self.input[..];
            let include = self.page.push(&mut rest, &mut Around(&mut self.exchange), &mut text);
            let looked_at = self.input.len() - rest.len();
            self.input.advance(looked_at);
            let started = include.map(|include| self.start(include, &mut text));
            if !text.is_empty() {
                self.text_bytes += text.len();
                self.parts.push_back(Part::Text(Bytes::from(text)));
            }
            self.parts.extend(started.flatten().map(Part::Include));
        }
    }

    /// Starts the subrequest of an include; if it cannot be started, the error message is written instead.
    fn start(&mut self, include: myriad_script::ssi::Include, text: &mut Vec<u8>) -> Option<Box<Include>> {
        let Some((path, args)) = subrequest::target(&include.uri) else {
            let uri = String::from_utf8_lossy(&include.uri).into_owned();
            self.exchange.request.log(Level::Error, format_args!("unsafe URI \"{uri}\" was detected"));
            self.page.failed(text);
            return None;
        };
        let Ok(mut child) = subrequest::begin(&mut self.exchange, &path, args) else {
            self.page.failed(text);
            return None;
        };
        if matches!(include.then, Then::Stub(_)) {
            child.request.leave_errors_empty();
        }
        Some(Box::new(Include::new(subrequest::ask(child), include.wait, include.then)))
    }

    /// Completes an include and applies its result.
    fn finish(&mut self, include: Include) {
        let wait = include.wait;
        match include.leave() {
            Left::Nothing => {}
            Left::Set(name, value) => {
                if !self.shared.borrow_mut().set(&name, &value) {
                    self.exchange.request.log(
                        Level::Error,
                        format_args!(
                            "no space for an SSI variable: the page sets too many variables, or too long ones"
                        ),
                    );
                }
            }
            Left::Declare(name) => self.shared.borrow_mut().declare(&name),
            Left::Stub(asked, text) => {
                let body = stub(asked, text);
                self.parts.push_front(Part::Include(Box::new(Include::of_body(body, wait))));
            }
        }
    }
}

/// Returns the text of a stub block; it is processed as a page if the included place has SSI.
fn stub(asked: Box<Exchange>, text: Bytes) -> BoxBody {
    let text = Box::pin(Full::new(text));
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
                if let Part::Include(include) = part {
                    include.prepare(cx);
                }
            }
            let polled = match this.parts.front_mut() {
                None if this.ended => return Poll::Ready(this.failed.take().map(Err)),
                None => return Poll::Pending,
                Some(Part::Text(_)) => None,
                Some(Part::Include(include)) => match include.poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(polled) => polled,
                },
            };
            if let Some(Err(error)) = &polled {
                this.exchange
                    .request
                    .log(Level::Error, format_args!("an SSI include is incomplete: {error}"));
            }
            if polled.is_some() {
                return Poll::Ready(polled);
            }
            match this.parts.pop_front() {
                Some(Part::Text(text)) => {
                    this.text_bytes -= text.len();
                    if !text.is_empty() {
                        return Poll::Ready(Some(Ok(text)));
                    }
                }
                Some(Part::Include(include)) => this.finish(*include),
                None => {}
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
