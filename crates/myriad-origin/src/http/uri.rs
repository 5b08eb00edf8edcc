//! URL and URI of a request to an HTTP origin.

use std::io::Write;

use myriad_http::uri::{EscapeKind, escape};

use super::pass_url::PassUrl;
use super::place::HttpPlace;
use myriad_exchange::exchange::Request;

/// Returns the origin's URL for the request: that of the location, or, if `proxy_pass` contains variables, the URL that
/// was evaluated for this request. `None` before the evaluation.
pub(super) fn url<'a>(request: &'a Request, http: &'a HttpPlace) -> Option<&'a PassUrl> {
    http.url.as_ref().or_else(|| prepared(request))
}

/// Returns the URL to which the variables of `proxy_pass` evaluated; `None` before the evaluation or without variables.
pub(super) fn prepared(request: &Request) -> Option<&PassUrl> {
    request.origin.as_ref()?.prepared.as_ref()?.downcast_ref()
}

/// Writes the URI of the request to the origin.
///
/// - If the URL of `proxy_pass` has no path: the client's URI as received. The current URI instead if the URI has
///   changed (by a rewrite, `set $args` or an internal redirect, and in a subrequest), or if the request target has
///   no path.
/// - If a URL with variables has a path: this path alone, which is the complete URI.
/// - If a URL without variables has a path: the current URI, in which the path of the URL replaces the location's
///   prefix, unless a rewrite has changed the URI in this location.
pub(super) fn write_uri(request: &Request, http: &HttpPlace, out: &mut Vec<u8>) {
    let path = url(request, http).map_or(&b""[..], |url| &url.uri);
    if http.url.is_none() && !path.is_empty() {
        return write_visible(path, out);
    }
    if path.is_empty()
        && !request.route.form.changed
        && let Some(target) = request.sent_uri()
    {
        return write_visible(target, out);
    }
    let mut skipped = 0;
    if !path.is_empty() && !request.route.form.off_location {
        write_visible(path, out);
        skipped = http.prefix.len().min(request.route.uri.len());
    }
    escape(&request.route.uri[skipped..], EscapeKind::Uri, out);
    if !request.route.args.is_empty() {
        out.push(b'?');
        write_visible(&request.route.args, out);
    }
}

/// Writes text with spaces and control characters percent-encoded, because they would terminate the URI or the line.
pub(super) fn write_visible(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte <= b' ' || byte == 0x7f {
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(byte);
        }
    }
}
