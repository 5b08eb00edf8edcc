//! Pages that another node of the cluster has fetched: they are stored and served instead of a response of the origin.

use std::sync::Arc;
use std::time::Duration;

use myriad_http::{Known, Method, ResponseHead};
use myriad_store::page::{ClusterPage, ClusterPageFuture, ClusterPageRequest, MAX_CLUSTER_BODY, PageMeta};
use myriad_store::{Admission, FlightWriter};

use super::job::FetchGoal;
use super::report::{FetchReport, Reporter, report};
use super::store::complete_page;
use crate::assets;
use crate::journey_step::CacheContext;
use crate::leak_guard;
use myriad_exchange::exchange::Exchange;
use myriad_origin::respond;

/// Time by which a page of another node must be newer than the page that it replaces, in milliseconds. The times of such
/// pages have an error of up to about this value: the delay of Valkey's reply.
const MIN_PROGRESS_MS: u64 = 500;

/// Starts to search for a page in the cluster. Returns `None` if the zone does not belong to a cluster whose nodes
/// fetch pages for each other; if other requests do not wait for this fetch, because a recent response for the page was
/// not shared; or if only a response of the origin is suitable: for a method other than GET, a response that may be
/// private to the client, other content codings, a noise check, a quarantined or suspected page, and a request with
/// credentials or a personal cookie, which the cache key may contain.
pub(super) fn search(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    writer: &FlightWriter<PageMeta>,
    goal: &FetchGoal,
) -> Option<ClusterPageFuture> {
    let request = &exchange.request;
    let zone = &cached.cache.zone;
    let fields = request.received.head.fields();
    let personal = &cached.cache.rules.personal;
    let is_personal = |pair: &[u8]| personal.matches_cookie_header(pair).is_some();
    let needs_origin = goal.own_request
        || goal.is_for_other_codings
        || goal.noise_check.is_some()
        || goal.method != Method::Get
        || cached.cache.rules.lock.is_some() && !writer.is_shared()
        || fields.has(Known::Authorization)
        || fields.cookie_pairs().any(is_personal);
    let publisher = zone.publisher.lock().clone().filter(|_| !needs_origin)?;
    let pages = publisher.pages()?;
    let now = myriad_net::clock::now_ms();
    if zone.leaks.is_quarantined(&leak_guard::page_of(request), now)
        || zone.leak_samples.suspicion(&request.cache.key, now).is_some()
    {
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

/// Returns false if the `Content-Length` of a response exceeds [`MAX_CLUSTER_BODY`]: other nodes cannot use such a
/// page. True for a response without a length.
pub(super) fn fits(head: &ResponseHead) -> bool {
    let length = head.known(Known::ContentLength).and_then(respond::parse_length);
    length.is_none_or(|length| length <= MAX_CLUSTER_BODY)
}

/// Stores a page that another node has fetched. The request that started the fetch, and the requests that wait for it,
/// then get this page.
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
    complete_page(exchange, cached, writer, meta, stored_at);
}
