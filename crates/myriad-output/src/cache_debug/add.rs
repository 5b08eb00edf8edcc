//! Response fields that describe the cache handling.

use myriad_net::ResponseText;
use myriad_policy::CacheStatus;

use super::status;
use myriad_exchange::exchange::{ContentResponse, Request, ResponseSource};
use myriad_exchange::runtime::DebugRules;

/// Request header field by which a client requests the cache key and the cache zone in the response.
const ASKED: &[u8] = b"x-cache-debug";

/// Adds `Cache-Status` as configured by `cache_status`, if the request has a cache status or a reason for none. With
/// `cache_debug`, also adds to responses with a cache status `X-Cache` (unless `add_header` sets it), `X-Cache-Age` for
/// a page that was not fetched for this request, and key and zone for an authorized client that requests them.
pub(crate) fn add(request: &Request, rules: &DebugRules, answer: &ContentResponse, head: &mut ResponseText) {
    let facts = &request.cache;
    // As in nginx, a request with a method that the cache does not handle has no status, but it has a reason.
    let status = facts.report.status.or(facts.report.reason.map(|_| CacheStatus::Bypass));
    let is_left_out =
        |status: &CacheStatus| rules.status.is_empty() || (rules.without_hits && status::is_hit(*status));
    if let Some(status) = status.filter(|status| !is_left_out(status)) {
        let page = match &answer.source {
            ResponseSource::Page(page) => Some(page),
            _ => None,
        };
        let ttl_s = page.and_then(|page| status::seconds_left(page.fresh_until(), request.received.at_ms));
        let forwarded = request.origin.as_ref().and_then(|facts| facts.head.as_ref()).map(|head| head.status);
        // The detailed reason contains file names of the origin, so only administrators receive it.
        let is_detailed =
            facts.report.explanation.is_some() && request.may_administer(rules.from.as_deref()).is_ok();
        let reason =
            if is_detailed { facts.report.whole_reason() } else { facts.report.reason.map(Into::into) };
        status::add(&rules.status, (status, &facts.report), reason, (ttl_s, forwarded), head);
    }
    let Some(status) = facts.report.status.filter(|_| rules.debug) else { return };
    if !rules.has_x_cache {
        head.append_field(b"X-Cache", status.as_str().as_bytes());
    }
    // A page fetched for this request has no age, even if it is already stored completely.
    let is_fetched = matches!(status, CacheStatus::Miss | CacheStatus::Expired | CacheStatus::Bypass);
    if let Some(age) = facts.report.age_s.filter(|_| !is_fetched) {
        head.append_number(b"X-Cache-Age", age);
    }
    if request.received.head.fields().get_all(ASKED).next().is_none()
        || request.may_administer(rules.from.as_deref()).is_err()
    {
        return;
    }
    if let Some(Some(zone)) = request.runtime().zone_list.get(usize::from(facts.report.zone)) {
        head.append_field(b"X-Cache-Zone", zone.zone.name().as_bytes());
    }
    // A key may contain any byte.
    head.append_field(b"X-Cache-Key", facts.key.escape_ascii().to_string().as_bytes());
}
