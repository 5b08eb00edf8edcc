//! ESI markup in responses that are not stored: it is processed while they are sent to a client.
//!
//! A response marked `known` was made for this visitor and already contains the visitor's parts, so only the markup is
//! removed. The holes of any other response are filled once it is complete.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_encode::StreamDecoder;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, pull_body};
use myriad_exchange::runtime::OriginPlace;
use myriad_http::body::{Body, BodyError, BoxBody, EmptyBody, FullBody};
use myriad_http::{Known, Method};
use myriad_log::LogLevel;
use myriad_net::ResponseBody;
use myriad_script::esi::{EsiDeclaration, PageHoles};
use myriad_upstream::OriginResponse;

use super::cutting::{Cutting, declared_markup};
use super::filled_page::{filled, make_private};
use super::part_requests::PartAudience;
use crate::page;

/// Maximum length in bytes of an unstored page whose ESI includes are filled. A longer page is sent with the original
/// content at their places.
const MAX_FILLED: usize = 2 << 20;

/// Forwards an origin's response like [`myriad_origin::respond::respond`], and processes its ESI markup.
pub(crate) fn respond(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    response: Box<OriginResponse>,
) -> PhaseStep {
    let declaration = declared_markup(&exchange.request, &response.head);
    let coding = page::origin_coding(&response.head);
    match myriad_origin::respond::respond(exchange, origin, response) {
        PhaseStep::Answer(mut answer) => {
            if let Some(said) = declaration {
                let decoder = coding.and_then(page::decoder);
                cut_markup(exchange, &mut answer, &said, decoder);
            }
            PhaseStep::Answer(answer)
        }
        step => step,
    }
}

fn cut_markup(
    exchange: &mut Exchange,
    answer: &mut ContentResponse,
    declaration: &EsiDeclaration,
    decoder: Option<StreamDecoder>,
) {
    if matches!(answer.status, 204 | 304) || answer.status < 200 {
        return;
    }
    answer.without(&[b"accept-ranges", b"content-encoding"]);
    answer.weaken_tag();
    answer.length = None;
    answer.ranges = false;
    answer.compressible = true;
    let fills = !declaration.for_known_visitors;
    if fills {
        answer.without(&[b"etag", b"last-modified"]);
    }
    if fills && exchange.request.received.head.fields().has(Known::Cookie) {
        make_private(answer);
    }
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let body: BoxBody = if exchange.request.received.head.method() == Method::Head {
        Box::pin(EmptyBody)
    } else {
        let cutting = Cutting::of(&exchange.request, declaration.clone());
        let exchange = Some(exchange.body_companion());
        let whole = fills.then(Vec::new);
        Box::pin(PassedBody {
            body: pull_body(body),
            decoder,
            piece: Bytes::new(),
            cutting: Some(cutting),
            whole,
            then: None,
            exchange,
        })
    };
    answer.body = ResponseBody::Stream(body, None);
}

/// Body of an unstored response whose ESI markup is processed while it is sent.
struct PassedBody {
    /// Body as received from the origin, not decoded.
    body: BoxBody,
    decoder: Option<StreamDecoder>,
    piece: Bytes,
    /// Cutter of the page's ESI markup; `None` once the whole body was read.
    cutting: Option<Cutting>,
    /// Text received so far, for a page whose includes are filled; `None` if only the markup is removed.
    whole: Option<Vec<u8>>,
    /// Body that fills the includes, once the page is received completely.
    then: Option<BoxBody>,
    /// Copy of the exchange, for log messages and for the body that fills the page; `None` once the whole body was
    /// read.
    exchange: Option<Box<Exchange>>,
}

impl PassedBody {
    /// Returns the next text of the page without its markup; `None` at the end.
    fn poll_text(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(cutting) = &mut self.cutting else { return Poll::Ready(None) };
            if self.piece.is_empty() {
                match ready!(self.body.as_mut().poll_data(cx)) {
                    Some(Ok(piece)) => self.piece = piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => return Poll::Ready(self.finish().map(Ok)),
                }
            }
            let Ok((window, _)) = page::decoded(self.decoder.as_mut(), &mut self.piece) else {
                return Poll::Ready(Some(Err(BodyError::Aborted)));
            };
            let text = cutting.push(&window);
            if !text.is_empty() {
                return Poll::Ready(Some(Ok(text)));
            }
        }
    }

    /// Finishes the page. For a page that is filled, creates the body that fills it and returns `None`. Otherwise
    /// returns the last text; `None` if it is empty.
    fn finish(&mut self) -> Option<Bytes> {
        let (cutting, mut exchange) = (self.cutting.take()?, self.exchange.take()?);
        let (text, cut) = cutting.finish(&exchange.request);
        if let Some(mut whole) = self.whole.take() {
            whole.extend_from_slice(&text);
            let sends_cookies = exchange.request.received.head.fields().has(Known::Cookie);
            let whose = PartAudience { visitor: None, sends_cookies };
            let fills = !cut.for_known_visitors;
            let cut = if fills { cut } else { PageHoles::default() };
            self.then = Some(filled(
                exchange.body_companion(),
                Box::pin(FullBody::new(Bytes::from(whole))),
                &cut,
                whose,
            ));
            return None;
        }
        (!text.is_empty()).then_some(text)
    }

    /// Collects a page whose includes are filled. If it becomes longer than [`MAX_FILLED`], an error is logged and the
    /// page is sent unfilled, starting with the collected text. Returns the text of any other page as it arrives.
    fn poll_whole(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match ready!(self.poll_text(cx)) {
                Some(Ok(text)) => {
                    let Some(whole) = &mut self.whole else { return Poll::Ready(Some(Ok(text))) };
                    whole.extend_from_slice(&text);
                    if whole.len() > MAX_FILLED {
                        if let Some(exchange) = &self.exchange {
                            exchange.request.log(
                                LogLevel::Error,
                                format_args!(
                                    "the page is sent without ESI fragments: it is not stored and has more than \
                                     {MAX_FILLED} bytes; let the origin permit storing it, or send a shorter page"
                                ),
                            );
                        }
                        return Poll::Ready(self.whole.take().map(|whole| Ok(Bytes::from(whole))));
                    }
                }
                other => return Poll::Ready(other),
            }
        }
    }
}

impl Body for PassedBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        if this.then.is_none() && this.cutting.is_some() {
            match ready!(this.poll_whole(cx)) {
                None => {}
                some => return Poll::Ready(some),
            }
        }
        match &mut this.then {
            Some(filled) => filled.as_mut().poll_data(cx),
            None => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
