//! Processing of responses that are held back because they may contain an image.

use std::cell::Cell;

use crate::image::{ConvertedImage, ImageKind, ImageMetadata, ImageRequest};
use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, ResponseHold, pull_body};
use myriad_http::Method;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use super::body::{BodyReadFailure, PartialBody};
use super::pool::{JobResult, convert};
use super::rules::ImageFilter;
use super::task::ImageTask;
use crate::conditions;
use crate::filters::is_bodiless;

/// Status of the response if the original response is not an image, or if its image cannot be processed.
const UNSUPPORTED: u16 = 415;

/// State of a request: true if a response of the request was already held back to process its image, so that its error
/// page is not processed again.
#[derive(Default)]
struct HeldBack(Cell<bool>);

impl ResponseHold for ImageFilter {
    fn hold(
        &self,
        exchange: &mut Exchange,
        mut answer: ContentResponse,
    ) -> Result<ContentResponse, PhaseStep> {
        let held = exchange.request.outcome.feature_state.get_or_make(HeldBack::default);
        if answer.dropped || is_bodiless(&answer) || held.0.replace(true) {
            return Ok(answer);
        }
        // The result differs from the content of the location, so the shortcut must not be used.
        exchange.request.shortcut.depends_on_more.set(true);
        if !self.formats.is_empty() {
            answer.field(b"Vary", b"Accept");
        }
        let is_empty = matches!(answer.body, ResponseBody::None);
        if exchange.request.received.head.method() == Method::Head && is_empty {
            // Without the image, which HEAD does not fetch, the length of the result is unknown.
            answer.length = None;
            return Ok(answer);
        }
        if conditions::is_unchanged(&exchange.request, exchange.request.place(), &answer) {
            return Ok(answer);
        }
        let Some(wanted) = self.wanted(exchange) else {
            return Err(refused(exchange, "a size or an angle is invalid, or a setting cannot be evaluated"));
        };
        if answer.known_length().is_some_and(|length| length > self.buffer) {
            return Err(refused(exchange, "the response is longer than \"image_filter_buffer\""));
        }
        let buffer = self.buffer;
        Err(PhaseStep::wait(async move |exchange| inspect(exchange, answer, wanted, buffer).await))
    }
}

/// Logs the reason, and returns the error response.
fn refused(exchange: &Exchange, why: &str) -> PhaseStep {
    exchange.request.log(LogLevel::Error, format_args!("image filter: {why}"));
    PhaseStep::Error(UNSUPPORTED)
}

/// Reads the bytes of the body that the task needs, at most `buffer` bytes, and returns the resulting response. If the
/// response is an error (415, 502 for an incomplete body, 503 for a full queue), logs the reason.
async fn inspect(
    exchange: &mut Exchange,
    mut answer: ContentResponse,
    wanted: ImageTask,
    buffer: u64,
) -> PhaseStep {
    let length = answer.known_length();
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let mut body = PartialBody::new(pull_body(body));
    if body.read(ImageKind::NEEDED).await.is_err() {
        return aborted(exchange);
    }
    let Some(kind) = ImageKind::of(&body.first(ImageKind::NEEDED)) else {
        return match wanted {
            ImageTask::Size => PhaseStep::Answer(json_response(b"{}\r\n".to_vec())),
            _ => refused(exchange, "the response is not an image"),
        };
    };
    replace_body(exchange, &mut answer, kind.media_type());
    let wish = match wanted {
        ImageTask::Test => {
            answer.body = ResponseBody::Stream(Box::pin(body), length);
            return PhaseStep::Answer(answer);
        }
        ImageTask::Size => None,
        ImageTask::Make(wish) => Some(wish),
    };
    let bytes = match body.whole(buffer).await {
        Ok(bytes) => bytes,
        Err(BodyReadFailure::TooLong) => {
            return refused(exchange, "the response is longer than \"image_filter_buffer\"");
        }
        Err(BodyReadFailure::Broken) => return aborted(exchange),
    };
    match wish {
        None => PhaseStep::Answer(json_response(size(kind, &bytes))),
        Some(wish) => convert_held(exchange, answer, (kind, bytes), wish).await,
    }
}

fn aborted(exchange: &Exchange) -> PhaseStep {
    exchange.request.log(LogLevel::Error, format_args!("image filter: the response is incomplete"));
    PhaseStep::Error(502)
}

/// Converts the image of a response, and returns the response with the converted image. A failure is logged and
/// returned as 415, or as 503 if too many images are queued.
async fn convert_held(
    exchange: &mut Exchange,
    mut answer: ContentResponse,
    (kind, bytes): (ImageKind, Bytes),
    wish: ImageRequest,
) -> PhaseStep {
    match convert(bytes.clone(), kind, wish).await {
        JobResult::Done(Ok(ConvertedImage::Unchanged)) => answer.body = ResponseBody::Full(bytes),
        JobResult::Done(Ok(ConvertedImage::Reencoded { bytes, format })) => {
            if let Some(format) = format {
                answer.media_type = Some(format.media_type().as_bytes().into());
            }
            answer.weaken_tag();
            answer.body = ResponseBody::Full(bytes.into());
        }
        JobResult::Done(Err(fault)) => {
            exchange
                .request
                .log(LogLevel::Error, format_args!("image filter: {} image: {fault}", kind.name()));
            return PhaseStep::Error(UNSUPPORTED);
        }
        JobResult::Lost => return refused(exchange, "the image cannot be processed"),
        JobResult::Busy => {
            exchange.request.log(
                LogLevel::Error,
                format_args!(
                    "image filter: too many images are queued, the client receives 503; a cache in front of this server would \
                         process each image once"
                ),
            );
            return PhaseStep::Error(503);
        }
    }
    answer.length = None;
    PhaseStep::Answer(answer)
}

/// Prepares the head of a response whose body will be replaced: detaches it from its source, sets the media type, and
/// disables ranges.
fn replace_body(exchange: &Exchange, answer: &mut ContentResponse, media_type: &'static str) {
    answer.detach(exchange.request.place().files.etag);
    answer.without(&[b"content-type", b"refresh", b"accept-ranges"]);
    answer.media_type = Some(media_type.as_bytes().into());
    answer.ranges = false;
}

/// Returns a JSON response, which replaces the image.
fn json_response(json: Vec<u8>) -> ContentResponse {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(json.into()));
    answer.media_type = Some(b"application/json"[..].into());
    answer.compressible = true;
    answer
}

/// Returns the size of an image as JSON, in nginx's format; an empty object if it is unknown.
fn size(kind: ImageKind, bytes: &[u8]) -> Vec<u8> {
    match ImageMetadata::read(kind, bytes) {
        None => b"{}\r\n".to_vec(),
        Some(ImageMetadata { size, .. }) => format!(
            "{{ \"img\" : {{ \"width\": {}, \"height\": {}, \"type\": \"{}\" }} }}\r\n",
            size.width,
            size.height,
            kind.name()
        )
        .into_bytes(),
    }
}
