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

/// Counts a request for the page, and returns whether the page was requested less often than `*_cache_min_uses` so far.
/// With `*_cache_min_uses 1`, counts nothing and returns false. As in nginx, a request for such a page is passed to the
/// origin unchanged, including its range.
fn is_seldom(request: &Request, cache: &CachePlace) -> bool {
    let least = cache.rules.min_uses;
    let key = KeyRef::new(&request.cache.key);
    least > 1 && u64::from(cache.zone.zone.count_use(key, request.received.at_ms)) < least
}
