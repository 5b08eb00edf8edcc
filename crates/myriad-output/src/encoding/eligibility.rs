//! Test whether a request may receive compressed responses (`gzip_http_version`, `gzip_disable`, `gzip_proxied`).

use myriad_http::{HttpVersion, Known};
use myriad_store::page::ProxiedFacts;

use crate::agents::is_msie6;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CodingOffer;

/// Returns whether `gzip_http_version`, `gzip_disable` and `gzip_proxied` permit compression for a request. `facts` is
/// only read for requests of proxies.
pub(super) fn covers(offer: &CodingOffer, request: &Request, facts: ProxiedFacts) -> bool {
    if request.received.head.version() == HttpVersion::Http10 && !offer.http_1_0 {
        return false;
    }
    if let Some(agent) = request.received.head.known(Known::UserAgent)
        && (offer.disable_msie6 && is_msie6(agent)
            || offer.disable.iter().any(|regex| regex.is_match(agent).unwrap_or(false)))
    {
        return false;
    }
    !request.received.head.fields().has(Known::Via) || proxied_allows(offer, request, facts)
}

/// Returns whether `gzip_proxied` permits compression, as in nginx: always with `any`, and with `auth` for a request
/// with `Authorization`; never with `off`; otherwise by `Expires` if the response has it, otherwise by
/// `Cache-Control`, otherwise by missing validators.
fn proxied_allows(offer: &CodingOffer, request: &Request, facts: ProxiedFacts) -> bool {
    let rules = offer.proxied;
    if rules.any || rules.auth && request.received.head.fields().has(Known::Authorization) {
        return true;
    }
    if rules.is_off() {
        return false;
    }
    if let Some(expired) = facts.expired {
        return rules.expired && expired;
    }
    if facts.has_cache_control {
        return rules.no_cache && facts.no_cache
            || rules.no_store && facts.no_store
            || rules.private && facts.private;
    }
    !(rules.no_last_modified && facts.has_last_modified || rules.no_etag && facts.has_etag)
}
