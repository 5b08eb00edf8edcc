//! Redirect of HTTP requests to HTTPS.

use myriad_http::Method;
use myriad_http::uri::split_target;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::responses::redirect::redirect;

/// Folder of ACME challenges, which are not redirected: certificate authorities request them by HTTP, and another
/// program may serve them.
const CHALLENGES: &[u8] = b"/.well-known/acme-challenge/";

/// Returns the redirect to the same host and URI by HTTPS, if `https_only` of the server requires it. GET and HEAD get
/// 301, which every client and cache supports; other methods get 308, which preserves the method (RFC 9110 section
/// 15.4.9). Returns `None` for requests by HTTPS (also if a trusted proxy reports this), ACME challenges, requests
/// without a host or with an invalid target, and while the server's ACME certificate is not available yet.
pub(crate) fn redirect_to_https(exchange: &mut Exchange) -> Option<PhaseStep> {
    let request = &exchange.request;
    let rules = request.server().https_only.as_ref()?;
    if request.received.connection.tls().is_some() {
        return None;
    }
    // Similar requests must not reuse this result: it also depends on the address of the client and `X-Forwarded-Proto`
    // (trusted proxies), and on whether the ACME certificate is available.
    request.shortcut.depends_on_more.set(true);
    if request.is_https_from_client()
        || request.route.uri.starts_with(CHALLENGES)
        || rules.awaits.as_ref().is_some_and(|slot| !slot.is_ready())
        || request.route.host.is_empty()
    {
        return None;
    }
    let target = split_target(request.received.head.target()).ok()?;
    let mut url = b"https://".to_vec();
    url.extend_from_slice(&request.route.host);
    url.extend_from_slice(rules.port.as_bytes());
    url.extend_from_slice(if target.path.starts_with(b"/") { target.path } else { b"/" });
    if let Some(query) = target.query {
        url.push(b'?');
        url.extend_from_slice(query);
    }
    let status = if matches!(request.received.head.method(), Method::Get | Method::Head) { 301 } else { 308 };
    Some(PhaseStep::Answer(redirect(&mut exchange.request, status, &url)))
}
