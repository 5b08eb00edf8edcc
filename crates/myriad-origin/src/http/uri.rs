//! The URI that an HTTP origin is asked for.

use std::io::Write;

use myriad_http::uri::{Escape, escape};

use super::pass_url::PassUrl;
use super::place::HttpPlace;
use myriad_exchange::exchange::Request;

/// The URL that is asked now: the place's own, or what its variables made.
pub(super) fn url<'a>(request: &'a Request, http: &'a HttpPlace) -> Option<&'a PassUrl> {
    http.url.as_ref().or_else(|| prepared(request))
}

/// The URL that variables of `proxy_pass` made; none before they were read.
pub(super) fn prepared(request: &Request) -> Option<&PassUrl> {
    request.origin.as_ref()?.prepared.as_ref()?.downcast_ref()
}

/// Writes the URI as the origin is asked for it.
///
/// Without a path in the URL it is the client's own, to the letter, unless a rewrite or an internal redirect has made
/// another; with one, the path takes the place of the location's prefix. A path that variables made is the whole URI.
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
    escape(&request.route.uri[skipped..], Escape::Uri, out);
    if !request.route.args.is_empty() {
        out.push(b'?');
        write_visible(&request.route.args, out);
    }
}

/// Blanks and control bytes would end the URI, or the line: they go escaped.
pub(super) fn write_visible(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte <= b' ' || byte == 0x7f {
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(byte);
        }
    }
}
