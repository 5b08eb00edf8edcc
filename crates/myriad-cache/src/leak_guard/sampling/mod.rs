//! Sampled verification of stored pages (`leak_guard sample=`): requests of the server itself show that a page depends
//! on inputs of visitors that are not in its key, although it contains none of their values.
//!
//! ```text
//! second hit, or the page is in the hourly sample
//!   `-> after `delay=`: two requests like that of the hit, without cookies and credentials
//!         they differ from each other by more than noise: the page cannot be verified
//!         they differ from the stored page:               the page is removed, and suspected
//!         otherwise: a request of another browser with canaries in fields that are not in the key
//!           it differs: requests with a part of these inputs find the one that changes the page
//! fetch of a suspected page by a visitor with other inputs, and some of its hits
//!   `-> at a fetch, only this visitor gets the response; two requests without the visitor's inputs
//!         they differ from the response: requests with a part of the inputs find the one that changes the page;
//!           after two visitors, the page is quarantined
//!         three comparisons show no difference: the page is shared, except responses to visitors with other inputs than
//!           those compared, or with a cookie that changes the page
//! ```
//!
//! A page that was changed without a purge is suspected too, but its next fetch does not differ. A difference must be
//! repeatable, so that random content is not taken for data of a visitor.

mod cause;
mod comparison;
mod origin_time;
mod page_check;
mod probe;
mod report;
mod verifiable_page;

use myriad_net::clock::now_ms;
use myriad_store::page::{Page, SampleCause};

use verifiable_page::is_verifiable;

use crate::journey_step::CacheContext;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;

pub(crate) use comparison::PendingComparison;

/// Number of hits of a page after which it is considered for the hourly sample again.
const SAMPLE_HITS: u32 = 64;

/// Returns true if `leak_guard sample=` is on and the number of hits of a page, including the current hit, is one at
/// which its verification is considered: the second and some after it, then two of each [`SAMPLE_HITS`]. Also true at
/// each hit of a page that may be suspected, because the inputs of a visitor may occur in one hit only. `key` is the
/// page's cache key.
#[inline]
pub(crate) fn is_due(cache: &CachePlace, key: &[u8], page: &Page) -> bool {
    is_due_by_hits(cache, page) || may_be_suspected(cache, key)
}

/// Returns true if the number of hits of a page is a reason for [`is_due`].
#[inline]
pub(crate) fn is_due_by_hits(cache: &CachePlace, page: &Page) -> bool {
    cache.rules.leak_sampling.is_some() && is_due_at(page.hits())
}

/// Returns true if a page may be suspected ([`LeakSamples::may_be_suspected`]), which is a reason for [`is_due`].
///
/// [`LeakSamples::may_be_suspected`]: myriad_store::page::LeakSamples::may_be_suspected
#[inline]
pub(crate) fn may_be_suspected(cache: &CachePlace, key: &[u8]) -> bool {
    cache.rules.leak_sampling.is_some() && cache.zone.leak_samples.may_be_suspected(key)
}

/// Returns true if a page with this number of hits is due: at the second hit and shortly after it, at 8, 16 and 32
/// hits, and once in each [`SAMPLE_HITS`]. Each of these includes the next hit.
#[inline]
fn is_due_at(hits: u32) -> bool {
    // A check that could not be started is tried again at 8, 16 and 32 hits. A hit is counted twice if the shortcut
    // gives up because of it, and two hits at the same time may see the same number.
    matches!(hits, 2..=5 | 8 | 9 | 16 | 17 | 32 | 33) || hits >= SAMPLE_HITS && hits % SAMPLE_HITS <= 1
}

/// Starts the verification of a page for which [`is_due`] returned true, unless it was verified recently; for a
/// suspected page, starts a comparison of the visitor's response. Does nothing if the page cannot be verified, or a
/// limit is reached.
pub(crate) fn start(exchange: &Exchange, cached: CacheContext<'_>, page: &Page) {
    let request = &exchange.request;
    let Some(rules) = cached.cache.rules.leak_sampling else { return };
    if !is_verifiable(request, page) {
        return;
    }
    let zone = &cached.cache.zone;
    let key = &request.cache.key;
    let suspicion = zone.leak_samples.suspicion(key, now_ms());
    if let Some(suspected) = suspicion.filter(|suspected| suspected.is_compared) {
        comparison::start_for_hit(exchange, cached, page, suspected, rules.budget_ppm);
        return;
    }
    if !is_due_at(page.hits()) {
        return;
    }
    let cause = match page.hits() {
        0..SAMPLE_HITS => SampleCause::SecondHit,
        _ => SampleCause::Sample(rules.part_ppm),
    };
    let pages = || zone.zone.stats().objects;
    if !zone.leak_samples.begin_check(key, cause, pages, now_ms()) {
        return;
    }
    if zone.leaks.admits_sample(request.client(), now_ms()) {
        page_check::start(exchange, cached, rules, cause);
    } else {
        zone.leak_samples.end_wait(key, cause, false);
    }
}

#[cfg(test)]
mod tests {
    use super::is_due_at;

    #[test]
    fn page_is_due_from_its_second_hit_on() {
        let due: Vec<u32> = (0..200).filter(|hits| is_due_at(*hits)).collect();
        assert_eq!(due, [2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 192, 193]);
    }
}
