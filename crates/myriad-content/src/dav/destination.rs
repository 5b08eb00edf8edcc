//! Destination of COPY and MOVE: the field `Destination` (RFC 4918 section 10.3).

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::Rooting;
use myriad_http::Known;
use myriad_http::uri::{normalize_path, parse_host, split_target, unescape};

use super::failure::{DavFailure, DavResult};

/// Returns the decoded and normalized path of `Destination`, which is a path or a URL. Returns an error if it is
/// missing or invalid, names another host or scheme, is outside of an `alias`, or if only one of source and destination
/// ends with a slash.
pub(super) fn destination(request: &Request) -> DavResult<Vec<u8>> {
    let head = &request.received.head;
    let Some(value) = head.known(Known::Destination) else {
        return Err(DavFailure::new(400, "client sent no \"Destination\" header"));
    };
    let shown = String::from_utf8_lossy(value);
    let invalid = || DavFailure::new(400, format!("client sent invalid \"Destination\" header: \"{shown}\""));
    let target = split_target(value).map_err(|_| invalid())?;
    if let Some(authority) = target.authority {
        let scheme = if request.is_https_from_client() { "https" } else { "http" };
        let is_ours = target.scheme.is_some_and(|given| given.eq_ignore_ascii_case(scheme.as_bytes()));
        // A URL without a path names no resource.
        if !is_ours || !value.ends_with(target.path) && target.query.is_none() {
            return Err(invalid());
        }
        let host = parse_host(authority).map_err(|_| invalid())?;
        if *host.name != *request.route.host {
            let text = format!(
                "\"Destination\" URI \"{shown}\" is handled by different repository than the source URI"
            );
            return Err(DavFailure::new(400, text));
        }
    }
    let mut decoded = Vec::new();
    unescape(target.path, &mut decoded);
    let climbs = decoded.split(|byte| *byte == b'/').any(|part| part == b"..");
    let mut uri = Vec::new();
    if climbs || normalize_path(target.path, true, &mut uri).is_err() {
        return Err(invalid());
    }
    within_alias(request, &uri, &shown)?;
    let uris = [&uri, &request.route.uri];
    if uris[0].ends_with(b"/") != uris[1].ends_with(b"/") {
        let source = String::from_utf8_lossy(&request.route.uri);
        let what = "should be either collections or non-collections";
        let text = format!("both URI \"{source}\" and \"Destination\" URI \"{shown}\" {what}");
        return Err(DavFailure::new(409, text));
    }
    Ok(uri)
}

/// Returns an error for a destination outside of the location prefix if `alias` is used, because the alias replaces
/// only this prefix.
fn within_alias(request: &Request, uri: &[u8], shown: &str) -> DavResult<()> {
    let Rooting::Alias(prefix) = request.place().files.rooting else { return Ok(()) };
    if uri.len() >= prefix && uri.get(..prefix) == request.route.uri.get(..prefix) {
        return Ok(());
    }
    let what = "must be within location prefix when using \"alias\"";
    Err(DavFailure::new(400, format!("\"Destination\" URI \"{shown}\" {what}")))
}
