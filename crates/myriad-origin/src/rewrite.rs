//! Rewriting of origin URLs in responses to URLs of this server.

use myriad_exchange::exchange::{ContentResponse, Exchange, ResponseSource};
use myriad_exchange::runtime::OriginPlace;
use myriad_http::{Fields, Known};

/// Rewrites the `Location`, `Refresh` and `Set-Cookie` lines of a response, and adds fields that the protocol cannot
/// transfer.
pub fn rewrite(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut ContentResponse) {
    origin.protocol.rewrite(exchange, answer);
    origin.protocol.complete(exchange, answer);
}

/// Like [`rewrite`], for a response whose lines originate from a head with these fields. The lines are scanned only if
/// the head contains a field that may be rewritten.
pub(crate) fn rewrite_head(
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

/// Like [`rewrite`], for a stored page. It is rewritten for each client, because rules may contain variables of the
/// request.
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
