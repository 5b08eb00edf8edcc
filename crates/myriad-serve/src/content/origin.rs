//! An origin asked for one visitor: nothing is stored, the body streams through.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_log::Level;
use myriad_net::{RequestBody, ResponseBody};
use myriad_policy::{Failure, Tags};
use myriad_upstream::{OriginError, OriginRequest, OriginResponse, RequestPayload};
use tokio::sync::oneshot;

use super::nominated::Nominated;
use super::params::{self, Purpose};
use super::read_ahead::{Ahead, read_ahead};
use super::{
    Step, bind, cached, error, fetch, group, invalidate, proxy_fields, purge, redirect, upgrade, upload,
};
use crate::exchange::{Carried, Exchange};
use crate::output::Answer;
use crate::runtime::{Caches, Handler, OriginGroup, OriginPlace};
use crate::subrequest;

/// Asks the origin of the current place and passes its answer on.
pub(crate) async fn pass(exchange: &mut Exchange) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    match upload::payload(exchange, origin).await {
        Ok(payload) => pass_with(exchange, payload).await,
        Err(status) => Step::Error(status),
    }
}

/// As [`pass`], with the request's body at hand.
pub(crate) async fn pass_with(exchange: &mut Exchange, payload: RequestPayload) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    let chosen = match group::of_place(exchange, origin) {
        Ok(chosen) => group::settle(exchange, chosen).await,
        Err(status) => Err(status),
    };
    let group = match chosen {
        Ok(group) => group,
        Err(status) => return Step::Error(status),
    };
    let attempts = exchange.request.origin_mut().attempts.clone();
    let request = match params::make(exchange, origin, Purpose::Visitor, payload, attempts) {
        Ok(request) => request,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            return Step::Error(500);
        }
    };
    site.worker.counters.fetches.add(1);
    let fetched = if origin.ignore_client_abort {
        fetch_to_the_end(exchange, &group, request).await
    } else {
        fetch(exchange, &group, request, true).await
    };
    match fetched {
        Ok(response) => {
            invalidate::after(exchange, origin, &response.head).await;
            purge::by_origin(exchange, origin.cache.of(exchange.request.cache.chosen), &response.head).await;
            let failure = Failure::Http(response.head.status);
            match cached::stale_instead(exchange, origin, failure) {
                Some(step) => step,
                None => respond(exchange, origin, response),
            }
        }
        Err(error) => {
            let step = fail(exchange, &error);
            cached::stale_instead(exchange, origin, fetch::failure(&error)).unwrap_or(step)
        }
    }
}

/// As [`fetch`], but goes on when the client has gone (`*_ignore_client_abort`), up to the answer's last byte. What no peer has
/// begun with ends with its client all the same: it would only keep others waiting.
async fn fetch_to_the_end(
    exchange: &mut Exchange,
    group: &Arc<OriginGroup>,
    mut request: OriginRequest,
) -> Result<OriginResponse, OriginError> {
    prepare(exchange, group, &mut request, true);
    let (group, pool) = (Arc::clone(group), exchange.request.site.pool.clone());
    let (mut sender, receiver) = oneshot::channel();
    let sent = request.attempts.sent();
    tokio::task::spawn_local(async move {
        let mut fetching = pin!(group.group.fetch(&pool, request));
        let fetched = poll_fn(|cx| match fetching.as_mut().poll(cx) {
            Poll::Ready(fetched) => Poll::Ready(Some(fetched)),
            Poll::Pending if !sent.has_begun() && sender.poll_closed(cx).is_ready() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        if let Some(fetched) = fetched.await
            && let Err(Ok(mut response)) = sender.send(fetched)
        {
            while let Some(Ok(_)) = poll_fn(|cx| response.body.as_mut().poll_data(cx)).await {}
        }
    });
    match receiver.await {
        Ok(fetched) => fetched,
        // The task goes only with the worker, which then asks nobody any more.
        Err(_) => std::future::pending().await,
    }
}

/// Sends a request to a group, with what goes wrong on the way told to the error log of the exchange. `waits` says that
/// the client waits for its head.
pub(crate) async fn fetch(
    exchange: &mut Exchange,
    group: &OriginGroup,
    mut request: OriginRequest,
    waits: bool,
) -> Result<OriginResponse, OriginError> {
    prepare(exchange, group, &mut request, waits);
    let site = std::rc::Rc::clone(&exchange.request.site);
    group.group.fetch(&site.pool, request).await
}

fn prepare(exchange: &mut Exchange, group: &OriginGroup, request: &mut OriginRequest, waits: bool) {
    request.affinity = group::affinity(exchange, group);
    request.bind = bind::address(exchange);
    request.observer = Some(super::observer::Observer::of(exchange, waits));
}

/// No answer: the error log says why, the client gets the status.
pub(crate) fn fail(exchange: &Exchange, error: &OriginError) -> Step {
    exchange.request.log(Level::Error, format_args!("{error}"));
    Step::Error(error.status())
}

/// Passes an origin's answer on: `X-Accel-Redirect`, intercepted errors, fields, body.
pub(crate) fn respond(exchange: &mut Exchange, origin: &OriginPlace, response: OriginResponse) -> Step {
    let OriginResponse { head, body, upgraded, trailers, .. } = response;
    exchange.request.origin_mut().trailers = trailers;
    if let Some(upgraded) = upgraded {
        return upgrade::tunnel(exchange, origin, head, upgraded);
    }
    let step = redirected(exchange, origin, &head);
    let intercepted =
        origin.intercept_errors && head.status >= 300 && error::has_page_now(exchange, head.status);
    let status = head.status;
    let step = match step {
        Some(step) => step,
        None if intercepted => {
            keep_challenge(exchange, &head);
            Step::Error(status)
        }
        None => {
            let length = head.known(Known::ContentLength).and_then(parse_length);
            let mut answer = answer(&head, origin, true);
            answer.unsized_by_origin = length.is_none();
            proxy_fields::rewrite(exchange, origin, &mut answer);
            let bodiless = exchange.request.head.method() == Method::Head;
            answer.length = if bodiless { length } else { None };
            let ahead = is_read_ahead(origin, &head);
            // What follows may read it: `*_limit_rate` may hold `$upstream_http_*`.
            exchange.request.origin_mut().head = Some(head);
            answer.body = if bodiless {
                ResponseBody::Stream(body, None)
            } else {
                buffered(exchange, origin, ahead, body, length)
            };
            answer.passes_trailers = origin.pass_trailers && length.is_none();
            if origin.force_ranges && status == 200 && length.is_some() {
                answer.without(&[b"accept-ranges", b"content-range"]);
                answer.ranges = true;
            }
            return Step::Answer(answer);
        }
    };
    exchange.request.origin_mut().head = Some(head);
    step
}

/// An intercepted 401 still says how to authenticate, as in nginx.
fn keep_challenge(exchange: &mut Exchange, head: &ResponseHead) {
    if head.status != 401 {
        return;
    }
    let mut carried = Carried::default();
    for challenge in head.fields.known_all(Known::WwwAuthenticate) {
        for part in [&b"WWW-Authenticate: "[..], challenge, b"\r\n"] {
            carried.lines.extend_from_slice(part);
        }
    }
    exchange.request.carried = Some(Box::new(carried));
}

/// `*_buffering`, which `X-Accel-Buffering` may overrule.
fn is_read_ahead(origin: &OriginPlace, head: &ResponseHead) -> bool {
    let said = head.fields.known(Known::XAccelBuffering).filter(|_| !origin.ignore_accel.buffering);
    match said {
        Some(value) if value.eq_ignore_ascii_case(b"no") => false,
        Some(value) if value.eq_ignore_ascii_case(b"yes") => true,
        _ => origin.buffering,
    }
}

/// The body as it goes to the visitor, read ahead or not; `*_limit_rate` holds with read-ahead only, as in nginx.
fn buffered(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    on: bool,
    body: BoxBody,
    length: Option<u64>,
) -> ResponseBody {
    let to_the_end = origin.ignore_client_abort;
    if on {
        let ahead = Ahead {
            memory: origin.ahead_memory,
            file: origin.ahead_file,
            to_the_end,
            rate: limit_rate(exchange, origin),
        };
        read_ahead(body, length, ahead)
    } else if to_the_end {
        read_ahead(body, length, Ahead { memory: 1, file: 0, to_the_end, rate: 0 })
    } else {
        ResponseBody::Stream(body, length)
    }
}

/// How far ahead of its readers a page may be read that is too long for the zone; none with `*_buffering off`. The fetch itself
/// is as fast as `*_limit_rate` says, and goes on as `*_ignore_client_abort` says.
pub(super) fn ahead(origin: &OriginPlace) -> Option<Ahead> {
    let ahead = Ahead { memory: origin.ahead_memory, file: origin.ahead_file, to_the_end: false, rate: 0 };
    origin.buffering.then_some(ahead)
}

/// `*_limit_rate`, bytes a second, 0 for any.
pub(crate) fn limit_rate(exchange: &mut Exchange, origin: &OriginPlace) -> u64 {
    let Some(template) = &origin.limit_rate else { return 0 };
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    match template.eval(request, frame, &mut text) {
        Ok(()) => crate::exchange::variables::parse_size(&text).unwrap_or(0),
        Err(_) => 0,
    }
}

/// `X-Accel-Redirect`: the answer is at another place of this server.
pub(crate) fn redirected(exchange: &mut Exchange, origin: &OriginPlace, head: &ResponseHead) -> Option<Step> {
    let target = head.known(Known::XAccelRedirect).filter(|_| !origin.ignore_accel.redirect)?;
    let rate = accel_rate(origin, &head.fields);
    exchange.request.limit_rate = rate.or(exchange.request.limit_rate);
    exchange.request.strayed.set(true);
    exchange.request.carried = Some(Box::new(carried(&head.fields)));
    if target.starts_with(b"@") {
        return Some(Step::Named(target.into()));
    }
    // The application names a path; what is not one must not lead the server anywhere.
    let Some((path, args)) = subrequest::target(target) else {
        exchange.request.log(Level::Error, format_args!("X-Accel-Redirect to an unsafe path"));
        return Some(Step::Error(404));
    };
    let request = &mut exchange.request;
    redirect::local_redirect_to(request, &path, args);
    // As nginx: what was posted was for the application; the place it names is asked by GET.
    request.as_get |= !matches!(request.head.method(), Method::Get | Method::Head);
    request.body = RequestBody::empty();
    request.gathered = None;
    if request.body_length.is_some() || request.head.fields().has(Known::ContentLength) {
        request.body_length = Some(0);
    }
    Some(Step::Redirect)
}

/// What nginx takes along to the place that `X-Accel-Redirect` names.
fn carried(fields: &Fields) -> Carried {
    let mut carried = Carried::default();
    for (known, name, value) in fields.iter_known() {
        match known {
            Some(Known::ContentType) => carried.media_type = Some(value.to_vec()),
            Some(Known::SetCookie | Known::ContentDisposition | Known::CacheControl | Known::Expires) => {
                for part in [name, b": ", value, b"\r\n"] {
                    carried.lines.extend_from_slice(part);
                }
            }
            _ => {}
        }
    }
    carried
}

fn accel_rate(origin: &OriginPlace, fields: &Fields) -> Option<u64> {
    let value = fields.known(Known::XAccelLimitRate).filter(|_| !origin.ignore_accel.limit_rate)?;
    crate::exchange::variables::parse_size(value)
}

pub(crate) fn parse_length(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The head of an answer as the visitor gets it, its body to be set. `own` passes what belongs to this visitor alone.
pub(crate) fn answer(head: &ResponseHead, origin: &OriginPlace, own: bool) -> Answer {
    let mut answer = Answer::new(head.status, ResponseBody::Full(Bytes::new()));
    answer.judged = true;
    if !head.reason.is_empty() && head.reason != myriad_http::head::reason_phrase(head.status).as_bytes() {
        answer.reason = std::str::from_utf8(&head.reason).ok().map(Into::into);
    }
    let nominated = Nominated::of(&head.fields);
    for (known, name, value) in head.fields.iter_known() {
        if nominated.has(name) {
            continue;
        }
        if known == Some(Known::ContentType) {
            answer.media_type = Some(Cow::Owned(with_charset(value, origin, &head.fields)));
        } else if passes(known, name, origin, own) {
            answer.field(name, value);
        }
    }
    answer.limit_rate = accel_rate(origin, &head.fields);
    answer.own_head = origin.passes_head;
    let coding = head.known(Known::ContentEncoding);
    // What the origin has coded, in whatever way, is not coded again.
    answer.compressible = coding.is_none_or(<[u8]>::is_empty);
    answer
}

/// `X-Accel-Charset` becomes the charset of the media type.
fn with_charset(media_type: &[u8], origin: &OriginPlace, fields: &Fields) -> Vec<u8> {
    let mut media_type = media_type.to_vec();
    let charset = fields.known(Known::XAccelCharset).filter(|_| !origin.ignore_accel.charset);
    if let Some(charset) = charset
        && !media_type.to_ascii_lowercase().windows(8).any(|window| window == b"charset=")
    {
        media_type.extend_from_slice(b"; charset=");
        media_type.extend_from_slice(charset);
    }
    media_type
}

/// Whether a field behind the body goes to the visitor: no cookies and nothing that a head decides by.
pub(crate) fn passes_behind(known: Option<Known>, name: &[u8], origin: &OriginPlace) -> bool {
    let is_for_heads = matches!(
        known,
        Some(
            Known::CacheControl
                | Known::ContentEncoding
                | Known::ContentRange
                | Known::ContentType
                | Known::Host
                | Known::Location
                | Known::SetCookie
                | Known::Vary
        )
    );
    !is_for_heads && passes(known, name, origin, false)
}

/// Whether a field of an origin goes to the visitor: not what belongs to the connection or to the accelerator, nor
/// `Date` and `Server`, which are this server's own, unless `*_pass_header` says so.
pub(crate) fn passes(known: Option<Known>, name: &[u8], origin: &OriginPlace, own: bool) -> bool {
    let listed = |list: &[Box<[u8]>]| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
    match known {
        Some(
            Known::Connection
            | Known::KeepAlive
            | Known::ProxyConnection
            | Known::TransferEncoding
            | Known::Te
            | Known::Upgrade
            | Known::ContentLength,
        ) => return false,
        // What announces trailers goes with them; a `Status` of FastCGI is in the status line.
        Some(Known::Trailer) if !origin.pass_trailers => return false,
        Some(Known::Status) if origin.http.is_none() => return false,
        Some(Known::SetCookie) if !own => return false,
        _ => {}
    }
    if listed(&origin.pass) {
        return true;
    }
    let hidden = matches!(
        known,
        Some(
            Known::Date
                | Known::Server
                | Known::XAccelExpires
                | Known::XAccelRedirect
                | Known::XAccelLimitRate
                | Known::XAccelBuffering
                | Known::XAccelCharset
        )
    );
    let padding = origin.http.is_some() && name.eq_ignore_ascii_case(b"x-pad");
    // Tags are between the origin and its cache.
    let tags = known.is_some_and(Tags::is_field) && !matches!(origin.cache, Caches::None);
    !hidden && !tags && !padding && !listed(&origin.hide)
}
