//! Execution of a fetch: waits for a slot among the zone's fetches, then sends the request to the origin.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use myriad_log::LogLevel;
use myriad_store::FlightWriter;
use myriad_upstream::{ErrorKind, OriginError, OriginRequest, SentTracker};

use super::abort::{abort_fetch, reject_fetch};
use super::cluster_page;
use super::job::{FetchJob, FetchedResponse, NextCause};
use super::no_response::{NoResponse, is_of_the_origin};
use super::report::{FetchReport, report};
use super::store_decision::judge;
use crate::journey_step::{CacheContext, OwnedCacheContext};
use crate::maintenance;
use crate::origin_protection;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::OriginPlace;
use myriad_exchange::runtime::UpstreamTarget;
use myriad_origin::fetch::fetch as origin_fetch;
use myriad_origin::group;
use myriad_store::page::{ClusterPageResult, FetchAdmission, PageMeta};

/// Reason why a fetch has no response.
pub(super) enum FetchError {
    /// No slot among the zone's fetches became free in time.
    Denied,
    /// The upstream group could not be determined; contains the status for clients.
    NoTarget(u16),
    /// The request to the origin failed.
    Failed(OriginError),
}

/// Waits for a slot among the zone's fetches, up to the connect timeout, then sends the request to the origin. `waits`
/// is true if a client waits for the response.
pub(super) async fn send_request(
    exchange: &mut Exchange,
    place: &Arc<OriginPlace>,
    entry: FetchAdmission,
    (chosen, mut request): (UpstreamTarget, OriginRequest),
    waits: bool,
) -> Result<FetchedResponse, FetchError> {
    let fetching = entry.wait_for_turn(place.fetch.timeouts.connect_ms).await.ok_or(FetchError::Denied)?;
    let group = group::resolve_target(exchange, chosen).await.map_err(FetchError::NoTarget)?;
    let asked = myriad_net::clock::now_ms();
    let fetched = origin_fetch(exchange, place, &group, &mut request, waits).await;
    let response = fetched.map_err(FetchError::Failed)?;
    Ok(FetchedResponse { response, fetching, requested_at: asked, attempts: request.attempts })
}

/// Polls `work` until it is ready. Returns `None` as soon as no reader waits for the page, unless `ignores_abort` is
/// set and the request was sent.
async fn poll_while_awaited<T>(
    writer: &mut FlightWriter<PageMeta>,
    (sent, ignores_abort): (SentTracker, bool),
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    poll_fn(|cx| {
        // Checked first, so that no connection is opened for a client that has already disconnected.
        if !sent.has_begun() && writer.poll_unread(cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        let is_over = !(ignores_abort && sent.has_begun()) && writer.poll_unread(cx).is_ready();
        if is_over { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// Records the result of a fetch for `origin_backoff`, if the origin responded or caused the failure.
pub(super) fn note(
    request: &Request,
    cached: CacheContext<'_>,
    answered: &Result<FetchedResponse, FetchError>,
) {
    match answered {
        Ok(answered) => origin_protection::note(request, cached, Ok(&answered.response.head)),
        Err(FetchError::Failed(error)) if is_of_the_origin(error) => {
            origin_protection::note(request, cached, Err(NoResponse::of(error)));
        }
        Err(_) => {}
    }
}

/// Returns whether a fetch was a background refresh (`waits` is false) that was not sent because requests with waiting
/// clients had priority.
fn is_deferred(error: &OriginError, waits: bool) -> bool {
    !waits && matches!(error.kind(), ErrorKind::Busy | ErrorKind::NotSent(_))
}

/// Searches for the page in the cluster. Returns the job if the page must be requested from the origin. Returns `None`
/// if the fetch is over: the page was found and stored, no client waits for it any more, or too many fetches of the
/// zone are in progress. The fetch occupies no slot of the zone while it waits for another node.
async fn search_cluster(job: FetchJob) -> Option<FetchJob> {
    let Some(search) = cluster_page::search(&job.exchange, job.held.get(), &job.writer, &job.goal) else {
        return Some(job);
    };
    let FetchJob { exchange, held, mut writer, request, admission, target, reporter, permit, mut goal } = job;
    drop(admission);
    let until = (request.attempts.track_sent(), held.origin.fetch.to_the_end);
    let searching = pin!(search);
    let found = match reporter {
        Some(_) => poll_while_awaited(&mut writer, until, searching).await,
        None => Some(searching.await),
    };
    match found {
        None => {
            log_cancellation(&exchange);
            None
        }
        Some(ClusterPageResult::Found(page)) => {
            cluster_page::store(&exchange, held.get(), writer, reporter, *page);
            None
        }
        Some(ClusterPageResult::Fetch(lease)) => {
            goal.lease = lease;
            let fetches = &held.cache.zone.fetches;
            let admission = match reporter {
                Some(_) => fetches.begin_or_queue(),
                // Background refreshes do not queue.
                None => fetches.try_begin().map(FetchAdmission::Now),
            };
            let Some(admission) = admission else {
                if reporter.is_some() {
                    reject_fetch(&exchange.request, &held.cache, writer, reporter);
                } else {
                    // Clients that wait claim the page again, and one of them fetches it.
                    let what = format_args!("too many fetches of the zone: the stale page remains stored");
                    exchange.request.log(LogLevel::Info, what);
                }
                return None;
            };
            Some(FetchJob { exchange, held, writer, request, admission, target, reporter, permit, goal })
        }
    }
}

fn log_cancellation(exchange: &Exchange) {
    exchange.request.log(LogLevel::Info, format_args!("fetch cancelled: no client is waiting"));
}

/// Further fetch of a page, to be started after a fetch that is finished.
pub(super) struct NextFetch {
    /// Copy of the request that started the first fetch.
    pub exchange: Box<Exchange>,
    /// Origin and cache of the location.
    pub held: OwnedCacheContext,
    /// Reason for which the page is fetched again.
    pub cause: NextCause,
}

/// Runs a fetch: searches for the page in the cluster, or sends the request to the origin. Then stores the response, or
/// reports the failure to the waiters and the client. A fetch for a request is cancelled when no client waits for it
/// any more; with `*_ignore_client_abort`, only if the request to the origin was not sent yet. Returns the further
/// fetch to start if the page must be fetched again, otherwise `None`.
pub(super) async fn run(job: FetchJob) -> Option<NextFetch> {
    let job = search_cluster(job).await?;
    let FetchJob {
        mut exchange,
        held,
        mut writer,
        request,
        admission: entry,
        target: chosen,
        reporter,
        permit: _spent,
        goal: sought,
    } = job;
    let OwnedCacheContext { origin: place, cache } = &held;
    // A background refresh continues without readers, because later requests use it. With `*_ignore_client_abort`, a
    // request that was already sent is completed and its response stored, even if all clients have disconnected.
    let until = (request.attempts.track_sent(), place.fetch.to_the_end);
    let answered = {
        let asking = pin!(send_request(&mut exchange, place, entry, (chosen, request), reporter.is_some()));
        match reporter {
            Some(_) => poll_while_awaited(&mut writer, until, asking).await,
            None => Some(asking.await),
        }
    };
    let Some(answered) = answered else {
        log_cancellation(&exchange);
        return None;
    };
    // A response for one client alone gives no information about the page.
    let is_closed = matches!(&answered, Ok(answered) if maintenance::closed(&mut exchange, &answered.response.head).is_some());
    if !sought.own_request && !is_closed {
        note(&exchange.request, held.get(), &answered);
    }
    match answered {
        Ok(answered) => {
            let cause = judge(&mut exchange, held.get(), writer, reporter, sought, answered).await?;
            return Some(NextFetch { exchange, held, cause });
        }
        // The refresh was not sent: the page remains stale, and the next request tries again.
        Err(FetchError::Failed(error)) if is_deferred(&error, reporter.is_some()) => {
            exchange.request.log(LogLevel::Info, format_args!("{error}, the stale page remains stored"));
        }
        // The waiters are other clients, which may be within the limits: they claim the page again, and one of them
        // fetches it.
        Err(FetchError::Failed(error)) if matches!(error.kind(), ErrorKind::Limited(_)) => {
            exchange.request.log(LogLevel::Info, format_args!("{error}"));
            report(reporter, FetchReport::Failed(NoResponse::of(&error)));
            drop(writer);
        }
        Err(FetchError::Failed(error)) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            abort_fetch(writer, reporter, NoResponse::of(&error));
        }
        Err(FetchError::NoTarget(status)) => {
            abort_fetch(writer, reporter, NoResponse::unbuildable(status));
        }
        Err(FetchError::Denied) => reject_fetch(&exchange.request, cache, writer, reporter),
    }
    None
}
