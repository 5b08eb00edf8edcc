//! An origin asked for one visitor: nothing is stored, the body streams through.

use std::borrow::Cow;

use bytes::Bytes;
use myriad_encode::coding_from_token;
use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_net::{RequestBody, ResponseBody};
use myriad_upstream::{OriginError, OriginResponse, RequestPayload};

use super::params::{self, Purpose};
use super::{Step, error, group};
use crate::counters::Counters;
use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::output::Answer;
use crate::phases;
use crate::runtime::{Handler, OriginGroup, OriginPlace};

/// Asks the origin of the current place and passes its answer on.
pub(crate) async fn pass(exchange: &mut Exchange) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    let group = match group::of_place(exchange, origin) {
        Ok(group) => group,
        Err(step) => return step,
    };
    let body = std::mem::replace(&mut exchange.request.body, RequestBody::empty());
    let payload = if body.is_empty() || !origin.pass_request_body {
        RequestPayload::Empty
    } else {
        let length = body.length();
        RequestPayload::Stream(Box::pin(body), length)
    };
    let attempts = exchange.request.origin_mut().attempts.clone();
    let request = match params::fastcgi(exchange, origin, Purpose::Visitor, payload, attempts) {
        Ok(request) => request,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            return Step::Error(500);
        }
    };
    Counters::count(&site.worker.counters.fetches);
    match fetch(exchange, &group, request).await {
        Ok(response) => respond(exchange, origin, response),
        Err(error) => fail(exchange, &error),
    }
}

/// Sends a request to a group, with what goes wrong on the way told to the error log of the exchange.
pub(crate) async fn fetch(
    exchange: &mut Exchange,
    group: &OriginGroup,
    mut request: myriad_upstream::OriginRequest,
) -> Result<OriginResponse, OriginError> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    request.affinity = group::affinity(exchange, group);
    request.observer = Some(super::observer::Observer::of(exchange));
    group.group.fetch(&site.pool, request).await
}

/// No answer: the error log says why, the client gets the status.
pub(crate) fn fail(exchange: &Exchange, error: &OriginError) -> Step {
    exchange.request.log(Level::Error, format_args!("{error}"));
    Step::Error(error.status())
}

/// Passes an origin's answer on: `X-Accel-Redirect`, intercepted errors, fields, body.
pub(crate) fn respond(exchange: &mut Exchange, origin: &OriginPlace, response: OriginResponse) -> Step {
    let OriginResponse { head, body, .. } = response;
    let step = redirected(exchange, origin, &head);
    let intercepted = origin.intercept_errors
        && head.status >= 300
        && error::has_page(&exchange.request.place().error_pages, head.status)
        && exchange.request.error_status.is_none();
    let status = head.status;
    let step = match step {
        Some(step) => step,
        None if intercepted => Step::Error(status),
        None => {
            let length = head.known(Known::ContentLength).and_then(parse_length);
            let mut answer = answer(&head, origin, true);
            let bodiless = exchange.request.head.method() == Method::Head;
            answer.length = if bodiless { length } else { None };
            answer.body = ResponseBody::Stream(body, if bodiless { None } else { length });
            answer.compressible = true;
            Step::Answer(answer)
        }
    };
    exchange.request.origin_mut().head = Some(head);
    step
}

/// `X-Accel-Redirect`: the answer is at another place of this server.
pub(crate) fn redirected(exchange: &mut Exchange, origin: &OriginPlace, head: &ResponseHead) -> Option<Step> {
    let target = head.known(Known::XAccelRedirect).filter(|_| !origin.ignore_accel.redirect)?;
    let rate = accel_rate(origin, &head.fields);
    exchange.request.limit_rate = rate.or(exchange.request.limit_rate);
    if target.starts_with(b"@") {
        return Some(Step::Named(target.into()));
    }
    // The application names a path; what is not one must not lead the server anywhere.
    if !target.starts_with(b"/") || climbs(target) {
        exchange.request.log(Level::Error, format_args!("X-Accel-Redirect to an unsafe path"));
        return Some(Step::Error(404));
    }
    phases::local_redirect(&mut exchange.request, target);
    Some(Step::Redirect)
}

fn climbs(path: &[u8]) -> bool {
    path.contains(&0) || path.split(|byte| *byte == b'/').any(|part| part == b"..")
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
    if !head.reason.is_empty() && head.reason != myriad_http::head::reason_phrase(head.status).as_bytes() {
        answer.reason = std::str::from_utf8(&head.reason).ok().map(Into::into);
    }
    for (known, name, value) in head.fields.iter_known() {
        if known == Some(Known::ContentType) {
            answer.media_type = Some(Cow::Owned(with_charset(value, origin, &head.fields)));
        } else if passes(known, name, origin, own) {
            answer.field(name, value);
        }
    }
    answer.limit_rate = accel_rate(origin, &head.fields);
    let coding = head.known(Known::ContentEncoding);
    answer.compressible = coding.is_none_or(|token| coding_from_token(token).is_none());
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
            | Known::Trailer
            | Known::Upgrade
            | Known::ContentLength
            | Known::Status,
        ) => return false,
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
    !hidden && !listed(&origin.hide)
}
