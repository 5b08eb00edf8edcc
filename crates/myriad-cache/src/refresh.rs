//! Start of a refresh in the background, for a page that is served as it is.

use std::rc::Rc;

use myriad_policy::CacheStatus;

use crate::early_refresh;
use crate::fetch;
use crate::journey_step::{CacheContext, JourneyStep, RefreshReason};
use crate::origin_protection;
use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_store::page::Page;

/// Starts the refresh and returns the step that serves the page. Nothing is started if the page is being refreshed
/// already; nor if too many fetches are in progress or the origin is failing, when a later request refreshes the page.
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
