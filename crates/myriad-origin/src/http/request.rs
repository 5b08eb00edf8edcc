//! Creation of a request to an HTTP origin (`proxy_*`).
//!
//! No configuration can make the head ambiguous: this server sets the framing of the body, and line breaks in values of
//! variables are replaced or encoded.

use std::borrow::Cow;
use std::io::Write;

use bytes::Bytes;
use myriad_http::h1::connection_options;
use myriad_http::{HttpVersion, Known, Method};
use myriad_script::{EvalError, Template};
use myriad_upstream::{Protocol, RequestPayload};

use super::pass_url::PassUrl;
use super::place::HttpPlace;
use super::uri::{url, write_uri};
use crate::connection_listed_fields::ConnectionListedFields;
use crate::upgrade;
use myriad_exchange::exchange::{Exchange, FetchPurpose, Request, exchange_buffers};
use myriad_exchange::runtime::RequestRules;

/// Builds the HTTP request to the origin of the current location. Returns the encoded head in its protocol, the method
/// and the body.
pub(crate) fn make(
    exchange: &mut Exchange,
    rules: RequestRules,
    http: &HttpPlace,
    purpose: FetchPurpose<'_>,
    payload: RequestPayload,
) -> Result<(Protocol, Method, RequestPayload), EvalError> {
    let mut head = Vec::with_capacity(1024);
    let method = write_line(exchange, http, &mut head)?;
    write_host(exchange, http, &mut head)?;
    let options = write_fields(exchange, http, &mut head)?;
    let asked = write_upgrade(exchange, http, &mut head)?;
    // A 101 response is only valid for a client that can switch protocols.
    let fields = exchange.request.received.head.fields();
    let can_take =
        fields.has(Known::Upgrade) && exchange.request.received.head.version() == HttpVersion::Http11;
    let upgrade = if options.upgrade && can_take { asked } else { Bytes::new() };
    if http.fields.requests_trailers && wants_trailers(&exchange.request) {
        head.extend_from_slice(b"TE: trailers\r\n");
    }
    let payload = request_body(exchange, http, payload)?;
    write_framing(exchange, http, &payload, &mut head);
    if rules.pass_fields {
        write_client_fields(&exchange.request, http, purpose, &mut head);
    }
    if let Some(codings) = purpose.codings(&exchange.request) {
        for part in [b"Accept-Encoding: ", codings, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    write_conditions(http, purpose, &mut head);
    head.extend_from_slice(b"\r\n");
    let keep_alive = if http.http_1_1 { !options.close } else { options.keep_alive };
    let head = Bytes::from(head);
    let protocol = if http.http_2 {
        let is_secure = url(&exchange.request, http).is_some_and(PassUrl::is_secure);
        Protocol::Http2 { head, is_secure }
    } else {
        Protocol::Http { head, keep_alive, upgrade }
    };
    Ok((protocol, method, payload))
}

fn write_line(exchange: &mut Exchange, http: &HttpPlace, head: &mut Vec<u8>) -> Result<Method, EvalError> {
    let Exchange { request, frame } = exchange;
    match &http.method {
        _ if request.route.as_get => head.extend_from_slice(b"GET"),
        Some(template) => exchange_buffers::with_buffer(|method| {
            template.eval(request, frame, method)?;
            head.extend(method.iter().filter(|byte| byte.is_ascii_graphic()));
            Ok::<_, EvalError>(())
        })?,
        None => {}
    }
    if head.is_empty() {
        head.extend_from_slice(request.received.head.method_bytes());
    }
    let method = Method::from_bytes(head);
    head.push(b' ');
    write_uri(request, http, head);
    head.extend_from_slice(if http.http_1_1 { b" HTTP/1.1\r\n" } else { b" HTTP/1.0\r\n" });
    Ok(method)
}

/// Writes the `Host` field. HTTP/1.1 requires it (RFC 9112 section 3.2), so an empty configured value is replaced by
/// the host of the URL; with HTTP/1.0 the field is omitted.
fn write_host(exchange: &mut Exchange, http: &HttpPlace, head: &mut Vec<u8>) -> Result<(), EvalError> {
    let Exchange { request, frame } = exchange;
    let before = head.len();
    head.extend_from_slice(b"Host: ");
    let value_at = head.len();
    if let Some(template) = &http.fields.host {
        write_value(template, request, frame, head)?;
    }
    if head.len() == value_at && (http.fields.host.is_none() || http.http_1_1) {
        let host = url(request, http).map_or(Cow::Borrowed(""), PassUrl::proxy_host);
        head.extend_from_slice(host.as_bytes());
    }
    if head.len() == value_at {
        head.truncate(before);
    } else {
        head.extend_from_slice(b"\r\n");
    }
    Ok(())
}

/// Writes a field value to the request head, with line breaks and NUL replaced by spaces (RFC 9110 section 5.5).
fn write_value(
    template: &Template,
    request: &Request,
    frame: &mut myriad_script::Frame,
    head: &mut Vec<u8>,
) -> Result<(), EvalError> {
    let from = head.len();
    template.eval(request, frame, head)?;
    for byte in &mut head[from..] {
        if matches!(byte, b'\r' | b'\n' | 0) {
            *byte = b' ';
        }
    }
    Ok(())
}

/// Options in the `Connection` field of the request that the configuration sets.
#[derive(Default)]
struct Options {
    close: bool,
    keep_alive: bool,
    upgrade: bool,
}

fn write_fields(exchange: &mut Exchange, http: &HttpPlace, head: &mut Vec<u8>) -> Result<Options, EvalError> {
    let Exchange { request, frame } = exchange;
    let mut options = Options::default();
    for field in &http.fields.written {
        let before = head.len();
        head.extend_from_slice(&field.name);
        head.extend_from_slice(b": ");
        let value_at = head.len();
        write_value(&field.value, request, frame, head)?;
        if head.len() == value_at {
            head.truncate(before);
            continue;
        }
        if field.name.eq_ignore_ascii_case(b"connection") {
            let parsed_options = connection_options(&head[value_at..]);
            options.close |= parsed_options.close;
            options.keep_alive |= parsed_options.keep_alive;
            options.upgrade |= parsed_options.upgrade;
        }
        head.extend_from_slice(b"\r\n");
    }
    Ok(options)
}

/// Writes the `Upgrade` field with the configured protocols that `upgrade_protocols` allows, and returns them; empty
/// for none.
fn write_upgrade(exchange: &mut Exchange, http: &HttpPlace, head: &mut Vec<u8>) -> Result<Bytes, EvalError> {
    let Some(template) = &http.fields.upgrade else { return Ok(Bytes::new()) };
    let Exchange { request, frame } = exchange;
    let mut value = Vec::new();
    write_value(template, request, frame, &mut value)?;
    let allowed = upgrade::allowed(&value, &http.fields.upgrade_protocols);
    if !allowed.is_empty() {
        for part in [b"Upgrade: ", &allowed[..], b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    Ok(Bytes::from(allowed))
}

/// Returns whether the client accepts trailers (`TE: trailers`, RFC 9110 section 10.1.4).
fn wants_trailers(request: &Request) -> bool {
    let lists = request.received.head.fields().known_all(Known::Te);
    let mut codings = lists.flat_map(|list| list.split(|byte| *byte == b','));
    codings.any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"))
}

/// Returns the request body of `proxy_set_body` if it is configured, otherwise `payload`.
fn request_body(
    exchange: &mut Exchange,
    http: &HttpPlace,
    payload: RequestPayload,
) -> Result<RequestPayload, EvalError> {
    let Some(template) = &http.body else { return Ok(payload) };
    let Exchange { request, frame } = exchange;
    let mut body = Vec::new();
    template.eval(request, frame, &mut body)?;
    Ok(RequestPayload::Bytes(Bytes::from(body)))
}

/// Writes the `Content-Length` or `Transfer-Encoding` field for the body that is sent. Without a body, the length 0 is
/// written only if the client announced a body, and the configuration does not omit it.
fn write_framing(exchange: &Exchange, http: &HttpPlace, payload: &RequestPayload, head: &mut Vec<u8>) {
    let fields = exchange.request.received.head.fields();
    let sent_empty = fields.has(Known::ContentLength)
        || fields.has(Known::TransferEncoding)
        || exchange.request.upload.body.is_on_stream();
    let length = match payload {
        RequestPayload::Empty => (sent_empty && !http.fields.no_length).then_some(0),
        RequestPayload::Bytes(bytes) => Some(bytes.len() as u64),
        RequestPayload::Stream(_, None) => {
            head.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            return;
        }
        RequestPayload::Again(_, length) => Some(*length),
        RequestPayload::Stream(_, length) => *length,
    };
    if let Some(length) = length {
        let _ = write!(head, "Content-Length: {length}\r\n");
    }
}

/// Writes the client's fields to the request head, except fields that the configuration sets, hop-by-hop fields, and
/// fields that the purpose of the fetch omits.
fn write_client_fields(request: &Request, http: &HttpPlace, purpose: FetchPurpose<'_>, head: &mut Vec<u8>) {
    let fields = purpose.fields(request);
    let nominated = ConnectionListedFields::of(fields);
    for (known, name, value) in fields.iter_known() {
        if purpose.omits(known) || http.fields.replaced.has(known, name) || nominated.has(name) {
            continue;
        }
        for part in [name, b": ", value, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
}

/// Writes conditional fields (such as `If-None-Match`) to revalidate a stored page. As in nginx, `proxy_set_header`
/// with the same name takes precedence.
fn write_conditions(http: &HttpPlace, purpose: FetchPurpose<'_>, head: &mut Vec<u8>) {
    for (condition, value) in purpose.conditions() {
        let name = condition.field();
        if !http.fields.replaced.has(Some(condition.known_header()), name) {
            for part in [name, b": ", &value, b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
    }
}
