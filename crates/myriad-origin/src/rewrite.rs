//! Rewriting of an origin's redirects and cookies for clients.

use myriad_exchange::exchange::{ContentResponse, Exchange, ResponseSource};
use myriad_exchange::runtime::OriginPlace;
use myriad_http::{Fields, Known};

/// Rewrites the `Location`, `Refresh` and `Set-Cookie` fields of a response, and adds fields that the protocol cannot
/// transfer, such as the media type of a memcached value.
pub fn rewrite(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut ContentResponse) {
    origin.protocol.rewrite(exchange, answer);
    origin.protocol.complete(exchange, answer);
}

/// Rewrites a response like [`rewrite`]. Its header lines come from a head with these `fields`, so they are only
/// scanned if `fields` contain one that may be rewritten.
pub fn rewrite_head(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    fields: &Fields,
    answer: &mut ContentResponse,
) {
    if [Known::Location, Known::Refresh, Known::SetCookie].into_iter().any(|name| fields.has(name)) {
        origin.protocol.rewrite(exchange, answer);
    }
    origin.protocol.complete(exchange, answer);
}

/// Rewrites a response that serves a stored page like [`rewrite`], for each client again, because the rules may contain
/// variables of the request. No effect on other responses.
pub fn rewrite_page(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut ContentResponse) {
    let ResponseSource::Page(page) = &answer.source else { return };
    let page = page.clone();
    let meta = page.meta();
    let own = std::mem::replace(&mut answer.lines, meta.lines().to_vec());
    if let Some((text, _)) = meta.last_modified() {
        answer.field(b"Last-Modified", text);
    }
    answer.source = ResponseSource::Plain;
    rewrite(exchange, origin, answer);
    answer.lines.extend_from_slice(&own);
}
