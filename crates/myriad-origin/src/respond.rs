//! Processing of an origin's response into the response to the client.

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_log::LogLevel;
use myriad_net::{RequestBody, ResponseBody};
use myriad_upstream::OriginResponse;

use crate::answer::{accel_rate, client_response};
use crate::read_ahead::{ReadAheadLimits, read_ahead};
use crate::rewrite;
use crate::sticky;
use crate::store;
use crate::upgrade;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::size::parse_digits;
use myriad_exchange::exchange::{CarriedFields, Exchange};
use myriad_exchange::responses::error_pages;
use myriad_exchange::responses::redirect;
use myriad_exchange::runtime::{AheadRules, OriginPlace};
use myriad_exchange::subrequest;

/// Returns the step for an origin's response: a tunnel after a protocol switch, another location for
/// `X-Accel-Redirect`, an error page for an intercepted status, otherwise the response for the client.
pub fn respond(exchange: &mut Exchange, origin: &OriginPlace, response: Box<OriginResponse>) -> PhaseStep {
    let OriginResponse { head, body, upgraded, trailers, .. } = *response;
    // Trailers are not possible after a body whose length HTTP/1 declares, nor in a response that consists of its head
    // only.
    let may_trail =
        trailers.as_ref().is_some_and(|fields| body.size_hint() != Some(0) || !fields.borrow().is_empty());
    exchange.request.origin_mut().trailers = trailers;
    // From now on, variables refer to this response instead of a page served earlier for this request.
    exchange.request.cache.origin_fields = None;
    if let Some(upgraded) = upgraded {
        return upgrade::tunnel(exchange, origin, head, upgraded);
    }
    let step = accel_redirect(exchange, origin, &head);
    let intercepted = origin.protocol.intercepts(head.status)
        || (origin.answer.intercept_errors
            && head.status >= 300
            && error_pages::has_page_now(exchange, head.status));
    let status = head.status;
    let step = match step {
        Some(step) => step,
        None if intercepted => {
            keep_challenge(exchange, &head);
            PhaseStep::Error(status)
        }
        None => {
            let length = head.known(Known::ContentLength).and_then(parse_length);
            let mut answer = client_response(&head, origin, true);
            answer.unsized_by_origin = length.is_none();
            rewrite::rewrite_head(exchange, origin, &head.fields, &mut answer);
            sticky::append(exchange, &mut answer);
            let bodiless = exchange.request.received.head.method() == Method::Head;
            let (body, is_stored) = store::wrap_body(exchange, origin, &head, body);
            answer.length = if bodiless { length } else { None };
            let ahead = is_read_ahead(origin, &head);
            // The head is read by the following steps: `*_limit_rate` may contain `$upstream_http_*`.
            exchange.request.origin_mut().head = Some(head);
            // A gRPC client must get a response whose stream ends with the head: it reports an error without messages.
            let is_all = origin.protocol.is_unbuffered() && length.is_none() && !may_trail;
            answer.body = if is_all && !bodiless {
                ResponseBody::Full(Bytes::new())
            } else if bodiless {
                ResponseBody::Stream(body, None)
            } else {
                buffered(exchange, origin, (ahead, is_stored), body, length)
            };
            answer.passes_trailers = origin.protocol.passes_trailers() && may_trail;
            if origin.answer.force_ranges && status == 200 && length.is_some() {
                answer.without(&[b"accept-ranges", b"content-range"]);
                answer.ranges = true;
            }
            return PhaseStep::Answer(answer);
        }
    };
    exchange.request.origin_mut().head = Some(head);
    step
}

/// Stores the challenge of a 401 (`WWW-Authenticate`) for the error page that replaces the response, as in nginx.
fn keep_challenge(exchange: &mut Exchange, head: &ResponseHead) {
    if head.status != 401 {
        return;
    }
    let mut carried = CarriedFields::default();
    for challenge in head.fields.known_all(Known::WwwAuthenticate) {
        for part in [&b"WWW-Authenticate: "[..], challenge, b"\r\n"] {
            carried.lines.extend_from_slice(part);
        }
    }
    exchange.request.errors.carried = Some(Box::new(carried));
}

/// Returns whether the response is read ahead: by `*_buffering`, which `X-Accel-Buffering` overrides; never for gRPC.
fn is_read_ahead(origin: &OriginPlace, head: &ResponseHead) -> bool {
    let accel_buffering =
        head.fields.known(Known::XAccelBuffering).filter(|_| !origin.answer.ignore_accel.buffering);
    match accel_buffering {
        _ if origin.protocol.is_unbuffered() => false,
        Some(value) if value.eq_ignore_ascii_case(b"no") => false,
        Some(value) if value.eq_ignore_ascii_case(b"yes") => true,
        _ => origin.ahead.on,
    }
}

/// Returns the body for the client, read ahead if `on`. Otherwise, a body that must be read completely even if the
/// client disconnects (`*_ignore_client_abort`, or `is_stored` for `*_store`) is read ahead by one byte. As in nginx,
/// `*_limit_rate` only applies with `on`.
fn buffered(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    (on, is_stored): (bool, bool),
    body: BoxBody,
    length: Option<u64>,
) -> ResponseBody {
    // As in nginx, a response that is stored as a file is read completely.
    let to_the_end = origin.fetch.to_the_end || is_stored;
    if on {
        let ahead = ReadAheadLimits {
            memory: origin.ahead.memory,
            file: origin.ahead.file,
            to_the_end,
            rate: limit_rate(exchange, &origin.ahead),
        };
        read_ahead(body, length, ahead)
    } else if to_the_end {
        read_ahead(body, length, ReadAheadLimits { memory: 1, file: 0, to_the_end, rate: 0 })
    } else {
        ResponseBody::Stream(body, length)
    }
}

/// Returns the read-ahead limits for a response that is too large for the cache zone; `None` with `*_buffering off`.
/// These limits exclude `*_limit_rate` and `*_ignore_client_abort`, which apply to the fetch of the response instead.
pub fn ahead(rules: &AheadRules) -> Option<ReadAheadLimits> {
    let ahead = ReadAheadLimits { memory: rules.memory, file: rules.file, to_the_end: false, rate: 0 };
    rules.on.then_some(ahead)
}

/// Returns `*_limit_rate` in bytes per second; 0 for no limit or an invalid value.
pub fn limit_rate(exchange: &mut Exchange, rules: &AheadRules) -> u64 {
    let Some(template) = &rules.limit_rate else { return 0 };
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    match template.eval(request, frame, &mut text) {
        Ok(()) => myriad_exchange::exchange::size::parse_size(&text).unwrap_or(0),
        Err(_) => 0,
    }
}

/// Handles `X-Accel-Redirect`, by which another location of this server produces the response; an unsafe path yields
/// 404. Also applies `X-Accel-Limit-Rate`, retains some response fields for that response, and removes the request body
/// except for a named location. `None` if the response has no such field or the field is ignored.
pub fn accel_redirect(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    head: &ResponseHead,
) -> Option<PhaseStep> {
    let target = head.known(Known::XAccelRedirect).filter(|_| !origin.answer.ignore_accel.redirect)?;
    let rate = accel_rate(&origin.answer, &head.fields);
    exchange.request.outcome.limit_rate = rate.or(exchange.request.outcome.limit_rate);
    exchange.request.shortcut.depends_on_more.set(true);
    exchange.request.errors.carried = Some(Box::new(carried(&head.fields)));
    if target.starts_with(b"@") {
        return Some(PhaseStep::Named(target.into()));
    }
    // The path comes from the application; a path that is unsafe, for instance because of `..`, is rejected.
    let Some((path, args)) = subrequest::target(target) else {
        exchange
            .request
            .log(LogLevel::Error, format_args!("X-Accel-Redirect to an unsafe path was rejected"));
        return Some(PhaseStep::Error(404));
    };
    let request = &mut exchange.request;
    redirect::local_redirect_to(request, &path, args);
    // As in nginx, the application has consumed the request body, so the location is requested with GET.
    request.route.as_get |= !matches!(request.received.head.method(), Method::Get | Method::Head);
    request.upload.body = RequestBody::empty();
    request.upload.buffered = None;
    if request.upload.length.is_some() || request.received.head.fields().has(Known::ContentLength) {
        request.upload.length = Some(0);
    }
    Some(PhaseStep::Redirect)
}

/// Returns the response fields that an `X-Accel-Redirect` response passes to the response of the other location: media
/// type, `Set-Cookie`, `Content-Disposition`, `Cache-Control` and `Expires`.
fn carried(fields: &Fields) -> CarriedFields {
    let mut carried = CarriedFields::default();
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

/// Parses `Content-Length` (RFC 9110 section 8.6); `None` unless it consists of digits and fits into 64 bits.
pub fn parse_length(value: &[u8]) -> Option<u64> {
    parse_digits(value)
}
