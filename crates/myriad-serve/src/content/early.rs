//! Hot pages refreshed before they expire, within a budget: one at a time on each worker, and a pause between them.

use std::rc::Rc;

use myriad_policy::refreshes_early;

use super::{fetch, page};
use crate::exchange::Exchange;
use crate::runtime::{CachePlace, OriginPlace, Page};
use crate::worker::Generation;

/// Least time between two early refreshes on a worker, ms: an origin that fails is not asked without end.
const PAUSE_MS: u64 = 250;

/// The early refresh under way; gives the budget back when it is over.
pub(crate) struct Spent(Rc<Generation>);

impl Drop for Spent {
    fn drop(&mut self) {
        self.0.early.busy.set(false);
    }
}

/// Whether a fresh page is to be refreshed, and may be now.
pub(super) fn is_due(exchange: &Exchange, cache: &CachePlace, page: &Page) -> bool {
    let request = &exchange.request;
    let now = request.received_ms;
    let budget = &request.site.early;
    cache.rules.background_update
        && refreshes_early(&page.meta().lifetime(), page.hits(), &cache.rules, now)
        && !page.is_updating(now)
        && !budget.busy.get()
        && now >= budget.next_ms.get()
}

/// Refreshes a fresh page behind the visitor's back.
pub(super) fn refresh(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    page: &Page,
    lease_ms: u64,
) {
    let now = exchange.request.received_ms;
    let address = Some(page::address_of(&exchange.request));
    let Some(fetching) = cache.zone.fetches.begin() else { return };
    let Some(writer) = cache.zone.zone.begin_refresh(page, now, lease_ms, address) else { return };
    let site = &exchange.request.site;
    site.early.busy.set(true);
    site.early.next_ms.set(now.saturating_add(PAUSE_MS));
    let spent = Spent(Rc::clone(site));
    fetch::start_early(exchange, origin, cache, writer, (fetching, spent));
}
