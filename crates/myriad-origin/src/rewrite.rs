//! What an answer says of places of its origin's, made this server's own.

use myriad_exchange::exchange::{Answer, Exchange, MadeFrom};
use myriad_exchange::runtime::OriginPlace;
use myriad_http::{Fields, Known};

/// Rewrites the `Location`, `Refresh` and `Set-Cookie` lines of an answer, and adds what its protocol cannot tell.
pub fn rewrite(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    origin.protocol.rewrite(exchange, answer);
    origin.protocol.complete(exchange, answer);
}

/// As [`rewrite`], for an answer whose lines are those of a head with these fields: lines are looked through only where it has
/// one that may change.
pub(crate) fn rewrite_head(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    fields: &Fields,
    answer: &mut Answer,
) {
    if [Known::Location, Known::Refresh, Known::SetCookie].into_iter().any(|name| fields.has(name)) {
        origin.protocol.rewrite(exchange, answer);
    }
    origin.protocol.complete(exchange, answer);
}

/// As [`rewrite`], for a stored page: what it says is rewritten for each visitor, since rules may hold their variables.
pub fn rewrite_page(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    let MadeFrom::Page(page) = &answer.made_from else { return };
    let page = page.clone();
    let meta = page.meta();
    let own = std::mem::replace(&mut answer.lines, meta.lines().to_vec());
    if let Some((text, _)) = meta.last_modified() {
        answer.field(b"Last-Modified", text);
    }
    answer.made_from = MadeFrom::Plain;
    rewrite(exchange, origin, answer);
    answer.lines.extend_from_slice(&own);
}
