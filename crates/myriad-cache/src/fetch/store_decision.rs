//! Decision about a response: it is stored, confirms the stored page, is only for the client whose request started
//! the fetch, or is unusable for that client too, whose own request must then be sent.

use myriad_http::content_range::ContentRange;
use myriad_http::{Known, ResponseHead};
use myriad_policy::{
    Admission, NoVarySearch, ResponseFacts, StoreRefusal, admit, invalidates_stored_page, is_large_request,
};
use myriad_script::Builtin;
use myriad_store::{FetchFailure as StoreFailure, FlightWriter, KeyRef};

use super::cluster_page;
use super::job::{FetchGoal, FetchedResponse, NextCause};
use super::report::{FetchReport, Reporter, report};
use super::store::{AdmittedResponse, store};
use crate::arrival::Arrival;
use crate::invalidate::remove_from_cluster;
use crate::journey_step::CacheContext;
use crate::leak_guard::sampling::PendingComparison;
use crate::leak_guard::{self, FetchGuard, ResponseGuard, Unshared, Verification};
use crate::maintenance;
use crate::other_codings;
use crate::page;
use crate::revalidate;
use crate::revalidate::Confirmation;
use crate::share;
use crate::shared_fetch_headers;
use crate::validity;
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::keys::no_vary_search::learn;
use myriad_exchange::runtime::{CachePlace, OriginPlace, Reads};
use myriad_origin::read_rate_limiter::ReadRateLimiter;
use myriad_origin::respond;
use myriad_store::page::PageMeta;

const NO_VARY_SEARCH: &[u8] = b"No-Vary-Search";

/// Decides about a response, and executes the decision: stores the response, confirms the stored page by a 304,
/// forwards the response to the client whose request started the fetch, or reports that this client must send its own
/// request ([`FetchReport`]). A response that is not stored also removes the stored page if it shows that the page is
/// no longer valid. First executes the purges that the response requests; a response in maintenance mode also
/// invalidates the pages of its host. Returns the reason if the page must be fetched again, otherwise `None`.
pub(super) async fn judge(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    reporter: Reporter,
    mut sought: FetchGoal,
    answered: FetchedResponse,
) -> Option<NextCause> {
    let CacheContext { origin: place, cache } = cached;
    let FetchedResponse { response, fetching, requested_at: asked, attempts } = answered;
    purge::purge_for_origin(exchange, Some(cache), &response.head).await;
    let now = myriad_net::clock::now_ms();
    let arrival = Arrival { now, delay_ms: now.saturating_sub(asked) };
    let status = response.head.status;
    if sought.conditional && status == 304 {
        let (result, verification) = confirm(exchange, cached, writer, &mut sought, &response.head, arrival);
        report(reporter, result);
        return verification.map(NextCause::Verification);
    }
    // True to retain the stored page instead of the response, which would be stored otherwise (`*_cache_use_stale
    // http_404`): the page remains usable for the next failure. The waiters' own requests would get the same response,
    // so they get their stale pages or the status.
    let stays = sought.usable_page && cache.rules.use_stale.on_status(status);
    if let Some(cause) = maintenance::closed(exchange, &response.head) {
        maintenance::invalidate(&exchange.request, cache, cause).await;
        // Each waiter sends its own request.
        writer.uncacheable(now, 0);
        report(reporter, FetchReport::Closed(response));
        return None;
    }
    let shared_headers = sought.shared_headers.as_ref();
    let fields = &response.head.fields;
    let hides_own =
        shared_fetch_headers::omits_own_fields(&exchange.request, cache, shared_headers, status, fields);
    let refused =
        |response, why| if hides_own { FetchReport::Incomplete } else { FetchReport::Refused(response, why) };
    let requested = exchange.request.received.head.fields();
    let selection =
        page::selection(fields, &cache.rules, requested, shared_headers, sought.is_for_other_codings);
    let admission = admission(exchange, cached, &response.head, &sought, arrival);
    let GuardedAdmission { admission, guard, verification, pass_ms } =
        guarded_admission(&exchange.request, cache, &response.head, admission, sought.guard.take());
    match admission {
        Admission::Store(_) if stays => {
            writer.fail(StoreFailure(status));
            report(reporter, FetchReport::Refused(response, "use_stale"));
        }
        Admission::Refuse(why) => {
            let pass = (arrival.now, pass_ms.unwrap_or(why.hit_for_miss_ms()));
            reject_response(exchange, cached, writer, &sought, (status, why), pass);
            report(reporter, refused(response, why.as_str()));
        }
        Admission::Store(_) if page::is_too_long(selection.as_ref()) => {
            writer.uncacheable(now, 0);
            report(reporter, refused(response, StoreRefusal::Vary.as_str()));
        }
        Admission::Store(lifetime) => {
            learn(&exchange.request, cache, no_vary_search(&response.head));
            let pace = ReadRateLimiter::new(respond::limit_rate(exchange, &place.ahead));
            let is_shared_fetch = sought.shared_headers.is_some() && cache.rules.shared_fetch.on;
            let of_page = (&response.head, selection.as_ref());
            let comparison = PendingComparison::of(&exchange.request, cache, of_page, is_shared_fetch);
            let companion = sought
                .companion
                .and_then(|other| other.admit(exchange, cache, fields, sought.shared_headers.as_ref()));
            let is_for_all = selection.is_none() && comparison.is_none();
            let lease = sought.lease.take().filter(|_| is_for_all && cluster_page::fits(&response.head));
            let mut response = response;
            add_no_vary_search(cache, &mut response.head);
            let noise_check = sought.noise_check.take();
            let admitted = AdmittedResponse {
                response,
                lifetime,
                now,
                requested_at: asked,
                pace,
                fetching,
                selection,
                companion,
                lease,
                attempts,
                noise_check,
                guard,
                comparison,
            };
            let next = store(exchange, cached, writer, reporter, admitted).await;
            return next.filter(|_| !sought.own_request);
        }
    }
    verification.filter(|_| !sought.own_request).map(NextCause::Verification)
}

/// Decision about a response, with the search for data of the visitor.
struct GuardedAdmission {
    admission: Admission,
    /// Search for data of the visitor in the body of an admitted response.
    guard: ResponseGuard,
    /// Fetch that verifies a leak in a response field; `None` if none is needed.
    verification: Option<Verification>,
    /// Time in milliseconds for which requests for the page do not wait for each other after a leak; `None` without a
    /// leak.
    pass_ms: Option<u64>,
}

/// Refuses an admitted response if a field contains data of the visitor, if the response cannot be searched for such
/// data, or if the page is quarantined. Any other decision is unchanged, as is each decision without a `guard`
/// (`leak_guard off`).
fn guarded_admission(
    request: &Request,
    cache: &CachePlace,
    head: &ResponseHead,
    admission: Admission,
    guard: Option<FetchGuard>,
) -> GuardedAdmission {
    let decided = |admission| GuardedAdmission {
        admission,
        guard: ResponseGuard::default(),
        verification: None,
        pass_ms: None,
    };
    let (Admission::Store(lifetime), Some(guard)) = (&admission, guard) else { return decided(admission) };
    let refused = decided(Admission::Refuse(StoreRefusal::Leak));
    if cache.zone.leaks.is_quarantined(&leak_guard::page_of(request), myriad_net::clock::now_ms()) {
        return refused;
    }
    match guard.examine(request, cache, head) {
        Ok(guard) => GuardedAdmission { guard, ..decided(admission) },
        Err(Unshared::Unsearched) => {
            cache.zone.leaks.count_unsearched();
            decided(Admission::Refuse(StoreRefusal::Unsearched))
        }
        Err(Unshared::Leak(leak)) => {
            let pass_ms = Some(leak_guard::report(request, cache, &leak));
            let facts = (head.status, lifetime.valid_ms);
            GuardedAdmission {
                verification: Verification::of(request, cache, leak, facts),
                pass_ms,
                ..refused
            }
        }
    }
}

/// Parses the `No-Vary-Search` fields of a response, joined to one list; `None` without a valid value.
fn no_vary_search(head: &ResponseHead) -> Option<NoVarySearch> {
    let lines: Vec<&[u8]> = head.fields.get_all(NO_VARY_SEARCH).collect();
    NoVarySearch::parse(&lines.join(&b','))
}

/// Adds the configured `No-Vary-Search` (`say=`) to a 200 response that has none. The cache does not learn it, because
/// the key of the location already omits these arguments.
fn add_no_vary_search(cache: &CachePlace, head: &mut ResponseHead) {
    if let Some(said) = &cache.no_vary_search_line
        && head.status == 200
        && head.fields.get(NO_VARY_SEARCH).is_none()
    {
        head.fields.push(NO_VARY_SEARCH, said);
    }
}

/// Confirms the stored page by the head of a 304 response, or reports that the client must send its own request.
/// Older entries are removed if the 304 shows that the page is no longer valid. Also returns the verification that a
/// leak in a field of the 304 needs.
fn confirm(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    sought: &mut FetchGoal,
    head: &ResponseHead,
    arrival: Arrival,
) -> (FetchReport, Option<Verification>) {
    let cache = cached.cache;
    // The fields of the 304 replace those of the page.
    let examined = sought.guard.take().map(|guard| guard.examine(&exchange.request, cache, head));
    if let Some(Err(why)) = examined {
        let stored = writer.previous().map(|page| (page.meta().status, page.meta().lifetime().valid_ms));
        writer.uncacheable(arrival.now, 0);
        let verification =
            unshared_confirmation(exchange, cache, why, stored.filter(|_| !sought.own_request));
        return (FetchReport::Unconfirmed, verification);
    }
    let stored = writer.previous().map_or(200, |page| page.meta().status);
    let rules = validity::rules(exchange, cache, head, stored);
    let generation = writer.generation();
    let result = match revalidate::confirm(exchange, cached, &rules, writer, head, arrival) {
        Confirmation::Page(page) => {
            if let (Some(lease), Some(page)) = (sought.lease.take(), &page) {
                lease.store(page);
            }
            FetchReport::Confirmed
        }
        Confirmation::Personal(why) => {
            if why.is_some_and(|why| invalidates_stored_page(304, why, false, sought.own_request)) {
                remove_older_entries(exchange, cache, generation);
            }
            FetchReport::Unconfirmed
        }
    };
    (result, None)
}

/// Records why a 304 is not shared, and returns the verification that a leak needs. `stored` contains the status and
/// the validity (in milliseconds) of the page; `None` if no verification must be made.
fn unshared_confirmation(
    exchange: &Exchange,
    cache: &CachePlace,
    why: Unshared,
    stored: Option<(u16, u64)>,
) -> Option<Verification> {
    match why {
        Unshared::Unsearched => {
            cache.zone.leaks.count_unsearched();
            None
        }
        Unshared::Leak(leak) => {
            leak_guard::report(&exchange.request, cache, &leak);
            Verification::of(&exchange.request, cache, leak, stored?)
        }
    }
}

/// Releases the waiters for a response that is not stored. Removes the stored page if the response shows that the page
/// is no longer valid, unless `*_cache_use_stale` names the status.
///
/// - If a usable page is stored, and `*_cache_use_stale` names the status, the waiters get their stale pages.
/// - Otherwise, if the response is refused because of this client's request, the waiters claim the page again.
/// - Otherwise, for a status of 500 or above, the waiters get their stale pages or the status.
/// - Otherwise each waiter sends its own request, and for `pass_ms` milliseconds from `now`, requests for the page do
///   not wait for each other.
fn reject_response(
    exchange: &mut Exchange,
    CacheContext { origin, cache }: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    sought: &FetchGoal,
    (status, why): (u16, StoreRefusal),
    (now, pass_ms): (u64, u64),
) {
    let is_named = cache.rules.use_stale.on_status(status);
    let stays = sought.usable_page && is_named;
    if why.concerns_request() && !stays {
        // The waiters claim the page again with their own requests, and one of them fetches it.
        drop(writer);
    } else if status >= 500 || stays {
        writer.fail(StoreFailure(status));
    } else {
        let of_the_answer = why == StoreRefusal::NoCache && is_excluded_for_all(exchange, origin, cache);
        if !is_named && invalidates_stored_page(status, why, of_the_answer, sought.own_request) {
            remove_older_entries(exchange, cache, writer.generation());
        }
        writer.uncacheable(now, pass_ms);
    }
}

/// Removes all entries of the page that are older than this fetch, including those under its key for other codings. If
/// any entry was removed, also removes the page from the other nodes of the cluster.
///
/// Must be called before the waiters are released, so that their next look-up finds no stale page.
fn remove_older_entries(exchange: &Exchange, cache: &CachePlace, generation: u64) {
    let keys = other_codings::keys_of_page(&exchange.request);
    let removed: usize =
        keys.iter().map(|key| cache.zone.zone.remove_older(KeyRef::new(key), generation)).sum();
    if removed > 0 {
        remove_from_cluster(&exchange.request, cache, keys);
    }
}

/// Returns whether a response is excluded from the cache for all clients: by a condition of `*_no_cache` that only
/// depends on the response, or because of `X-Accel-Redirect`.
fn is_excluded_for_all(exchange: &mut Exchange, place: &OriginPlace, cache: &CachePlace) -> bool {
    let Exchange { request, frame } = exchange;
    let head = request.origin.as_ref().and_then(|facts| facts.head.as_ref());
    let leads_elsewhere = head.is_some_and(|head| is_accel_redirect(head, place));
    let variables = &request.site.runtime.variables;
    let of_the_answer = |id: Builtin| variables[id.0 as usize].reads_only(&[Reads::OriginHead]);
    leads_elsewhere || cache.no_cache.any_true_of(&*request, frame, of_the_answer).unwrap_or(false)
}

fn is_accel_redirect(head: &ResponseHead, place: &OriginPlace) -> bool {
    head.fields.has(Known::XAccelRedirect) && !place.answer.ignore_accel.redirect
}

/// Applies the cache policy to a response: returns the lifetime of the page, or the reason why it is not stored.
fn admission(
    exchange: &mut Exchange,
    CacheContext { origin: place, cache }: CacheContext<'_>,
    head: &ResponseHead,
    sought: &FetchGoal,
    arrival: Arrival,
) -> Admission {
    exchange.request.origin_mut().head = Some(head.clone());
    let rules = validity::rules(exchange, cache, head, head.status);
    // A condition that cannot be evaluated prevents storing.
    let no_cache = share::is_storing_prevented(exchange, cache).unwrap_or(true);
    let request = &exchange.request;
    let redirects = is_accel_redirect(head, place);
    let fields = request.received.head.fields();
    let hidden = sought.shared_headers.is_some() && rules.shared_fetch.hides_cookies(fields);
    let facts = ResponseFacts {
        status: head.status,
        fields: &head.fields,
        method: sought.method,
        authorization: fields.has(Known::Authorization),
        personal: false,
        cookies: fields.has(Known::Cookie) && !hidden,
        piece: is_piece(request, head),
        no_cache: no_cache || redirects,
        // Requests below `*_cache_min_uses` are not fetched for the cache.
        uses: u64::MAX,
        usable_page: sought.usable_page,
        large_request: is_large_request(fields),
        delay_ms: arrival.delay_ms,
    };
    let admission = arrival.judged(|now, _| admit(&facts, &rules, now));
    if share::is_unapproved(request, &admission) {
        Admission::Refuse(StoreRefusal::Unapproved)
    } else {
        admission
    }
}

/// Returns whether a response is the slice that the request's key names (`slice`).
fn is_piece(request: &Request, head: &ResponseHead) -> bool {
    let range = head.fields.get(b"content-range").and_then(ContentRange::parse);
    let (Some(slice), Some(part)) = (request.cache.slice.get(), range) else { return false };
    part.range.start == slice.start && part.complete.is_some()
}
