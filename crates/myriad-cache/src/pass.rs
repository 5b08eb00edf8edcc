//! Request to an origin for one client: the response is not stored, and its body is streamed.

use std::sync::Arc;

use myriad_access::origin_protection::origin_query_limit::{LimitedQuery, OriginFetch};
use myriad_log::LogLevel;
use myriad_policy::{CacheStatus, RefreshFailure};
use myriad_upstream::{OriginError, OriginResponse, Phase, RequestPayload};

use crate::esi;
use crate::fetch::{NoResponse, failure, is_of_the_origin};
use crate::invalidate;
use crate::journey_step::{CacheContext, JourneyStep};
use crate::maintenance;
use crate::origin_protection;
use crate::stale_fallback::stale_instead;
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, FetchPurpose, PhaseStep, Request};
use myriad_exchange::runtime::OriginPlace;
use myriad_origin::build_request;
use myriad_origin::fetch::{fail_request, fetch, fetch_to_completion};
use myriad_origin::group;
use myriad_origin::upload;

/// Sends the request of a location without a cache to the origin, and forwards the response. `origin_challenge` and
/// `origin_query_limit` may delay the request, or answer it instead.
pub(crate) async fn uncached(exchange: &mut Exchange, origin: &Arc<OriginPlace>) -> PhaseStep {
    match origin_protection::judge(exchange, OriginFetch::Target) {
        Some(LimitedQuery::Answer(step)) => return step,
        Some(LimitedQuery::Wait(ms)) => origin_protection::wait(exchange, ms).await,
        None => {}
    }
    match send_request(exchange, origin, None).await {
        PassResult::Answered(response) => esi::respond(exchange, origin, response),
        PassResult::Failed(error) => fail_request(exchange, &error),
        PassResult::Not(status) => PhaseStep::Error(status),
    }
}

/// Sends the request to the origin without using the cache, and forwards its response. Before the response is
/// forwarded, stored pages are removed or invalidated if it requires this (`*_cache_invalidate`, purges, maintenance).
///
/// After a failure, a stale page may be served. `payload` is the request body if it has already been read.
pub(crate) async fn run(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    payload: Option<RequestPayload>,
) -> JourneyStep {
    let CacheContext { origin, cache } = cached;
    let asked = send_request(exchange, origin, payload).await;
    note(&exchange.request, cached, &asked);
    match asked {
        PassResult::Answered(response) => {
            invalidate::after(exchange, cache, &response.head).await;
            purge::purge_for_origin(exchange, Some(cache), &response.head).await;
            let stale = exchange.request.cache.stale.take();
            if let Some(cause) = maintenance::closed(exchange, &response.head) {
                maintenance::invalidate(&exchange.request, cache, cause).await;
                return JourneyStep::Done(esi::respond(exchange, origin, response));
            }
            match stale_instead(&exchange.request, cached, stale, RefreshFailure::Http(response.head.status))
            {
                Some(next) => next,
                None => JourneyStep::Done(esi::respond(exchange, origin, response)),
            }
        }
        PassResult::Failed(error) => {
            let stale = exchange.request.cache.stale.take();
            match stale_instead(&exchange.request, cached, stale, failure(&error)) {
                Some(next) => {
                    exchange.request.log(LogLevel::Error, format_args!("{error}"));
                    next
                }
                None => JourneyStep::Done(fail_request(exchange, &error)),
            }
        }
        PassResult::Not(status) => JourneyStep::Done(PhaseStep::Error(status)),
    }
}

/// Records the result of a request for `origin_backoff` if its page was looked up; a request that bypassed the cache
/// gives no information about a page.
///
/// The origin got all header fields of the client, so the client may have caused an error status or an aborted
/// response. Such an error must not block the page for other clients. A failure to connect does, because clients cannot
/// cause it.
fn note(request: &Request, cached: CacheContext<'_>, asked: &PassResult) {
    if !matches!(request.cache.report.status, Some(CacheStatus::Miss | CacheStatus::Expired)) {
        return;
    }
    match asked {
        PassResult::Answered(response) if response.head.status >= 500 => {}
        PassResult::Answered(response) => origin_protection::note(request, cached, Ok(&response.head)),
        PassResult::Failed(error)
            if is_of_the_origin(error) && matches!(error.phase(), Phase::Connecting | Phase::Handshaking) =>
        {
            origin_protection::note(request, cached, Err(NoResponse::of(error)));
        }
        PassResult::Failed(_) | PassResult::Not(_) => {}
    }
}

/// Result of a request that is passed to the origin.
enum PassResult {
    /// The origin responded.
    Answered(Box<OriginResponse>),
    /// The request failed without a response.
    Failed(OriginError),
    /// The request was not sent; contains the status for the client.
    Not(u16),
}

async fn send_request(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    payload: Option<RequestPayload>,
) -> PassResult {
    let mut watch = esi::watch(&exchange.request);
    let payload = match payload {
        Some(payload) => Ok(payload),
        None => upload::payload(exchange, origin).await,
    };
    let payload = match payload {
        Ok(payload) => payload,
        Err(status) => return PassResult::Not(status),
    };
    let chosen = match group::target_of_place(exchange, origin) {
        Ok(chosen) => group::resolve_target(exchange, chosen).await,
        Err(status) => Err(status),
    };
    let group = match chosen {
        Ok(group) => group,
        Err(status) => return PassResult::Not(status),
    };
    let attempts = exchange.request.origin_mut().attempts.clone();
    let mut request = match build_request::make(exchange, origin, FetchPurpose::Visitor, payload, attempts) {
        Ok(request) => request,
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            return PassResult::Not(500);
        }
    };
    exchange.request.count_fetch();
    let fetched = if origin.fetch.to_the_end {
        Box::pin(fetch_to_completion(exchange, origin, &group, request)).await
    } else {
        fetch(exchange, origin, &group, &mut request, true).await
    };
    match fetched {
        Ok(mut response) => {
            esi::check_response(&exchange.request, &response.head);
            if let Some(watch) = &mut watch {
                watch.check_response(&response.head);
            }
            drop(watch);
            esi::store(&exchange.request, &mut response).await;
            PassResult::Answered(response)
        }
        Err(error) => PassResult::Failed(error),
    }
}
