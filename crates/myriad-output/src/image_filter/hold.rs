//! Responses held back because they may contain an image.

use std::cell::Cell;

use crate::image::{Facts, Kind, Made, Wish};
use bytes::Bytes;
use myriad_exchange::exchange::{Answer, Exchange, Hold, Step, pulled};
use myriad_http::Method;
use myriad_log::Level;
use myriad_net::ResponseBody;

use super::body::{Begun, Unread};
use super::pool::{Worked, worked};
use super::rules::Images;
use super::wanted::Wanted;
use crate::conditions;
use crate::filters::is_bodiless;

/// Status for responses that are no image, or an image that cannot be processed.
const UNSUPPORTED: u16 = 415;

/// Set if a response of the request has been held back before: the error page is not processed again.
#[derive(Default)]
struct Held(Cell<bool>);

impl Hold for Images {
    fn hold(&self, exchange: &mut Exchange, mut answer: Answer) -> Result<Answer, Step> {
        let held = exchange.request.outcome.remembered.get_or_make(Held::default);
        if answer.dropped || is_bodiless(&answer) || held.0.replace(true) {
            return Ok(answer);
        }
        // The result differs from the content of the place.
        exchange.request.shortcut.strayed.set(true);
        if !self.formats.is_empty() {
            answer.field(b"Vary", b"Accept");
        }
        let is_empty = matches!(answer.body, ResponseBody::None);
        if exchange.request.received.head.method() == Method::Head && is_empty {
            // The length of the result is unknown without the image, which HEAD does not fetch.
            answer.length = None;
            return Ok(answer);
        }
        if conditions::is_unchanged(&exchange.request, exchange.request.place(), &answer) {
            return Ok(answer);
        }
        let Some(wanted) = self.wanted(exchange) else {
            return Err(refused(exchange, "invalid size, angle or quality"));
        };
        if answer.known_length().is_some_and(|length| length > self.buffer) {
            return Err(refused(exchange, "the response is longer than \"image_filter_buffer\""));
        }
        let buffer = self.buffer;
        Err(Step::wait(async move |exchange| look(exchange, answer, wanted, buffer).await))
    }
}

/// Logs the reason of a rejected response.
fn refused(exchange: &Exchange, why: &str) -> Step {
    exchange.request.log(Level::Error, format_args!("image filter: {why}"));
    Step::Error(UNSUPPORTED)
}

/// Reads the bytes that the rule needs, and returns the resulting response.
async fn look(exchange: &mut Exchange, mut answer: Answer, wanted: Wanted, buffer: u64) -> Step {
    let length = answer.known_length();
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let mut body = Begun::new(pulled(body));
    if body.read(Kind::NEEDED).await.is_err() {
        return broken_off(exchange);
    }
    let Some(kind) = Kind::of(&body.first(Kind::NEEDED)) else {
        return match wanted {
            Wanted::Size => Step::Answer(told(b"{}\r\n".to_vec())),
            _ => refused(exchange, "the response is not an image"),
        };
    };
    settle(exchange, &mut answer, kind.media_type());
    let wish = match wanted {
        Wanted::Test => {
            answer.body = ResponseBody::Stream(Box::pin(body), length);
            return Step::Answer(answer);
        }
        Wanted::Size => None,
        Wanted::Make(wish) => Some(wish),
    };
    let bytes = match body.whole(buffer).await {
        Ok(bytes) => bytes,
        Err(Unread::TooLong) => {
            return refused(exchange, "the response is longer than \"image_filter_buffer\"");
        }
        Err(Unread::Broken) => return broken_off(exchange),
    };
    match wish {
        None => Step::Answer(told(size(kind, &bytes))),
        Some(wish) => work(exchange, answer, (kind, bytes), wish).await,
    }
}

fn broken_off(exchange: &Exchange) -> Step {
    exchange
        .request
        .log(Level::Error, format_args!("image filter: the response of the origin is incomplete"));
    Step::Error(502)
}

/// Converts the image as requested.
async fn work(exchange: &mut Exchange, mut answer: Answer, (kind, bytes): (Kind, Bytes), wish: Wish) -> Step {
    match worked(bytes.clone(), kind, wish).await {
        Worked::Done(Ok(Made::AsItIs)) => answer.body = ResponseBody::Full(bytes),
        Worked::Done(Ok(Made::Anew { bytes, format })) => {
            if let Some(format) = format {
                answer.media_type = Some(format.media_type().as_bytes().into());
            }
            answer.weaken_tag();
            answer.body = ResponseBody::Full(bytes.into());
        }
        Worked::Done(Err(fault)) => {
            exchange.request.log(Level::Error, format_args!("image filter: {} image: {fault}", kind.name()));
            return Step::Error(UNSUPPORTED);
        }
        Worked::Lost => return refused(exchange, "the image cannot be read"),
        Worked::Busy => {
            exchange.request.log(
                Level::Error,
                format_args!(
                    "image filter: too many images are queued, the client receives 503; a cache in front of this server would \
                         process each image once"
                ),
            );
            return Step::Error(503);
        }
    }
    answer.length = None;
    Step::Answer(answer)
}

/// Detaches the response from its source: its type becomes that of the image, and ranges are disabled.
fn settle(exchange: &Exchange, answer: &mut Answer, media_type: &'static str) {
    answer.detach(exchange.request.place().files.etag);
    answer.without(&[b"content-type", b"refresh", b"accept-ranges"]);
    answer.media_type = Some(media_type.as_bytes().into());
    answer.ranges = false;
}

/// Returns a JSON response that replaces the image.
fn told(json: Vec<u8>) -> Answer {
    let mut answer = Answer::new(200, ResponseBody::Full(json.into()));
    answer.media_type = Some(b"application/json"[..].into());
    answer.compressible = true;
    answer
}

/// Returns the size of an image in nginx's format.
fn size(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    match Facts::read(kind, bytes) {
        None => b"{}\r\n".to_vec(),
        Some(Facts { size, .. }) => format!(
            "{{ \"img\" : {{ \"width\": {}, \"height\": {}, \"type\": \"{}\" }} }}\r\n",
            size.width,
            size.height,
            kind.name()
        )
        .into_bytes(),
    }
}
