//! Metadata of the optimized form of a page.

use std::sync::atomic::Ordering::Relaxed;

use myriad_http::lines::lines_named;
use myriad_net::clock::now_ms;
use myriad_store::Body;
use myriad_store::page::{OptimizedState, Page, PageMeta, PageView};

use super::rules::POLICY_FIELDS;
use crate::journey_step::CacheContext;
use crate::page;

/// Returns the fields of a page that may forbid the resources of an optimized form.
pub(super) fn policies(page: PageView<'_>) -> impl Iterator<Item = &[u8]> {
    POLICY_FIELDS.iter().flat_map(move |name| lines_named(page.lines(), name))
}

/// Returns the metadata of the optimized form of a page: the metadata of the page without `Last-Modified`, with the
/// data `cut` about ESI holes and the entity tag of `body`.
pub(super) fn form_meta(page: &Page, cut: &[u8], body: &Body) -> PageMeta {
    // A form that replaces another one would have the same time.
    let mut meta = page.meta().to_owned().without_last_modified();
    if page.meta().cut() != cut {
        meta = meta.with_cut(cut);
    }
    meta.facts.tag = Some(page::tag_of(body));
    meta
}

/// Records that a page has no optimized form, with the reason as a report.
pub(super) fn refuse(cached: CacheContext<'_>, page: &Page, reason: &str) {
    let report = serde_json::json!({ "reason": reason }).to_string();
    let state = OptimizedState::new(cached.cache.optimize, Vec::new(), Vec::new(), report, now_ms());
    cached.cache.zone.optimized.unchanged.fetch_add(1, Relaxed);
    // Fails if the page is not stored any more.
    let _ = cached.cache.zone.zone.replace(page, None, state, now_ms());
}
