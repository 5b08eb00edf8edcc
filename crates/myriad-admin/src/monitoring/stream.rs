//! Live events over HTTP, as `text/event-stream` (WHATWG HTML, section 9.2).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, Request};
use myriad_exchange::observation::{EventReader, LiveEvents, RecentEvent, TooMany};
use myriad_http::Method;
use myriad_http::body::{Body, BodyError};
use myriad_net::ResponseBody;

use super::live_events::parse_recent_event;

/// Instruction to readers of the event stream to reconnect after 2,000 milliseconds.
const RETRY: &[u8] = b"retry: 2000\n\n";

/// Returns the response with the event stream; without a body for HEAD. With `hides_values`, the values of query
/// arguments are hidden. Returns an error if there are too many readers.
pub(crate) fn stream(request: &Request, hides_values: bool) -> Result<ContentResponse, TooMany> {
    let body = if request.received.head.method() == Method::Head {
        ResponseBody::None
    } else {
        let reader = request.site.worker.observation.shared.live.read()?;
        ResponseBody::Stream(
            Box::pin(EventStream { has_begun: false, hides_values, wait: next_event(reader) }),
            None,
        )
    };
    let mut answer = ContentResponse::new(200, body);
    answer.media_type = Some(b"text/event-stream"[..].into());
    // Compression or a buffering proxy would delay the events.
    answer.field(b"Cache-Control", b"no-store, no-transform");
    answer.field(b"X-Accel-Buffering", b"no");
    answer.field(b"X-Content-Type-Options", b"nosniff");
    Ok(answer)
}

type NextEvent = Pin<Box<dyn Future<Output = (EventReader, Option<LiveEvents>)>>>;

fn next_event(mut reader: EventReader) -> NextEvent {
    Box::pin(async move {
        let event = reader.next().await;
        (reader, event)
    })
}

/// Response body that sends live events until its reader is disconnected, for example by a reload.
struct EventStream {
    has_begun: bool,
    hides_values: bool,
    wait: NextEvent,
}

impl Body for EventStream {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !std::mem::replace(&mut self.has_begun, true) {
            return Poll::Ready(Some(Ok(Bytes::from_static(RETRY))));
        }
        let (reader, told) = ready!(self.wait.as_mut().poll(cx));
        let Some(told) = told else {
            // The body is not polled again after that.
            return Poll::Ready(None);
        };
        self.wait = next_event(reader);
        Poll::Ready(Some(Ok(formatted(&told, self.hides_values))))
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

/// Formats live events for the event stream: the purges and findings of the leak guard, then the tick. Their JSON
/// contains no line feeds, so that each needs only one `data` line.
fn formatted(event: &LiveEvents, hides_values: bool) -> Bytes {
    let mut out = Vec::with_capacity(event.tick.json.len() + 64);
    for recent in &event.recent {
        let hidden = hides_values.then(|| without_values(recent));
        let json = hidden.as_deref().unwrap_or(&recent.json);
        for part in [&b"event: "[..], recent.kind.as_str().as_bytes(), b"\ndata: ", json, b"\n\n"] {
            out.extend_from_slice(part);
        }
    }
    out.extend_from_slice(format!("id: {}\nevent: tick\ndata: ", event.tick.at_ms).as_bytes());
    out.extend_from_slice(&event.tick.json);
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}

/// Returns the JSON of an event with hidden argument values; empty if it cannot be parsed.
fn without_values(event: &RecentEvent) -> Vec<u8> {
    let Some(mut reply) = parse_recent_event(event.kind, &event.json) else { return Vec::new() };
    reply.hide_values();
    reply.json().into_bytes()
}
