//! Filling of the ESI holes (places of includes) of a page while it is sent.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, Exchange, ResponseSource, pull_body};
use myriad_http::Method;
use myriad_http::body::{Body, BodyError, BoxBody, EmptyBody};
use myriad_net::ResponseBody;
use myriad_script::esi::{Hole, PageHoles};

use super::cutting::{cut_of, is_filled};
use super::holes::Holes;
use super::part_requests::{self, PartAudience, Tasks};
use super::rules;

/// Fills the ESI holes (places of includes) of a stored page if they are filled for all clients. Other responses are
/// unchanged.
pub(crate) fn fill_for_all(exchange: &mut Exchange, answer: &mut ContentResponse) {
    let ResponseSource::Page(page) = &answer.source else { return };
    if is_filled(page.meta().cut())
        && let Some(cut) = cut_of(page)
    {
        fill(exchange, answer, &cut, PartAudience { visitor: None, sends_cookies: false });
    }
}

/// Replaces the body of a response from a page with ESI holes, without content coding, by a body that is filled while
/// it is sent. Also removes its validators, its length and the support for ranges. If the requests for parts send the
/// client's cookies, the response becomes private.
pub(super) fn fill(
    exchange: &mut Exchange,
    answer: &mut ContentResponse,
    cut: &PageHoles,
    whose: PartAudience,
) {
    let no_transform = match &answer.source {
        ResponseSource::Page(page) => page.meta().no_transform,
        ResponseSource::Plain | ResponseSource::File(_) => !answer.compressible,
    };
    answer.detach(true);
    answer.without(&[b"etag", b"last-modified", b"accept-ranges"]);
    if whose.sends_cookies {
        make_private(answer);
    }
    // The result has no validator that a conditional request could name.
    answer.conditions_evaluated = true;
    answer.length = None;
    answer.ranges = false;
    answer.varies_by_encoding = false;
    answer.compressible = !no_transform;
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let body = if exchange.request.received.head.method() == Method::Head {
        Box::pin(EmptyBody) as BoxBody
    } else {
        filled(exchange.body_companion(), pull_body(body), cut, whose)
    };
    answer.body = ResponseBody::Stream(body, None);
}

/// Marks the response as private to one client: sets `Cache-Control: private, no-store`, and removes `Expires`,
/// `Pragma`, `Age` and `No-Vary-Search`.
pub(super) fn make_private(answer: &mut ContentResponse) {
    answer.without(&[b"cache-control", b"expires", b"pragma", b"age", b"no-vary-search"]);
    answer.age_s = None;
    answer.personal = true;
    answer.field(b"Cache-Control", b"private, no-store");
}

/// Returns a body whose ESI holes are filled while it is read. If `esi` is off in the location of the request, returns
/// `body` unchanged.
pub(super) fn filled(
    exchange: Box<Exchange>,
    body: BoxBody,
    cut: &PageHoles,
    whose: PartAudience,
) -> BoxBody {
    let Some(rules) = rules::of(&exchange.request).cloned() else { return body };
    let slots = Rc::new(Holes::new(cut.holes.len()));
    let tasks = part_requests::begin(exchange, whose, &rules, cut, &slots);
    Box::pin(FilledBody {
        body,
        input: Bytes::new(),
        at: 0,
        holes: cut.holes.iter().cloned().collect(),
        next: 0,
        inside: None,
        given: VecDeque::new(),
        slots,
        _tasks: tasks,
    })
}

/// Body that is filled while it is sent.
///
/// ```text
/// text up to a hole -> its original content is set aside -> the part, or the original content -> text ...
/// ```
struct FilledBody {
    /// Body of the page with its ESI holes, without content coding.
    body: BoxBody,
    /// Data of the page that was read from `body` and not returned yet.
    input: Bytes,
    /// Offset in the page of the first byte of `input`.
    at: u64,
    /// ESI holes of the page that were not filled yet, in order.
    holes: VecDeque<Hole>,
    /// Index, among all holes of the page, of the first remaining hole.
    next: usize,
    /// Original content of the current hole, as far as it was read; `None` outside of a hole.
    inside: Option<Vec<Bytes>>,
    /// Data to return to the reader before the rest of the page.
    given: VecDeque<Bytes>,
    slots: Rc<Holes>,
    _tasks: Tasks,
}

impl FilledBody {
    /// Reads the page until `input` has data, and returns `true`; returns `false` at the end of the page.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, BodyError>> {
        while self.input.is_empty() {
            match ready!(self.body.as_mut().poll_data(cx)) {
                Some(Ok(piece)) => self.input = piece,
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(false)),
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Removes up to `most` bytes from `input` and returns them.
    fn take(&mut self, most: u64) -> Bytes {
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(self.input.len());
        self.at += length as u64;
        self.input.split_to(length)
    }

    /// Reads the original content of the current hole, then waits for its part and queues the data that fills the hole.
    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        let Some(hole) = self.holes.front() else { return Poll::Ready(Ok(())) };
        let (end, nothing) = (hole.at + u64::from(hole.inline), hole.include.on_error_nothing);
        while self.at < end {
            match ready!(self.read(cx)) {
                Ok(true) => {}
                Ok(false) => return Poll::Ready(Err(BodyError::Aborted)),
                Err(error) => return Poll::Ready(Err(error)),
            }
            let piece = self.take(end - self.at);
            self.inside.get_or_insert_default().push(piece);
        }
        let part = ready!(self.slots.poll(self.next, cx));
        let inside = self.inside.take().unwrap_or_default();
        match part {
            Some(part) => self.given.push_back(part),
            None if nothing => {}
            None => self.given.extend(inside),
        }
        self.holes.pop_front();
        self.next += 1;
        Poll::Ready(Ok(()))
    }
}

impl Body for FilledBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        loop {
            while let Some(piece) = this.given.pop_front() {
                if !piece.is_empty() {
                    return Poll::Ready(Some(Ok(piece)));
                }
            }
            let left = this.holes.front().map_or(u64::MAX, |hole| hole.at.saturating_sub(this.at));
            if left == 0 || this.inside.is_some() {
                match ready!(this.fill(cx)) {
                    Ok(()) => continue,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
            match ready!(this.read(cx)) {
                Ok(true) => return Poll::Ready(Some(Ok(this.take(left)))),
                // The page is shorter than its data about holes says.
                Ok(false) if !this.holes.is_empty() => return Poll::Ready(Some(Err(BodyError::Aborted))),
                Ok(false) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
