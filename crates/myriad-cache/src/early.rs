//! Hot pages refreshed before they expire, within a budget: one at a time on each worker, and a pause between them.

use std::rc::Rc;

use myriad_policy::refreshes_early;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::worker::Generation;
use myriad_page::Page;

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
pub(crate) fn is_due(exchange: &Exchange, cache: &CachePlace, page: &Page) -> bool {
    let request = &exchange.request;
    let now = request.received.at_ms;
    let budget = &request.site.early;
    cache.rules.background_update
        && refreshes_early(&page.meta().lifetime(), page.hits(), &cache.rules, now)
        && !page.is_updating(now)
        && !budget.busy.get()
        && now >= budget.next_ms.get()
}

/// Takes the budget for a refresh that begins at `now`, ms since the epoch.
pub(crate) fn spend(site: Rc<Generation>, now: u64) -> Spent {
    site.early.busy.set(true);
    site.early.next_ms.set(now.saturating_add(PAUSE_MS));
    Spent(site)
}
