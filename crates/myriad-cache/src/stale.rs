//! Decision without a fresh page: serve a stale page, or fetch a new one.

use myriad_http::Known;
use myriad_policy::{CacheStatus, Reuse, reuse, wants_stored_only};
use myriad_store::KeyRef;

use crate::hidden_fields::hides_fields;
use crate::journey_step::{CacheContext, JourneyStep, PassReason, RefreshReason};
use crate::max_range_offset::begins_beyond;
use crate::origin_protection;
use crate::other_codings;
use crate::shared_fetch_headers;
use crate::stale_fallback::facts_of;
use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::Page;

/// Applies the policy to the expired page, if any, and returns the next step.
pub(crate) fn run(exchange: &mut Exchange, cached: CacheContext<'_>, stale: Option<Page>) -> JourneyStep {
    let CacheContext { origin, cache } = cached;
    let now = exchange.request.received.at_ms;
    if let Some(page) = &stale {
        match reuse(&facts_of(page), &cache.rules, now, page.is_updating(now), None) {
            Reuse::Serve(status) => return JourneyStep::Serve(page.clone(), status),
            Reuse::ServeStaleAndRefresh if hides_fields(&exchange.request, origin) => {
                return JourneyStep::Serve(page.clone(), CacheStatus::Stale);
            }
            Reuse::ServeStaleAndRefresh => return JourneyStep::Refresh(page.clone(), RefreshReason::Stale),
            Reuse::Fetch { .. } | Reuse::PassFailure => {}
        }
    }
    exchange.request.cache.report.status =
        Some(if stale.is_some() { CacheStatus::Expired } else { CacheStatus::Miss });
    exchange.request.cache.stale =
        stale.clone().or_else(|| other_codings::shared_fallback(&exchange.request));
    if cache.rules.rfc9111 && wants_stored_only(exchange.request.received.head.fields()) {
        return JourneyStep::Done(PhaseStep::Error(504));
    }
    if let Some(next) = origin_protection::instead(exchange, cached, stale.as_ref()) {
        return next;
    }
    if hides_fields(&exchange.request, origin) {
        return JourneyStep::Pass(PassReason::HiddenFields);
    }
    // A condition of `*_no_cache` that cannot be evaluated prevents storing.
    if shared_fetch_headers::is_fetched_alone(exchange, cache).unwrap_or(true) {
        return JourneyStep::Pass(PassReason::Unstored);
    }
    let head = &exchange.request.received.head;
    // The response to a request with credentials may be private, so no other request waits for it.
    if head.fields().has(Known::Authorization) && !cache.rules.authorization_in_key {
        return JourneyStep::Lead(stale);
    }
    if begins_beyond(head.known(Known::Range), cache.max_range_offset) {
        return JourneyStep::Pass(PassReason::FarRange);
    }
    if stale.is_none() && is_seldom(&exchange.request, cache) {
        return JourneyStep::Pass(PassReason::Seldom);
    }
    JourneyStep::Claim(stale)
}

/// Counts a request for the page, and returns whether it was requested less often than `*_cache_min_uses`. As in nginx,
/// a request for such a page is passed to the origin unchanged, including its range.
fn is_seldom(request: &Request, cache: &CachePlace) -> bool {
    let least = cache.rules.min_uses;
    let key = KeyRef::new(&request.cache.key);
    least > 1 && u64::from(cache.zone.zone.count_use(key, request.received.at_ms)) < least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site, store, words};

    fn judged(directives: &str, stored: bool, fields: &[(&str, &str)]) -> (String, Option<CacheStatus>) {
        let site = site(directives);
        let mut exchange = keyed(&site, fields);
        let page = stored.then(|| store(&mut exchange, &head(200, &[]), 0));
        let held = held(&exchange);
        let next = run(&mut exchange, held.get(), page);
        (words(&next), exchange.request.cache.report.status)
    }

    #[test]
    fn page_that_is_not_there_is_claimed() {
        assert_eq!(judged("", false, &[]), ("claim false".to_owned(), Some(CacheStatus::Miss)));
        assert_eq!(judged("", true, &[]), ("claim true".to_owned(), Some(CacheStatus::Expired)));
    }

    #[test]
    fn stale_page_is_served_during_refresh_if_configured() {
        let directives = "fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;";
        assert_eq!(judged(directives, true, &[]).0, "refresh Stale");
        assert_eq!(judged(directives, false, &[]).0, "claim false");
    }

    #[test]
    fn page_asked_for_seldom_is_not_fetched_for_everybody() {
        assert_eq!(judged("fastcgi_cache_min_uses 2;", false, &[]).0, "pass Seldom");
        assert_eq!(judged("fastcgi_cache_min_uses 2;", true, &[]).0, "claim true");
    }

    #[test]
    fn far_range_is_asked_of_the_origin() {
        let directives = "fastcgi_cache_max_range_offset 100;";
        assert_eq!(judged(directives, false, &[("Range", "bytes=100-")]).0, "pass FarRange");
        assert_eq!(judged(directives, false, &[("Range", "bytes=99-")]).0, "claim false");
    }

    #[test]
    fn response_to_authorization_is_not_shared_with_waiters() {
        assert_eq!(judged("", false, &[("Authorization", "Basic YTpi")]).0, "lead false");
    }

    #[test]
    fn unstorable_response_is_passed_through() {
        assert_eq!(judged("shared_fetch_headers on; fastcgi_no_cache 1;", false, &[]).0, "pass Unstored");
    }

    #[test]
    fn request_for_stored_pages_only_gets_504() {
        let only = &[("Cache-Control", "only-if-cached")];
        assert_eq!(judged("cache_rfc9111 on;", false, only).0, "error 504");
        assert_eq!(judged("", false, only).0, "claim false");
    }
}
