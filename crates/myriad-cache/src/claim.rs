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

/// Returns the next step of a request whose page is missing or stale: wait for a fetch, which this request starts
/// unless another request has already started it; or serve the page, if it was stored meanwhile. The request does not
/// wait for others, but fetches the page itself or is passed to the origin, if `*_cache_lock` is off, if a recent
/// response under the key was not shared or was too long for memory, or if a response too long for memory is arriving.
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
        // A recent response under this key was not shared, so the response to this request probably is not shared
        // either.
        Claim::Pass if cache.rules.shared_fetch.hides_cookies(fields) => {
            JourneyStep::Pass(PassReason::NotShared)
        }
        Claim::Pass => JourneyStep::Lead(stale),
    }
}
