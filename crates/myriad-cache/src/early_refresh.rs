//! Refresh of frequently requested pages before they expire. The budget of a worker is one refresh at a time, with a
//! pause after each start.

use std::rc::Rc;

use myriad_policy::refreshes_early;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::runtime::Generation;
use myriad_store::page::Page;

/// Minimum time in milliseconds between the starts of two refreshes of fresh pages on a worker. It limits the requests
/// to a failing origin.
const PAUSE_MS: u64 = 250;

/// Permit to refresh a fresh page in the background. A worker has one; dropping it permits the next refresh.
pub(crate) struct RefreshPermit(Rc<Generation>);

impl Drop for RefreshPermit {
    fn drop(&mut self) {
        self.0.refresh_budget.busy.set(false);
    }
}

/// Returns whether a fresh page should be refreshed now, before it expires (`*_cache_background_update`): the page is
/// requested often and expires soon ([`refreshes_early`]). False while the page is being refreshed, while the worker
/// refreshes another page early, and until [`PAUSE_MS`] have passed since the worker's last early refresh started.
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

/// Takes the worker's permit for an early refresh that starts at `now`, in milliseconds since the epoch.
pub(crate) fn take_permit(site: Rc<Generation>, now: u64) -> RefreshPermit {
    site.refresh_budget.busy.set(true);
    site.refresh_budget.next_ms.set(now.saturating_add(PAUSE_MS));
    RefreshPermit(site)
}
