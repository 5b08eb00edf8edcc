//! Start of a fetch. The request to the origin is made from a copy of the client's request.

use myriad_http::Known;
use myriad_log::LogLevel;
use myriad_policy::CacheStatus;
use myriad_store::FlightWriter;
use myriad_upstream::{OriginRequest, RequestPayload};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::abort::{abort_fetch, reject_fetch};
use super::job::{FetchGoal, FetchJob, NextCause};
use super::no_response::NoResponse;
use super::report::{FetchReport, Reporter, report};
use super::run::{NextFetch, run};
use super::verify::verify;
use crate::adaptive_validity::NoiseCheck;
use crate::companion::CompanionFetch;
use crate::early_refresh::RefreshPermit;
use crate::journey_step::CacheContext;
use crate::leak_guard::FetchGuard;
use crate::other_codings;
use crate::page;
use crate::shared_fetch_headers;
use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::{CachePlace, MakeError};
use myriad_origin::build_request;
use myriad_origin::group;
use myriad_store::page::{FetchAdmission, FetchPermit, Page, PageMeta, conditions};

/// Starts the fetch of a page. `reporter` sends the result to this request. If the fetch cannot start, all waiters are
/// released immediately: with an error, or to fetch the page with their own requests.
pub(crate) fn start(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    reporter: oneshot::Sender<FetchReport>,
) {
    let Some(entry) = cached.cache.zone.fetches.begin_or_queue() else {
        reject_fetch(&exchange.request, cached.cache, writer, Some(reporter));
        return;
    };
    begin(exchange, cached, (writer, entry), FetchCause::Request(reporter));
}

/// Starts the fetch of a stale page in the background; the request itself serves the stale page.
pub(crate) fn start_in_background(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    fetching: FetchPermit,
) {
    let flight = (writer, FetchAdmission::Now(fetching));
    exchange.request.cache.refresh = begin(exchange, cached, flight, FetchCause::Expiry);
}

/// Starts the fetch of a page that is still fresh, in the background. The worker starts no other early refresh before
/// the fetch is complete.
pub(crate) fn start_early(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    (fetching, spent): (FetchPermit, RefreshPermit),
) {
    begin(exchange, cached, (writer, FetchAdmission::Now(fetching)), FetchCause::Early(spent));
}

/// Starts a further fetch of a page in the background: to find its noise (text that differs at each rendering), or to
/// verify a leak. Nothing is started if too many fetches of the zone are in progress, or if the page cannot be
/// refreshed now.
fn start_next(NextFetch { mut exchange, held, cause }: NextFetch) {
    let cached = held.get();
    let zone = &cached.cache.zone;
    let now = myriad_net::clock::now_ms();
    let Some(fetching) = zone.fetches.try_begin() else { return };
    match cause {
        NextCause::NoiseCheck(page, check) => {
            let address = Some(page::address_of(&exchange.request));
            let Some(writer) = zone.zone.begin_refresh(&page, now, cached.lease_ms(), address) else {
                return;
            };
            let cause = FetchCause::NoiseCheck(check);
            begin(&mut exchange, cached, (writer, FetchAdmission::Now(fetching)), cause);
        }
        NextCause::Verification(verification) => {
            tokio::task::spawn_local(Box::pin(verify(exchange, held, fetching, verification)));
        }
    }
}

/// Reason for a fetch, with the data that the reason requires.
enum FetchCause {
    /// A request waits for the result, which it receives by this channel.
    Request(oneshot::Sender<FetchReport>),
    /// The page is stale; the request serves the stale page.
    Expiry,
    /// The page is fresh, but expires soon; contains the permit for the early refresh.
    Early(RefreshPermit),
    /// The page was just fetched, and differs from the page that it replaced.
    NoiseCheck(NoiseCheck),
}

/// Data of a [`FetchCause`], in separate fields; a field is `None` if the cause does not have it.
#[derive(Default)]
struct CauseParts {
    reporter: Reporter,
    permit: Option<RefreshPermit>,
    noise_check: Option<NoiseCheck>,
}

impl FetchCause {
    fn into_parts(self) -> CauseParts {
        let none = CauseParts::default();
        match self {
            Self::Request(sender) => CauseParts { reporter: Some(sender), ..none },
            Self::Expiry => none,
            Self::Early(permit) => CauseParts { permit: Some(permit), ..none },
            Self::NoiseCheck(check) => CauseParts { noise_check: Some(check), ..none },
        }
    }
}

/// Builds the request to the origin and spawns the task of the fetch. Returns `None` if the request has no target or
/// cannot be built: this is logged, and the waiting requests are released.
fn begin(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    (writer, entry): (FlightWriter<PageMeta>, FetchAdmission),
    cause: FetchCause,
) -> Option<JoinHandle<()>> {
    let CauseParts { reporter, permit, noise_check } = cause.into_parts();
    let CacheContext { origin, cache } = cached;
    let chosen = match group::target_of_place(exchange, origin) {
        Ok(chosen) => chosen,
        Err(status) => {
            abort_fetch(writer, reporter, NoResponse::unbuildable(status));
            return None;
        }
    };
    let attempts = match &reporter {
        Some(_) => exchange.request.origin_mut().attempts.clone(),
        None => myriad_upstream::Attempts::default(),
    };
    let payload = match &exchange.request.upload.buffered {
        Some(body) => body.payload(),
        None => RequestPayload::Empty,
    };
    let confirmable = writer.previous().filter(|page| is_confirmable(page, cache));
    let conditional = confirmable.is_some();
    let shared_headers = shared_fetch_headers::of(&exchange.request, cache, writer.previous());
    let purpose = FetchPurpose::Store {
        confirms: confirmable,
        replacement_fields: shared_headers.as_ref().map(|told| &told.fields),
    };
    let request = match build_request::make(exchange, origin, purpose, payload, attempts) {
        // Background refreshes do not queue: requests without any page have priority.
        Ok(request) => OriginRequest { queues: reporter.is_some(), ..request },
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            match error {
                // The requests of the waiters may be within the size limit, so one of them fetches the page instead.
                MakeError::Size(_) => {
                    report(reporter, FetchReport::Failed(NoResponse::unbuildable(500)));
                    drop(writer);
                }
                MakeError::Eval(_) | MakeError::Tls(_) => {
                    abort_fetch(writer, reporter, NoResponse::unbuildable(500));
                }
            }
            return None;
        }
    };
    let guard = FetchGuard::of(&exchange.request, cache, &request);
    exchange.request.count_fetch();
    let stored = writer.previous().or(exchange.request.cache.stale.as_ref());
    let usable_page = stored.is_some_and(|page| page.meta().status < 500);
    let is_for_other_codings = other_codings::uses_separate_key(&exchange.request);
    let companion = CompanionFetch::begin(&exchange.request, cache);
    let own_request = exchange.request.cache.report.status == Some(CacheStatus::Bypass)
        || exchange.request.received.head.fields().has(Known::Authorization)
            && !cache.rules.authorization_in_key;
    let exchange = exchange.snapshot();
    let sought = FetchGoal {
        method: request.method,
        usable_page,
        conditional,
        is_for_other_codings,
        companion,
        own_request,
        shared_headers,
        noise_check,
        lease: None,
        guard,
    };
    let held = cached.to_owned();
    let job = FetchJob {
        exchange,
        held,
        writer,
        request,
        admission: entry,
        target: chosen,
        reporter,
        permit,
        goal: sought,
    };
    // Boxed, because the runtime moves the future several times.
    Some(tokio::task::spawn_local(Box::pin(async {
        if let Some(next) = run(job).await {
            start_next(next);
        }
    })))
}

/// Returns whether the origin can confirm the stored page by a 304: `*_cache_revalidate` or `cache_rfc9111` is on, and
/// the page has a validator of the origin ([`conditions`]).
fn is_confirmable(page: &Page, cache: &CachePlace) -> bool {
    cache.rules.revalidate && !conditions(page).is_empty()
}
