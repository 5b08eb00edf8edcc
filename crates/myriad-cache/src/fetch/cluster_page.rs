//! Pages that another node of the cluster has fetched: they are stored and served instead of a response of the origin.

use std::sync::Arc;
use std::time::Duration;

use myriad_http::Method;
use myriad_store::page::{ClusterPage, ClusterPageFuture, ClusterPageRequest, PageMeta};
use myriad_store::{Admission, FlightWriter};

use super::job::FetchGoal;
use super::report::{FetchReport, Reporter, report};
use crate::assets;
use crate::complete::complete_at;
use crate::journey_step::CacheContext;
use crate::leak_guard;
use myriad_exchange::exchange::Exchange;

/// Time by which a page must be newer than the page that it replaces, in milliseconds: the times of a page that comes
/// from another node are this exact.
const MIN_PROGRESS_MS: u64 = 500;

/// Begins to search for a page in the cluster. Returns `None` if the zone does not belong to a cluster whose nodes
/// fetch pages for each other, or if the response of the origin is needed: for one client, for other content codings, to
/// find the noise of a page, or because the page is quarantined.
pub(super) fn search(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    writer: &FlightWriter<PageMeta>,
    goal: &FetchGoal,
) -> Option<ClusterPageFuture> {
    let request = &exchange.request;
    let zone = &cached.cache.zone;
    let needs_origin = goal.own_request
        || goal.is_for_other_codings
        || goal.noise_check.is_some()
        || goal.method != Method::Get;
    let publisher = zone.publisher.lock().clone().filter(|_| !needs_origin)?;
    let pages = publisher.pages()?;
    let now = myriad_net::clock::now_ms();
    if zone.leaks.is_quarantined(&leak_guard::page_of(request), now) {
        return None;
    }
    let newer_than = writer.previous().map_or(0, |page| page.stored_at() + MIN_PROGRESS_MS);
    let max_wait = match cached.cache.rules.lock {
        None => 0,
        Some(lock) => lock.timeout_ms.unwrap_or_else(|| cached.lease_ms()),
    };
    Some(pages.find(ClusterPageRequest {
        zone: zone.zone.name().to_owned(),
        key: request.cache.key.clone(),
        newer_than,
        max_wait: Duration::from_millis(max_wait),
    }))
}

/// Stores a page of another node, and releases the request that started the fetch and the waiters.
pub(super) fn store(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    reporter: Reporter,
    page: ClusterPage,
) {
    let ClusterPage { meta, body, stored_at } = page;
    let head = Arc::new(meta.clone());
    let length = Some(body.len() as u64);
    let mut writer = writer.admit(Admission { head, selection: None, length });
    report(reporter, FetchReport::OfCluster);
    writer.push(body);
    if let Some(body) = writer.body() {
        assets::store_assets(exchange, cached, meta.view(), &body);
    }
    complete_at(exchange, &cached.cache.zone, writer, meta, stored_at);
}
