//! Responses of an origin that are stored for one known visitor (`esi_private_responses`), such as the cart that a
//! script requests on each page view.
//!
//! ```text
//! known visitor -> conditions true -- stored for this visitor --> Stored: sent without the origin
//!                                  \- not stored, or expired ---> origin
//!     X-Myriad-Private-Cache: SECONDS -> stored as a part of the visitor
//! ```
//!
//! A response is stored among the visitor's parts, and expires as they do: after a change by the visitor, and after a
//! purge of one of its tags. The key contains all header fields of the request that could affect the response.

use std::cell::RefCell;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_base::digits::decimal;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_http::body::{Body, BodyError, BoxBody, EmptyBody, FullBody};
use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_script::EvalError;
use myriad_upstream::{OriginResponse, PeerAddress};

use super::part_store::{self, InFlight, NewPart};
use super::rules;
use super::visitor::{Digest, Visitor, VisitorRequest, digest};

/// Response field by which an origin permits that a response is stored for its visitor. The value is the maximum time
/// in seconds.
const FIELD: &[u8] = b"x-myriad-private-cache";
/// Maximum length in bytes of the body of a response that is stored.
const MAX_RESPONSE: usize = 128 << 10;
/// Start of the key of a response among the visitor's parts. It is not a target of a part, which begins with a slash.
const KEY: &[u8] = b"response ";
/// Request fields that do not affect the response: the visitor is identified by cookies, other cookies are excluded by
/// the conditions, and the rest is for caches and for the transfer.
const WITHOUT_EFFECT: [&[u8]; 11] = [
    b"cookie",
    b"accept-encoding",
    b"cache-control",
    b"connection",
    b"dnt",
    b"keep-alive",
    b"pragma",
    b"priority",
    b"referer",
    b"sec-gpc",
    b"te",
];
/// Response fields with which a response is never stored for a visitor: they change the state of the visitor or the
/// cache, or show that the body is encoded, partial or redirected.
const FORBIDDING: [&[u8]; 7] = [
    b"set-cookie",
    b"x-myriad-private-purge",
    b"x-litespeed-purge",
    b"x-accel-redirect",
    b"content-encoding",
    b"content-range",
    b"trailer",
];

/// Result of the look-up of a response that is stored for one visitor.
pub(super) enum PrivateLookup {
    /// Stored response for this visitor, which is sent without contacting the origin.
    Stored(Box<OriginResponse>),
    /// The response is not stored. The origin's response will be stored if the origin permits it.
    Missing,
    /// The response must not be stored for the visitor; the shared page may be usable.
    NotPrivate,
}

/// Request whose response may be stored for its visitor.
struct PendingResponse {
    visitor: Visitor,
    key: Vec<u8>,
    /// Guard of the request: the response is not stored if the visitor's content may have changed meanwhile.
    in_flight: InFlight,
}

/// State of a request: the response that will be stored, if any.
#[derive(Default)]
struct Pending(RefCell<Option<PendingResponse>>);

/// Looks up the response to a known visitor's request. If the response is not stored, prepares the request so that
/// [`store`] stores the origin's response. Returns `NotPrivate` if no condition of `esi_private_responses` is true, for
/// a method other than GET, for a request with a body, and for a visitor without a session cookie or with too many.
/// Fails if a condition cannot be evaluated.
pub(super) fn look_up(exchange: &mut Exchange, cache: &CachePlace) -> Result<PrivateLookup, EvalError> {
    let Exchange { request, frame } = exchange;
    let Some(rules) = rules::of(request).filter(|rules| !rules.responses.is_empty()) else {
        return Ok(PrivateLookup::NotPrivate);
    };
    if request.received.head.method() != Method::Get
        || !request.upload.body.is_empty()
        || !rules.responses.any_true(request, frame)?
    {
        return Ok(PrivateLookup::NotPrivate);
    }
    let identity = VisitorRequest::from(&*request);
    // Without a secret cookie, several visitors may have the same cookies.
    let Some(visitor) = Visitor::of(&identity, &rules.cookies, &cache.rules.shared_fetch)
        .filter(|visitor| visitor.fields.is_none())
    else {
        return Ok(PrivateLookup::NotPrivate);
    };
    let key = key_of(request);
    let now = request.received.at_ms;
    let stored = part_store::get(&visitor, std::iter::once(&key[..]), now).pop().flatten();
    if let Some(response) = stored.as_ref().and_then(decoded) {
        return Ok(PrivateLookup::Stored(response));
    }
    let in_flight = part_store::begin(&visitor, &cache.zone.recent_purges);
    let pending = request.outcome.feature_state.get_or_make(Pending::default);
    *pending.0.borrow_mut() = Some(PendingResponse { visitor, key, in_flight });
    Ok(PrivateLookup::Missing)
}

/// Stores the origin's response to a request of [`look_up`] for its visitor, if the origin permits it ([`storable_s`])
/// and the body has at most [`MAX_RESPONSE`] bytes. The body of the response is read for this, and replaced by one that
/// returns the same data.
pub(crate) async fn store(request: &Request, response: &mut OriginResponse) {
    // Only requests for which `look_up` returned `Missing` have this state.
    let Some(pending) = request.outcome.feature_state.get::<Pending>() else { return };
    let (Some(PendingResponse { visitor, key, in_flight }), Some(rules)) =
        (pending.0.borrow_mut().take(), rules::of(request))
    else {
        return;
    };
    let keep_s = storable_s(&response.head);
    if keep_s == 0 || response.upgraded.is_some() {
        return;
    }
    let Some(body) = read_short(&mut response.body).await else { return };
    let keep_ms = keep_s.saturating_mul(1000).min(rules.private.valid_ms);
    let part = NewPart {
        target: &key,
        bytes: encoded(&response.head.fields, &body),
        until_ms: myriad_net::clock::now_ms().saturating_add(keep_ms),
        labels: part_store::labels(&response.head.fields),
    };
    part_store::store_part(&visitor, &in_flight, part, rules.private);
}

/// Returns the key of a request: its scheme, its target, and the fields that could affect the response.
fn key_of(request: &Request) -> Vec<u8> {
    let head = &request.received.head;
    let is_relevant = |name: &[u8]| !WITHOUT_EFFECT.iter().any(|other| name.eq_ignore_ascii_case(other));
    let fields = head.fields().iter().filter(|(name, _)| is_relevant(name));
    let lower: Vec<(Vec<u8>, &[u8])> =
        fields.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    let parts = lower.iter().flat_map(|(name, value)| [&name[..], value]);
    let texts: Vec<&[u8]> = [request.scheme().as_bytes(), head.target()].into_iter().chain(parts).collect();
    let digest: Digest = digest(b"response", &texts);
    [KEY, &digest].concat()
}

/// Returns the number of seconds for which a response may be stored for its visitor ([`FIELD`]). 0 without a valid
/// number, for a status other than 200, with a field of [`FORBIDDING`], and for a response that varies by `*` or by a
/// field that the key omits, other than `Cookie` and `Accept-Encoding`.
fn storable_s(head: &ResponseHead) -> u64 {
    let fields = &head.fields;
    let varies_otherwise = |value: &[u8]| {
        let names = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut unkeyed = names.filter(|name| {
            let is_excluded = WITHOUT_EFFECT.iter().any(|other| name.eq_ignore_ascii_case(other));
            let is_known =
                [&b"cookie"[..], b"accept-encoding"].iter().any(|other| name.eq_ignore_ascii_case(other));
            *name == b"*" || (is_excluded && !is_known)
        });
        unkeyed.next().is_some()
    };
    if head.status != 200
        || FORBIDDING.iter().any(|name| fields.get(name).is_some())
        || fields.known_all(Known::Vary).any(varies_otherwise)
    {
        return 0;
    }
    fields.get(FIELD).and_then(|value| decimal(value.trim_ascii())).unwrap_or(0)
}

/// Reads a body of at most [`MAX_RESPONSE`] bytes, and replaces it by one that returns the same data; `None` if it is
/// longer or was aborted.
async fn read_short(body: &mut BoxBody) -> Option<Bytes> {
    let mut read = ReadBody { first: Bytes::new(), error: None, rest: None };
    let mut whole = Vec::new();
    loop {
        match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
            Some(Ok(piece)) => whole.extend_from_slice(&piece),
            Some(Err(error)) => read.error = Some(error),
            None => {
                let whole = Bytes::from(whole);
                *body = Box::pin(FullBody::new(whole.clone()));
                return Some(whole);
            }
        }
        if read.error.is_some() || whole.len() > MAX_RESPONSE {
            read.first = Bytes::from(whole);
            read.rest = Some(std::mem::replace(body, Box::pin(EmptyBody)));
            *body = Box::pin(read);
            return None;
        }
    }
}

/// Body of which a part was already read. Returns this part again, then the error that followed it, if any, otherwise
/// the rest of the body.
struct ReadBody {
    first: Bytes,
    error: Option<BodyError>,
    rest: Option<BoxBody>,
}

impl Body for ReadBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
        }
        if let Some(error) = self.error.take() {
            self.rest = None;
            return Poll::Ready(Some(Err(error)));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll_data(cx),
            None => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

/// Returns the fields of a response in the format of HTTP/1, an empty line, and the body, as one text.
fn encoded(fields: &Fields, body: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(fields.size() + body.len() + 64);
    fields.write_h1(&mut text);
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    Bytes::from(text)
}

/// Returns a response from the text that [`encoded`] returned; `None` if it is invalid.
fn decoded(text: &Bytes) -> Option<Box<OriginResponse>> {
    let mut head = ResponseHead::new(200);
    let mut rest = &text[..];
    loop {
        let end = rest.windows(2).position(|bytes| bytes == b"\r\n")?;
        let line = &rest[..end];
        rest = &rest[end + 2..];
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        head.fields.push(&line[..colon], line[colon + 1..].trim_ascii());
    }
    let body = Box::pin(FullBody::new(text.slice_ref(rest)));
    Some(Box::new(OriginResponse {
        head,
        body,
        upgraded: None,
        peer: PeerAddress::Unix(PathBuf::new()),
        sid: None,
        trailers: None,
    }))
}
