//! Refresh of hot pages before they expire, within a budget: one refresh at a time on each worker, with a pause between
//! them.

use std::rc::Rc;

use myriad_policy::refreshes_early;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::worker::Generation;
use myriad_store::page::Page;

/// Minimum time between two early refreshes on a worker, in milliseconds. It limits the requests to a failing origin.
const PAUSE_MS: u64 = 250;

/// Early refresh in progress. Returns the budget on drop.
pub(crate) struct RefreshPermit(Rc<Generation>);

impl Drop for RefreshPermit {
    fn drop(&mut self) {
        self.0.refresh_budget.busy.set(false);
    }
}

/// Returns whether a fresh page is due for an early refresh and the budget admits one now.
pub(crate) fn is_due(exchange: &Exchange, cache: &CachePlace, page: &Page) -> bool {
    let request = &exchange.request;
    let now = request.received.at_ms;
    let budget = &request.site.refresh_budget;
    cache.rules.background_update
        && refreshes_early(&page.meta().lifetime(), page.hits(), &cache.rules, now)
        && !page.is_updating(now)
        && !budget.busy.get()
        && now >= budget.next_ms.get()
}

/// Takes the budget for a refresh that begins at `now`, in ms since the epoch.
pub(crate) fn take_permit(site: Rc<Generation>, now: u64) -> RefreshPermit {
    site.refresh_budget.busy.set(true);
    site.refresh_budget.next_ms.set(now.saturating_add(PAUSE_MS));
    RefreshPermit(site)
}
