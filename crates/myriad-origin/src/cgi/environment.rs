//! CGI environment of a request (RFC 3875 section 4.1).

use myriad_http::{Known, Method};
use myriad_script::EvalError;

use super::CgiPlace;
use super::pairs::{Pairs, push_name};
use myriad_exchange::exchange::{Exchange, FetchPurpose, exchange_buffers};
use myriad_exchange::runtime::RequestRules;

/// Writes the CGI environment of the request to `params`: the configured parameters, the header fields (unless
/// `*_pass_request_headers off`), the accepted codings and the conditions of the fetch. Fails if a parameter cannot be
/// evaluated.
///
/// Configured parameters come first and replace the client's header fields of the same name, so that a client cannot
/// override a configured parameter.
pub(crate) fn write(
    exchange: &mut Exchange,
    rules: RequestRules,
    place: &CgiPlace,
    purpose: FetchPurpose<'_>,
    params: &mut impl Pairs,
) -> Result<(), EvalError> {
    exchange_buffers::with_buffer(|value| push_params(exchange, place, purpose, value, params))?;
    if rules.pass_fields {
        push_fields(exchange, place, purpose, params);
    }
    if let Some(codings) = purpose.codings(&exchange.request) {
        params.push(b"HTTP_ACCEPT_ENCODING", codings);
    }
    for (condition, value) in purpose.conditions() {
        let name = condition.param();
        if !place.has(name) {
            params.push(name, &value);
        }
    }
    Ok(())
}

/// Pushes the configured parameters (such as `fastcgi_param`) with their values, except empty ones with
/// `if_not_empty` and those that only hide an `HTTP_*` field. In a fetch for all clients, parameters that describe
/// the body of the request are empty ([`describes_no_body`]). `value` is a buffer.
fn push_params(
    exchange: &mut Exchange,
    place: &CgiPlace,
    purpose: FetchPurpose<'_>,
    value: &mut Vec<u8>,
    params: &mut impl Pairs,
) -> Result<(), EvalError> {
    let Exchange { request, frame } = exchange;
    for param in &**place.params {
        if let Some(value) = param.value.as_static() {
            // As in nginx, `fastcgi_param HTTP_PROXY "";` only prevents that the client's field is forwarded.
            let hides = value.is_empty() && param.name.starts_with(b"HTTP_");
            if !(hides || value.is_empty() && param.if_not_empty) {
                params.push(&param.name, value);
            }
            continue;
        }
        value.clear();
        param.value.eval(request, frame, value)?;
        if describes_no_body(&param.name, value, purpose) {
            value.clear();
        }
        if !(value.is_empty() && param.if_not_empty) {
            params.push(&param.name, value);
        }
    }
    Ok(())
}

/// Returns whether a parameter describes the client's request body although a shared fetch (for all clients) sends none
/// (RFC 3875 sections 4.1.2 and 4.1.3). The value comes from a single client and would affect the page of all clients.
fn describes_no_body(name: &[u8], value: &[u8], purpose: FetchPurpose<'_>) -> bool {
    let (FetchPurpose::Store { replacement_fields: Some(sent), .. }
    | FetchPurpose::Sample { replacement_fields: Some(sent) }) = purpose
    else {
        return false;
    };
    match name {
        b"CONTENT_TYPE" => !sent.has(Known::ContentType),
        b"CONTENT_LENGTH" => value == b"0",
        _ => false,
    }
}

/// Returns the method of the request to the origin: the client's method, but GET for HEAD if the response is to be
/// stored or is fetched for a verification of the leak guard, and for a POST request that `*_cache_share` has
/// converted.
pub(crate) fn method(exchange: &Exchange, purpose: FetchPurpose<'_>) -> Method {
    match (purpose, exchange.request.received.head.method()) {
        (_, Method::Post) if exchange.request.cache.shared_by_condition => Method::Get,
        (FetchPurpose::Store { .. } | FetchPurpose::Sample { .. }, Method::Head) => Method::Get,
        (_, method) => method,
    }
}

/// Pushes header fields as `HTTP_*` (RFC 3875 section 4.1.18): the client's fields, or in a shared fetch the fields
/// that replace the client's fields. `Transfer-Encoding`, fields that a configured parameter replaces, and fields that
/// the purpose of the fetch omits are left out. `Proxy` is never forwarded: applications interpret `HTTP_PROXY` as a
/// proxy setting.
fn push_fields(exchange: &Exchange, place: &CgiPlace, purpose: FetchPurpose<'_>, params: &mut impl Pairs) {
    let fields = purpose.fields(&exchange.request);
    let mut name = Vec::with_capacity(64);
    let mut seen: Vec<Known> = Vec::new();
    let mut others: Vec<(Vec<u8>, &[u8])> = Vec::new();
    // With at most one unregistered field, as in most requests, no unregistered name can be repeated.
    let singular = fields.iter_known().filter(|(known, ..)| known.is_none()).nth(1).is_none();
    for (known, field, value) in fields.iter_known() {
        if let Some(known) = known {
            // The transfer coding has been removed from the body. As in nginx, `HTTP_CONTENT_LENGTH` and
            // `HTTP_CONTENT_TYPE` are forwarded.
            let coding = known == Known::TransferEncoding;
            if coding || purpose.omits(Some(known)) || seen.contains(&known) {
                continue;
            }
        }
        name.clear();
        name.extend_from_slice(b"HTTP_");
        push_name(field, &mut name);
        if place.has(&name) || &name[..] == b"HTTP_PROXY" {
            continue;
        }
        match known {
            Some(known) if fields.is_repeated(known) => {
                // Values of a repeated field form one list (RFC 9110 section 5.3); cookies are joined as in RFC 9113
                // section 8.2.3.
                let separator: &[u8] = if known == Known::Cookie { b"; " } else { b", " };
                let values: Vec<&[u8]> = fields.known_all(known).collect();
                params.push(&name, &values.join(separator));
                seen.push(known);
            }
            None if !singular => others.push((name.clone(), value)),
            _ => params.push(&name, value),
        }
    }
    push_joined(others, params);
}

/// Pushes header fields whose names may be repeated: each name once, with a list of its values (RFC 9110 section 5.3).
fn push_joined(mut fields: Vec<(Vec<u8>, &[u8])>, params: &mut impl Pairs) {
    // The sort is stable: the values of a name remain in order.
    fields.sort_by(|(left, _), (right, _)| left.cmp(right));
    for same in fields.chunk_by(|(left, _), (right, _)| left == right) {
        let values: Vec<&[u8]> = same.iter().map(|(_, value)| *value).collect();
        params.push(&same[0].0, &values.join(&b", "[..]));
    }
}
