//! A page whose holes are filled on its way.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_esi::{Cut, Hole};
use myriad_exchange::exchange::{Answer, Exchange, MadeFrom, pulled};
use myriad_http::Method;
use myriad_http::body::{Body, BodyError, BoxBody, Empty};
use myriad_net::ResponseBody;

use super::asking::{self, For, Tasks};
use super::cutting::{cut_of, is_filled};
use super::rules;
use super::slots::Slots;

/// Fills the answer of a stored page whose holes are filled for everybody; any other stays as it is.
pub(crate) fn fill_for_everybody(exchange: &mut Exchange, answer: &mut Answer) {
    let MadeFrom::Page(page) = &answer.made_from else { return };
    if is_filled(page.meta().cut())
        && let Some(cut) = cut_of(page)
    {
        fill(exchange, answer, &cut, For { visitor: None, keeps_cookies: false });
    }
}

/// Makes of an answer in identity, which was cut, one that is filled on its way.
pub(super) fn fill(exchange: &mut Exchange, answer: &mut Answer, cut: &Cut, whose: For) {
    let no_transform = match &answer.made_from {
        MadeFrom::Page(page) => page.meta().no_transform,
        MadeFrom::Plain | MadeFrom::File(_) => !answer.compressible,
    };
    answer.detach(true);
    answer.without(&[b"etag", b"last-modified", b"accept-ranges"]);
    if whose.keeps_cookies {
        make_private(answer);
    }
    // Nobody has seen these bytes before.
    answer.judged = true;
    answer.length = None;
    answer.ranges = false;
    answer.varies_by_encoding = false;
    answer.compressible = !no_transform;
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let body = if exchange.request.received.head.method() == Method::Head {
        Box::pin(Empty) as BoxBody
    } else {
        filled(exchange.companion(), pulled(body), cut, whose)
    };
    answer.body = ResponseBody::Stream(body, None);
}

/// Says that the answer is one visitor's.
pub(super) fn make_private(answer: &mut Answer) {
    answer.without(&[b"cache-control", b"expires", b"pragma", b"age", b"no-vary-search"]);
    answer.age_s = None;
    answer.personal = true;
    answer.field(b"Cache-Control", b"private, no-store");
}

/// A body that is filled; where `esi` is off by now, it goes as it is.
pub(super) fn filled(exchange: Box<Exchange>, body: BoxBody, cut: &Cut, whose: For) -> BoxBody {
    let Some(rules) = rules::of(&exchange.request).cloned() else { return body };
    let slots = Rc::new(Slots::new(cut.holes.len()));
    let tasks = asking::begin(exchange, whose, &rules, cut, &slots);
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

/// ```text
/// text up to a hole -> what stands there is set aside -> the part, or what stood there -> text ...
/// ```
struct FilledBody {
    /// The page in identity.
    body: BoxBody,
    /// What was read of it and not yet given.
    input: Bytes,
    /// Where `input` begins in the page.
    at: u64,
    /// The holes that are still to come.
    holes: VecDeque<Hole>,
    /// The number of the first of them.
    next: usize,
    /// What stands in the hole where the page is, as far as it was read.
    inside: Option<Vec<Bytes>>,
    /// What is given before more of the page.
    given: VecDeque<Bytes>,
    slots: Rc<Slots>,
    _tasks: Tasks,
}

impl FilledBody {
    /// Reads until there is input; false at the end of the page.
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

    /// Takes so much of the input, or all of it.
    fn take(&mut self, most: u64) -> Bytes {
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(self.input.len());
        self.at += length as u64;
        self.input.split_to(length)
    }

    /// Goes on within a hole, up to what fills it.
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
                // A page that is shorter than it was when it was cut.
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
