//! Serving of a stored page.

use myriad_encode::Coding;
use myriad_policy::{CacheStatus, StoreRefusal};

use crate::age::age_s;
use crate::disk;
use crate::esi;
use crate::journey_step::{CacheContext, JourneyStep, PassReason};
use crate::leader_cookies;
#[cfg(feature = "optimizer")]
use crate::optimize;
use crate::origin_fields;
use crate::page;
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_exchange::responses::error_pages;
use myriad_origin::rewrite;
use myriad_store::page::Page;

/// Builds the response from a page, and records the cache status. Returns another step if the page's file must be
/// opened first, if the page is a slice but the request uses no slices, or if an error page of the location replaces
/// the page.
pub(crate) fn run(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    page: Page,
    status: CacheStatus,
) -> JourneyStep {
    if disk::must_open(&exchange.request, &page) {
        return JourneyStep::Open(page, status);
    }
    let origin = cached.origin;
    let request = &mut exchange.request;
    request.cache.report.status = Some(status);
    // The response with a leak is sent to the client that fetched it only.
    request.cache.report.stored = request.cache.report.reason != Some(StoreRefusal::Leak.as_str());
    request.cache.report.age_s = Some(request.received.at_ms.saturating_sub(page.stored_at()) / 1000);
    if matches!(status, CacheStatus::Hit | CacheStatus::Stale | CacheStatus::Updating) {
        request.cache.report.saved_ms = page.meta().response_time.ms();
    }
    let code = page.meta().status;
    if code == 206 && request.cache.slice.get().is_none() {
        return JourneyStep::Pass(PassReason::Piece);
    }
    if origin.answer.intercept_errors && code >= 300 && error_pages::has_page_now(exchange, code) {
        return JourneyStep::Done(PhaseStep::Error(code));
    }
    if !matches!(status, CacheStatus::Miss | CacheStatus::Expired | CacheStatus::Bypass) {
        exchange.request.site.worker.counters.hits.add(1);
    }
    origin_fields::show(&mut exchange.request, &page);
    let redirects = page.meta().redirects;
    #[cfg(feature = "optimizer")]
    let page = optimize::sent_page(exchange, cached, page);
    let born = page.meta().lifetime().born.unwrap_or(page.stored_at());
    let on_disk = disk::body(&mut exchange.request, &page);
    let mut answer = page::answer(&exchange.request, &cached.cache.zone, page);
    if let Some(body) = on_disk.filter(|_| answer.coding == Coding::Identity) {
        answer.body = body;
    }
    answer.own_head = origin.answer.passes_head;
    if redirects {
        rewrite::rewrite_page(exchange, origin, &mut answer);
    }
    leader_cookies::append(exchange, cached, &mut answer);
    answer.age_s = age_s(exchange, origin, born);
    if !exchange.request.cache.lookup.stored_only {
        esi::fill_for_all(exchange, &mut answer);
    }
    JourneyStep::Done(PhaseStep::Answer(answer))
}
