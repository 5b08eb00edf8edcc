//! Claim of the right to fetch a page (`*_cache_lock`): the first request fetches it, concurrent requests wait for the
//! result.

use std::time::Duration;

use myriad_policy::CacheStatus;
use myriad_store::{Claim, ClaimOptions, KeyRef};
use tokio::sync::oneshot;

use crate::fetch;
use crate::journey_step::{CacheContext, FlightWait, JourneyStep, PassReason};
use crate::other_codings;
use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_store::page::{Page, write_variant};

/// Starts the fetch of a missing or stale page, or waits for the request that has already started it. Without
/// `*_cache_lock`, every request fetches the page.
pub(crate) fn run(exchange: &mut Exchange, cached: CacheContext<'_>, stale: Option<Page>) -> JourneyStep {
    let cache = cached.cache;
    let Some(lock) = cache.rules.lock else { return JourneyStep::Lead(stale) };
    let request = &exchange.request;
    let now = myriad_net::clock::now_ms();
    let fields = request.received.head.fields();
    let address = Some(page::address_of(request));
    let claimed = cache.zone.zone.claim(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        |page| page.is_fresh(now) && !other_codings::is_older_than_shared(request, page),
        ClaimOptions { now, lock_age_ms: lock.age_ms.unwrap_or(u64::MAX), address },
    );
    match claimed {
        Claim::Hit(page) => JourneyStep::Serve(page, CacheStatus::Hit),
        Claim::Lead(writer) => {
            request.site.worker.counters.misses.add(1);
            let reader = writer.reader();
            let (sender, report) = oneshot::channel();
            fetch::start(exchange, cached, writer, sender);
            let stale = stale.or_else(|| exchange.request.cache.stale.clone());
            JourneyStep::Follow(FlightWait { reader, report: Some(report), stale, timeout: None })
        }
        Claim::Wait(reader) => {
            let patience = lock.timeout_ms.map(Duration::from_millis);
            let stale = stale.or_else(|| exchange.request.cache.stale.clone());
            JourneyStep::Follow(FlightWait { reader, report: None, stale, timeout: patience })
        }
        // A recent response under this key was private, so the response to this request probably is private too.
        Claim::Pass if cache.rules.shared_fetch.hides_cookies(fields) => {
            JourneyStep::Pass(PassReason::NotShared)
        }
        Claim::Pass => JourneyStep::Lead(stale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site, store, words};
    use myriad_serve::testing::TestSite;

    const LOCKED: &str = "fastcgi_cache_lock on; fastcgi_cache_lock_timeout 7s;";

    fn claimed(site: &TestSite) -> String {
        let mut exchange = keyed(site, &[]);
        let held = held(&exchange);
        words(&run(&mut exchange, held.get(), None))
    }

    /// Starts the fetch of a page as another request would.
    fn lead(site: &TestSite) -> myriad_store::FlightWriter<myriad_store::page::PageMeta> {
        let exchange = keyed(site, &[]);
        let options = ClaimOptions { now: exchange.request.received.at_ms, lock_age_ms: 5000, address: None };
        let key = KeyRef::new(&exchange.request.cache.key);
        match held(&exchange).cache.zone.zone.claim(key, |_, _| {}, |_| false, options) {
            Claim::Lead(writer) => writer,
            _ => panic!("nobody else fetches it"),
        }
    }

    #[test]
    fn page_that_has_come_meanwhile_is_a_hit() {
        let site = site(LOCKED);
        store(&mut keyed(&site, &[]), &head(200, &[]), 60_000);
        assert_eq!(claimed(&site), "serve Hit");
    }

    #[test]
    fn page_being_fetched_is_awaited_up_to_lock_timeout() {
        let site = site(LOCKED);
        let writer = lead(&site);
        assert_eq!(claimed(&site), "follow for Some(7s)");
        drop(writer);
    }

    #[test]
    fn uncacheable_page_is_not_awaited_for_a_while() {
        let site = site(LOCKED);
        lead(&site).uncacheable(myriad_net::clock::now_ms(), 60_000);
        assert_eq!(claimed(&site), "lead false");
    }

    #[test]
    fn without_a_lock_everybody_leads() {
        let site = site("fastcgi_cache_lock off;");
        let _writer = lead(&site);
        assert_eq!(claimed(&site), "lead false");
    }
}
