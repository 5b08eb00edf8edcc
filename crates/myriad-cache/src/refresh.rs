//! Start of a refresh in the background: for a page that is served as it is, or without a request of a client.

use std::rc::Rc;

use bytes::Bytes;
use myriad_net::ResponseBody;
use myriad_policy::CacheStatus;
use myriad_script::EvalError;

use crate::early_refresh;
use crate::fetch;
use crate::journey_step::{CacheContext, JourneyStep, RefreshReason};
use crate::leak_guard;
use crate::origin_protection;
use crate::page;
use crate::server_client::SERVER_CLIENT;
use crate::shared_fetch_headers;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, Request};
use myriad_store::page::{Page, write_variant};

/// Starts the refresh and returns the step that serves the page. Starts no refresh if the page is being refreshed
/// already, if too many fetches are in progress, or if the origin is failing; in the last two cases, a later request
/// can start it.
pub(crate) fn run(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    page: Page,
    occasion: RefreshReason,
) -> JourneyStep {
    if origin_protection::defers_refresh(&exchange.request, cached) {
        let status = if occasion == RefreshReason::Early { CacheStatus::Hit } else { CacheStatus::Stale };
        return JourneyStep::Serve(page, status);
    }
    let status = match occasion {
        RefreshReason::Early => {
            start_early(exchange, cached, &page);
            CacheStatus::Hit
        }
        RefreshReason::Stale => start_in_background(exchange, cached, &page),
    };
    JourneyStep::Serve(page, status)
}

/// Starts the refresh of a page for a request that this server has created, not a client. The returned step completes
/// the request with status 204. Nothing is started if `*_cache_background_update` or `*_cache_adaptive` is off; if the
/// request selects another page, for example after a change of the configuration; if the page is quarantined, is being
/// refreshed already, or its response would not be stored; if the origin is failing, or too many fetches are in
/// progress; or if the client has another address than [`SERVER_CLIENT`], for example a local one that the application
/// may trust.
pub(crate) fn run_ahead(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    page: &Page,
) -> Result<JourneyStep, EvalError> {
    let rules = &cached.cache.rules;
    let is_wanted = rules.background_update
        && rules.adaptive_min_ms.is_some()
        && is_selected(&exchange.request, page)
        && exchange.request.client() == Some(SERVER_CLIENT)
        && !cached
            .cache
            .zone
            .leaks
            .is_quarantined(&leak_guard::page_of(&exchange.request), exchange.request.received.at_ms)
        && !origin_protection::defers_refresh(&exchange.request, cached);
    if is_wanted && !shared_fetch_headers::is_fetched_alone(exchange, cached.cache)? {
        start_in_background(exchange, cached, page);
    }
    let nothing = ContentResponse::new(204, ResponseBody::Full(Bytes::new()));
    Ok(JourneyStep::Done(PhaseStep::Answer(nothing)))
}

/// Returns whether a request has the key and the variant of a stored page.
fn is_selected(request: &Request, page: &Page) -> bool {
    *page.key() == *request.cache.key
        && page.selection().is_none_or(|selection| {
            let mut variant = Vec::new();
            write_variant(&selection.selector, request.received.head.fields(), &mut variant);
            *variant == *selection.variant
        })
}

fn start_early(exchange: &mut Exchange, cached: CacheContext<'_>, page: &Page) {
    let now = exchange.request.received.at_ms;
    let address = Some(page::address_of(&exchange.request));
    let zone = &cached.cache.zone;
    let Some(fetching) = zone.fetches.try_begin() else { return };
    let Some(writer) = zone.zone.begin_refresh(page, now, cached.lease_ms(), address) else { return };
    let spent = early_refresh::take_permit(Rc::clone(&exchange.request.site), now);
    fetch::start_early(exchange, cached, writer, (fetching, spent));
}

fn start_in_background(exchange: &mut Exchange, cached: CacheContext<'_>, page: &Page) -> CacheStatus {
    let now = exchange.request.received.at_ms;
    let address = Some(page::address_of(&exchange.request));
    let zone = &cached.cache.zone;
    let Some(fetching) = zone.fetches.try_begin() else { return CacheStatus::Stale };
    match zone.zone.begin_refresh(page, now, cached.lease_ms(), address) {
        Some(writer) => {
            exchange.request.cache.stale = Some(page.clone());
            fetch::start_in_background(exchange, cached, writer, fetching);
            CacheStatus::Stale
        }
        None => CacheStatus::Updating,
    }
}
