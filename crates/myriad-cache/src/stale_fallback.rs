//! Stale page in place of a failed response (`*_cache_use_stale`, RFC 5861 section 4).

use myriad_policy::{RefreshFailure, Reuse, StoredFacts, reuse};

use crate::journey_step::{CacheContext, JourneyStep};
use myriad_exchange::exchange::Request;
use myriad_store::page::Page;

/// Returns the facts about a stored page for the policy.
pub(crate) fn facts_of(page: &Page) -> StoredFacts {
    let lifetime = page.meta().lifetime();
    // A soft purge expires the stored object only; the lifetime in its metadata is unchanged.
    let invalid = page.fresh_until() == 0;
    let expires_at = if invalid { u64::MAX } else { page.fresh_until() };
    StoredFacts { lifetime: lifetime.expired_by(expires_at), validators: false, invalid }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site, store, words};

    fn instead(directives: &str, fresh_ms: u64, key: &[u8]) -> Option<String> {
        let mut exchange = keyed(&site(directives), &[]);
        let page = store(&mut exchange, &head(200, &[]), fresh_ms);
        exchange.request.cache.key = key.to_vec();
        let held = held(&exchange);
        let next = stale_instead(&exchange.request, held.get(), Some(page), RefreshFailure::Http(500));
        next.map(|next| words(&next))
    }

    #[test]
    fn stale_page_is_served_for_the_statuses_that_the_rules_name() {
        assert_eq!(instead("fastcgi_cache_use_stale http_500;", 0, b"/a").as_deref(), Some("serve Stale"));
        assert_eq!(instead("fastcgi_cache_use_stale http_503;", 0, b"/a"), None);
        assert_eq!(instead("", 0, b"/a"), None);
    }

    #[test]
    fn page_of_another_key_is_stale_however_fresh_it_is() {
        let directives = "fastcgi_cache_use_stale http_500;";
        assert_eq!(instead(directives, 60_000, b"/a").as_deref(), Some("serve Hit"));
        assert_eq!(instead(directives, 60_000, b"/a\0codings").as_deref(), Some("serve Stale"));
        assert_eq!(instead("", 60_000, b"/a\0codings"), None);
    }

    #[test]
    fn without_a_page_the_failure_stands() {
        let exchange = keyed(&site("fastcgi_cache_use_stale error;"), &[]);
        let held = held(&exchange);
        assert!(stale_instead(&exchange.request, held.get(), None, RefreshFailure::Error).is_none());
    }
}
