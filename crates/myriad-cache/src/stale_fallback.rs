//! Stale page in place of a failed response (`*_cache_use_stale`, RFC 5861 section 4).

use myriad_policy::{RefreshFailure, Reuse, StoredFacts, reuse};

use crate::journey_step::{CacheContext, JourneyStep};
use myriad_exchange::exchange::Request;
use myriad_store::page::Page;

/// Returns the facts about a stored page by which the cache policy decides whether the page may be served.
pub(crate) fn facts_of(page: &Page) -> StoredFacts {
    let lifetime = page.meta().lifetime();
    let invalid = page.fresh_until() == 0;
    let expires_at = if invalid { u64::MAX } else { page.fresh_until() };
    let lifetime = lifetime.expired_by(expires_at);
    // A purge after the expiry of a page moves the time by 1 ms only. It does not permit serving the expired page.
    let is_purged = page.fresh_until().saturating_add(1) < page.meta().lifetime().fresh_until;
    StoredFacts { lifetime, validators: false, invalid, is_purged }
}

/// Returns whether a soft purge or an invalidation covered the page, before or after its validity was over. Such a
/// purge changes only the expiry of the stored object, not the lifetime in its metadata.
pub(crate) fn is_covered_by_purge(page: &Page) -> bool {
    page.fresh_until() < page.meta().lifetime().fresh_until
}

/// Returns the step that serves the stale page in place of a failed response; `None` without a page, or if the rules do
/// not permit it.
pub(crate) fn stale_instead(
    request: &Request,
    cached: CacheContext<'_>,
    stale: Option<Page>,
    failure: RefreshFailure,
) -> Option<JourneyStep> {
    let page = stale?;
    let now = myriad_net::clock::now_ms();
    let mut facts = facts_of(&page);
    if *page.key() != *request.cache.key {
        // A page under another key counts as stale even if it is fresh.
        facts.lifetime.fresh_until = facts.lifetime.fresh_until.min(now);
    }
    match reuse(&facts, &cached.cache.rules, now, false, Some(failure)) {
        Reuse::Serve(status) => Some(JourneyStep::Serve(page, status)),
        _ => None,
    }
}
