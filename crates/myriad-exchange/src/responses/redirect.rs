//! Redirects: responses that redirect the client, and internal redirects to another URI.

use std::io::Write;

use bytes::Bytes;
use myriad_http::Known;
use myriad_http::uri::{EscapeKind, escape, parse_host};
use myriad_net::ResponseBody;

use crate::exchange::ContentResponse;
use crate::exchange::PhaseStep;
use crate::exchange::{Exchange, Request};
use crate::responses::error_body::error_body;
use crate::responses::error_pages::has_page_now;
use crate::responses::msie;

/// Returns a response that redirects the client to `url`. If `url` is a path and `absolute_redirect` is on, `Location`
/// is an absolute URL. With `msie_refresh`, Internet Explorer gets a page with status 200 instead of 301 and 302. Also
/// removes a status that an `error_page` has set for the response.
pub fn redirect(request: &mut Request, status: u16, url: &[u8]) -> ContentResponse {
    let location = location(request, url);
    redirect_with(request, status, url, &location)
}

/// Returns a redirect with `location` as the value of `Location`. For status 301 and 302, if `msie_refresh` applies to
/// the client, returns an HTML page that refreshes to `url` instead. Also removes a status that an `error_page` has set
/// for the response.
fn redirect_with(request: &mut Request, status: u16, url: &[u8], location: &[u8]) -> ContentResponse {
    request.errors.forced_status = None;
    if matches!(status, 301 | 302) && msie::wants_refresh(request) {
        return refresh(url);
    }
    let place = request.place();
    let body = error_body(status, &place.headers.own.server_name);
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::from(body)));
    answer.media_type = Some(b"text/html"[..].into());
    answer.field(b"Location", location);
    answer
}

/// Returns the value of `Location` for `url`: an absolute URL if `url` is a path and `absolute_redirect` is on,
/// otherwise `url`; without control characters.
pub fn location(request: &Request, url: &[u8]) -> Vec<u8> {
    let mut location = Vec::with_capacity(url.len() + 64);
    if url.starts_with(b"/") && request.place().redirects.absolute {
        write_origin(request, &mut location);
    }
    location.extend_from_slice(url);
    location.retain(|byte| !byte.is_ascii_control());
    location
}

/// Returns the response for `msie_refresh`: a page with status 200 that refreshes to `url`. A path is not extended by
/// scheme and host, because the browser resolves it.
fn refresh(url: &[u8]) -> ContentResponse {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(msie::refresh_page(url))));
    answer.media_type = Some(b"text/html"[..].into());
    answer
}

/// Redirects like [`redirect`]. As in nginx, an `error_page` for the status takes precedence; the response of the error
/// page then gets the field `Location`, unless it has one.
pub fn redirect_or_page(exchange: &mut Exchange, status: u16, url: &[u8]) -> PhaseStep {
    let location = location(&exchange.request, url);
    page_or_redirect(exchange, status, url, location)
}

/// Redirects like [`redirect_or_page`] to a path on this server. `Location` is always the path, never an absolute URL,
/// because behind a proxy the scheme and port of this server may differ from the scheme and port that clients use.
pub fn redirect_to_path(exchange: &mut Exchange, status: u16, path: &[u8]) -> PhaseStep {
    let location = path.iter().copied().filter(|byte| !byte.is_ascii_control()).collect();
    page_or_redirect(exchange, status, path, location)
}

fn page_or_redirect(exchange: &mut Exchange, status: u16, url: &[u8], location: Vec<u8>) -> PhaseStep {
    if has_page_now(exchange, status) {
        exchange.request.errors.carried.get_or_insert_default().location = Some(location);
        return PhaseStep::Error(status);
    }
    PhaseStep::Answer(redirect_with(&mut exchange.request, status, url, &location))
}

/// Redirects the client (301) from a directory's URI without a final slash to the URI with that slash, with unchanged
/// arguments. An `error_page` for 301 takes precedence.
pub fn add_slash(exchange: &mut Exchange) -> PhaseStep {
    let request = &exchange.request;
    let mut url = Vec::with_capacity(request.route.uri.len() + request.route.args.len() + 2);
    escape(&request.route.uri, EscapeKind::Uri, &mut url);
    url.push(b'/');
    if !request.route.args.is_empty() {
        url.push(b'?');
        url.extend_from_slice(&request.route.args);
    }
    // A URL that starts with two slashes would refer to another host.
    while url.starts_with(b"//") {
        url.remove(0);
    }
    redirect_or_page(exchange, 301, &url)
}

/// Appends scheme, host and port for an absolute URL. With `server_name_in_redirect`, the host is the first
/// `server_name` if there is one; otherwise it is the host of the request, or the local address if the request has no
/// host. The port is the local port (80 for a Unix socket); if a trusted proxy reports https, it is the port in `Host`,
/// or 443 without one. The default port of the scheme is omitted, and any port if `port_in_redirect` is off.
pub fn write_origin(request: &Request, out: &mut Vec<u8>) {
    let place = request.place();
    let name = &request.server().name;
    let host: &[u8] =
        if place.redirects.server_name && !name.is_empty() { name } else { &request.route.host };
    let local = request.received.connection.local();
    let scheme = request.scheme();
    out.extend_from_slice(scheme.as_bytes());
    out.extend_from_slice(b"://");
    if host.is_empty() {
        if let Some(local) = local {
            let _ = match local.ip() {
                std::net::IpAddr::V4(ip) => write!(out, "{ip}"),
                std::net::IpAddr::V6(ip) => write!(out, "[{ip}]"),
            };
        }
    } else {
        out.extend_from_slice(host);
    }
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = if request.is_forwarded_https() {
        // Clients connect to the port of the proxy, which is in `Host`, not to the port of this server.
        sent_port(request).unwrap_or(usual)
    } else {
        local.map_or(80, |local| local.port())
    };
    if place.redirects.port && port != usual {
        let _ = write!(out, ":{port}");
    }
}

fn sent_port(request: &Request) -> Option<u16> {
    parse_host(request.received.head.known(Known::Host)?).ok()?.port
}

/// Sets the URI for an internal redirect to `target`, whose part after `?` becomes the arguments; without `?`, the
/// arguments are removed. A path that does not start with a slash gets one.
pub fn local_redirect(request: &mut Request, target: &[u8]) {
    let (path, args) = match target.iter().position(|byte| *byte == b'?') {
        Some(at) => (&target[..at], &target[at + 1..]),
        None => (target, &b""[..]),
    };
    local_redirect_to(request, path, args);
}

/// Sets the URI and the arguments for an internal redirect, and resets the state that belongs to the previous URI. In
/// contrast to [`local_redirect`], both are separate parameters, so that the path may contain `?`. A path that does not
/// start with a slash gets one.
pub fn local_redirect_to(request: &mut Request, path: &[u8], args: &[u8]) {
    request.route.uri.clear();
    if !path.starts_with(b"/") {
        request.route.uri.push(b'/');
    }
    request.route.uri.extend_from_slice(path);
    request.route.args.clear();
    request.route.args.extend_from_slice(args);
    request.route.form.escaped = false;
    request.route.form.changed = true;
    request.route.form.off_location = false;
    (request.route.form.by_candidate, request.route.form.packed) = (false, false);
    request.route.form.below_alias = false;
}
