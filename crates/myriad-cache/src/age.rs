//! Value of the response field `Age` (RFC 9111 section 5.1).

use myriad_http::Known;
use myriad_policy::CacheStatus;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::OriginPlace;

/// Returns the value of `Age` in seconds for a page that was generated at `born` (in ms since the epoch).
///
/// `None` if the page was revalidated for this request, if it was fetched for this request and the origin sent no
/// `Age`, or if the configuration hides the field.
pub(crate) fn age_s(exchange: &Exchange, origin: &OriginPlace, born: u64) -> Option<u64> {
    let request = &exchange.request;
    if request.cache.report.status == Some(CacheStatus::Revalidated)
        || origin.answer.hide.iter().any(|hidden| **hidden == *b"age")
    {
        return None;
    }
    let head = request.origin.as_ref().and_then(|facts| facts.head.as_ref());
    if request.cache.lookup.fetched && !head.is_some_and(|head| head.fields.has(Known::Age)) {
        return None;
    }
    let now = request.received.at_ms.max(myriad_net::clock::now_ms());
    Some(now.saturating_sub(born) / 1000)
}
