//! Fetch without a lock: no other request waits for it, but its response may be stored.

use myriad_store::KeyRef;
use tokio::sync::oneshot;

use crate::fetch;
use crate::journey_step::{CacheContext, FlightWait, JourneyStep};
use myriad_exchange::exchange::Exchange;
use myriad_store::page::Page;

/// Starts the fetch. Its response replaces `stale` if that page has the request's key.
pub(crate) fn run(exchange: &mut Exchange, cached: CacheContext<'_>, stale: Option<&Page>) -> JourneyStep {
    exchange.request.site.worker.counters.misses.add(1);
    let zone = &cached.cache.zone.zone;
    let now = myriad_net::clock::now_ms();
    // A page under another key is only served after a failure.
    let writer = match stale.filter(|page| *page.key() == *exchange.request.cache.key) {
        Some(page) => zone.refresh_unshared(page, now, cached.lease_ms()),
        None => zone.fetch_unshared(KeyRef::new(&exchange.request.cache.key), now),
    };
    let reader = writer.reader();
    let (sender, report) = oneshot::channel();
    fetch::start(exchange, cached, writer, sender);
    let stale = exchange.request.cache.stale.clone();
    JourneyStep::Follow(FlightWait { reader, report: Some(report), stale, timeout: None })
}
