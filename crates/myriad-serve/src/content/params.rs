//! A request in the form that an origin is asked in.

use std::fmt;

use bytes::Bytes;
use myriad_fastcgi::Params;
use myriad_http::{Fields, Known, Method};
use myriad_script::EvalError;
use myriad_upstream::{Affinity, Attempts, OriginRequest, Protocol, RequestPayload};

use super::{origin_tls, other_codings, proxy_request};
use crate::exchange::{Exchange, Request, scratch};
use crate::runtime::{Conditions, OriginPlace, Page, conditions};

/// Why a request could not be made; the client gets 500.
#[derive(Debug)]
pub(crate) enum MakeError {
    /// A variable has no value.
    Eval(EvalError),
    /// What is to be shown to the origin cannot be had; for the error log.
    Tls(String),
}

impl From<EvalError> for MakeError {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eval(error) => error.fmt(f),
            Self::Tls(why) => f.write_str(why),
        }
    }
}

/// What the request is made for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// For one visitor: everything is passed on.
    Visitor,
    /// To be stored: what asks for a part, a confirmation or an encoding is left out, and HEAD becomes GET. A page for other
    /// codings alone is asked for in those.
    Store {
        /// The page that the origin is asked to confirm.
        confirms: Option<&'a Page>,
        /// What it is told in the place of the client's fields.
        told: Option<&'a Fields>,
    },
}

impl Purpose<'_> {
    /// Whether a field of the client's is left out.
    pub(super) fn leaves_out(self, known: Option<Known>) -> bool {
        matches!(self, Purpose::Store { .. }) && known.is_some_and(|known| NOT_FOR_STORING.contains(&known))
    }

    /// The codings that the origin is asked to choose from.
    pub(super) fn codings(self, request: &Request) -> Option<&[u8]> {
        if matches!(self, Purpose::Store { .. }) { other_codings::told(request) } else { None }
    }

    /// The client's fields, or what is told in their place.
    pub(super) fn fields<'r>(self, request: &'r Request) -> &'r Fields
    where
        Self: 'r,
    {
        match self {
            Purpose::Store { told: Some(told), .. } => told,
            _ => request.head.fields(),
        }
    }

    /// The conditions on which the origin need not send the page again.
    pub(super) fn conditions(self) -> Conditions {
        match self {
            Purpose::Store { confirms: Some(page), .. } => conditions(page),
            _ => Conditions::new(),
        }
    }
}

/// Fields that an answer to be stored must not depend on.
const NOT_FOR_STORING: [Known; 7] = [
    Known::AcceptEncoding,
    Known::IfMatch,
    Known::IfModifiedSince,
    Known::IfNoneMatch,
    Known::IfRange,
    Known::IfUnmodifiedSince,
    Known::Range,
];

/// Makes the request of the current place, in the protocol that its origin speaks.
pub(crate) fn make(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    purpose: Purpose<'_>,
    payload: RequestPayload,
    attempts: Attempts,
) -> Result<OriginRequest, MakeError> {
    let (protocol, method, body) = if let Some(http) = &origin.http {
        proxy_request::make(exchange, origin, http, purpose, payload)?
    } else {
        let (protocol, method) = fastcgi(exchange, origin, purpose)?;
        (protocol, method, payload)
    };
    let tls = match &origin.http {
        Some(http) => origin_tls::of_request(exchange, http)?,
        None => None,
    };
    Ok(OriginRequest {
        protocol,
        method,
        body,
        timeouts: origin.timeouts,
        retry: origin.next,
        max_head: origin.head_bytes,
        affinity: Affinity::None,
        bind: None,
        tls,
        queues: true,
        observer: None,
        attempts,
    })
}

/// Makes the FastCGI request of the current place.
///
/// Parameters that the configuration sets come first and hide the client's own fields of that name, so that no client
/// can pose as a parameter.
fn fastcgi(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    purpose: Purpose<'_>,
) -> Result<(Protocol, Method), EvalError> {
    let mut params = Params::with_capacity(2048);
    let Exchange { request, frame } = exchange;
    for param in &origin.params {
        if let Some(value) = param.value.as_static() {
            if !(value.is_empty() && param.if_not_empty) {
                params.push(&param.name, value);
            }
            continue;
        }
        scratch::with_buffer(|value| {
            param.value.eval(request, frame, value)?;
            if !(value.is_empty() && param.if_not_empty) {
                params.push(&param.name, value);
            }
            Ok::<_, EvalError>(())
        })?;
    }
    if origin.pass_request_headers {
        push_fields(exchange, origin, purpose, &mut params);
    }
    if let Some(codings) = purpose.codings(&exchange.request) {
        params.push(b"HTTP_ACCEPT_ENCODING", codings);
    }
    for (condition, value) in purpose.conditions() {
        let name = condition.param();
        if !origin.params.iter().any(|param| *param.name == *name) {
            params.push(name, &value);
        }
    }
    let method = match (purpose, exchange.request.head.method()) {
        (Purpose::Store { .. }, Method::Head) => Method::Get,
        (_, method) => method,
    };
    let params = Bytes::from(params.into_bytes());
    Ok((Protocol::FastCgi { params, keep_conn: origin.keep_conn }, method))
}

/// The client's fields as `HTTP_*` (RFC 3875 section 4.1.18). `Proxy` never goes: applications take it for a setting.
fn push_fields(exchange: &Exchange, origin: &OriginPlace, purpose: Purpose<'_>, params: &mut Params) {
    let fields = purpose.fields(&exchange.request);
    let mut name = Vec::with_capacity(64);
    let mut seen: Vec<Known> = Vec::new();
    let mut others: Vec<(Vec<u8>, &[u8])> = Vec::new();
    // Most requests have no more than one field without an identity; the rest may repeat each other.
    let singular = fields.iter_known().filter(|(known, ..)| known.is_none()).nth(1).is_none();
    for (known, field, value) in fields.iter_known() {
        if let Some(known) = known {
            let framing =
                matches!(known, Known::ContentLength | Known::ContentType | Known::TransferEncoding);
            if framing || purpose.leaves_out(Some(known)) || seen.contains(&known) {
                continue;
            }
        }
        name.clear();
        name.extend_from_slice(b"HTTP_");
        name.extend(field.iter().map(|byte| match byte {
            b'-' => b'_',
            byte => byte.to_ascii_uppercase(),
        }));
        let set = origin.params.iter().any(|param| *param.name == *name);
        if set || &name[..] == b"HTTP_PROXY" {
            continue;
        }
        match known {
            Some(known) if fields.is_repeated(known) => {
                // RFC 9110 section 5.3: several fields are one list; cookies are joined as RFC 9113 section 8.2.3 says.
                let separator: &[u8] = if known == Known::Cookie { b"; " } else { b", " };
                let values: Vec<&[u8]> = fields.known_all(known).collect();
                params.push(&name, &values.join(separator));
                seen.push(known);
            }
            None if !singular => others.push((name.clone(), value)),
            _ => {
                params.push(&name, value);
            }
        }
    }
    push_joined(others, params);
}

/// Pushes fields that may repeat each other, each name once: its values are one list (RFC 9110 section 5.3).
fn push_joined(mut fields: Vec<(Vec<u8>, &[u8])>, params: &mut Params) {
    // The sort is stable: the values of a name stay in order.
    fields.sort_by(|(left, _), (right, _)| left.cmp(right));
    for same in fields.chunk_by(|(left, _), (right, _)| left == right) {
        let values: Vec<&[u8]> = same.iter().map(|(_, value)| *value).collect();
        params.push(&same[0].0, &values.join(&b", "[..]));
    }
}
