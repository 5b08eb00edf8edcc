//! What keeps a page from being fetched now, though a visitor asks for it: `origin_challenge`, `origin_query_limit`, `origin_backoff`.

use myriad_policy::Failure;
use myriad_shield::{origin_backoff, origin_challenge, origin_query_limit};
use myriad_store::Failure as StoreFailure;

use crate::fetch::NoAnswer;
use crate::next::{Cached, Next};
use crate::stale_instead::stale_instead;
use myriad_exchange::exchange::{Exchange, Request, Step};
use myriad_page::Page;

/// Judges a request that no stored page answers. `keyed` says that it has the key of one. A step is the answer of a request that must
/// not go to the origin.
pub(crate) fn judge(exchange: &mut Exchange, keyed: bool, now: u64) -> Option<Step> {
    origin_challenge::judge(exchange, now).or_else(|| origin_query_limit::judge(exchange, keyed, now))
}

/// The page of a visitor who has to prove first that a browser works for him (`origin_challenge`).
pub(crate) fn challenge(exchange: &mut Exchange) -> Option<Step> {
    if exchange.request.received.sink.is_some() {
        return None;
    }
    origin_challenge::judge(exchange, myriad_net::clock::now_ms())
}

/// Says what a visitor gets whose page must not be fetched now; none where it may. `stale` is what is stored of the page.
pub(crate) fn instead(exchange: &mut Exchange, cached: Cached<'_>, stale: Option<&Page>) -> Option<Next> {
    if exchange.request.received.sink.is_some() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    // A page that was stored has been let through.
    if stale.is_none()
        && let Some(step) = judge(exchange, true, now)
    {
        return Some(Next::Done(step));
    }
    let held = origin_backoff::held_off(&exchange.request, cached.cache.zone.zone.name(), now)?;
    let why = NoAnswer::decode(StoreFailure(held.failure));
    let stale = exchange.request.cache.stale.clone();
    if let Some(next) = stale_instead(&exchange.request, cached, stale, why.failure) {
        return Some(next);
    }
    let seconds = held.left_ms.div_ceil(1000).max(1);
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(format!("Retry-After: {seconds}\r\n").as_bytes());
    Some(Next::Done(Step::Error(503)))
}

/// Whether a page must not be refreshed behind a visitor now.
pub(crate) fn holds_refresh_off(request: &Request, cached: Cached<'_>) -> bool {
    let now = myriad_net::clock::now_ms();
    origin_backoff::held_off(request, cached.cache.zone.zone.name(), now).is_some()
}

/// Notes what came of asking for a page: an answer's status, or a failure.
pub(crate) fn note(request: &Request, cached: Cached<'_>, came: Result<u16, NoAnswer>) {
    let zone = cached.cache.zone.zone.name();
    let why = match came {
        Ok(status) if status < 500 => return origin_backoff::succeeded(request, zone),
        Ok(status) => NoAnswer { status, failure: Failure::Http(status) },
        Err(why) => why,
    };
    origin_backoff::failed(request, zone, why.encode().0, myriad_net::clock::now_ms());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site, store, words};

    /// What the visitor gets behind a failure, and behind a success after it.
    fn behind(directives: &str, stored: bool, came: Result<u16, NoAnswer>) -> [Option<String>; 2] {
        let site = site(directives);
        let mut exchange = keyed(&site, &[]);
        // Tests share the table: each has a page of its own.
        exchange.request.cache.key = format!("{directives} {stored} {came:?}").into_bytes();
        exchange.request.cache.stale = stored.then(|| store(&mut exchange, &head(200, &[]), 0));
        let held = held(&exchange);
        [came, Ok(200)].map(|came| {
            note(&exchange.request, held.get(), came);
            let next = instead(&mut exchange, held.get(), None);
            next.map(|next| words(&next))
        })
    }

    #[test]
    fn page_that_has_failed_is_left_alone_until_it_succeeds() {
        let timeout = Err(NoAnswer { status: 504, failure: Failure::Timeout });
        assert_eq!(behind("origin_backoff 1h;", false, timeout), [Some("error 503".to_owned()), None]);
        assert_eq!(behind("origin_backoff 1h;", false, Ok(500)), [Some("error 503".to_owned()), None]);
        assert_eq!(behind("origin_backoff 1h;", false, Ok(404)), [None, None]);
        assert_eq!(behind("", false, Ok(500)), [None, None]);
    }

    #[test]
    fn stale_page_is_served_where_the_rules_name_the_failure() {
        let stale = |failure, came| {
            behind(&format!("origin_backoff 1h; fastcgi_cache_use_stale {failure};"), true, came)
        };
        assert_eq!(stale("http_500", Ok(500)), [Some("serve Stale".to_owned()), None]);
        assert_eq!(stale("http_503", Ok(500)), [Some("error 503".to_owned()), None]);
        let timeout = Err(NoAnswer { status: 504, failure: Failure::Timeout });
        assert_eq!(stale("timeout", timeout), [Some("serve Stale".to_owned()), None]);
    }
}
