//! Limits that may prevent a fetch for a client: `origin_challenge`, `origin_query_limit`, `origin_backoff`.

use std::time::Duration;

use myriad_access::origin_protection::origin_query_limit::{LimitedQuery, OriginFetch};
use myriad_access::origin_protection::{origin_backoff, origin_challenge, origin_query_limit};
use myriad_http::ResponseHead;
use myriad_policy::RefreshFailure;
use myriad_store::FetchFailure as StoreFailure;

use crate::fetch::NoResponse;
use crate::journey_step::{CacheContext, JourneyStep};
use crate::stale_fallback::stale_instead;
use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_store::page::Page;

/// Applies `origin_challenge` and `origin_query_limit` to a request that needs the origin. Returns the response or the
/// wait that a limit requires; `None` if the request is admitted, as each request that is only explained.
pub(crate) fn judge(exchange: &mut Exchange, sought: OriginFetch) -> Option<LimitedQuery> {
    if exchange.request.received.sink.is_some() {
        return None;
    }
    match origin_challenge::judge(exchange) {
        Some(step) => Some(LimitedQuery::Answer(step)),
        None => origin_query_limit::judge(exchange, sought),
    }
}

impl From<LimitedQuery> for JourneyStep {
    fn from(limited: LimitedQuery) -> Self {
        match limited {
            LimitedQuery::Answer(step) => Self::Done(step),
            LimitedQuery::Wait(ms) => Self::Wait(ms),
        }
    }
}

/// Waits for `ms` milliseconds, for a request beyond `origin_query_limit`.
pub(crate) async fn wait(exchange: &Exchange, ms: u64) {
    let traced = exchange.request.begin_wait("origin_query_limit");
    tokio::time::sleep(Duration::from_millis(ms)).await;
    drop(traced);
}

/// Bit of a stored failure, in addition to [`NoResponse::encode`]: the application sent its own error page (503 with
/// `Retry-After`, as WordPress does during an update). Without a stale page, requests are still sent to the origin, so
/// that clients get the application's page instead of Myriad's.
const OWN_ERROR_PAGE: u16 = 1 << 15;

/// Applies the limits before a fetch; if a page is stored, only `origin_backoff`. Returns the step to run instead (a
/// stale page, a wait or an error), or `None` if the page may be fetched, and for a request that is only explained.
/// `stale` is the stored page, if any.
pub(crate) fn instead(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    stale: Option<&Page>,
) -> Option<JourneyStep> {
    if exchange.request.received.sink.is_some() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    // The limits only apply to pages that are not stored.
    if stale.is_none()
        && let Some(limited) = judge(exchange, OriginFetch::Page)
    {
        return Some(limited.into());
    }
    let held = origin_backoff::active_pause(&exchange.request, cached.cache.zone.zone.name(), now)?;
    let why = NoResponse::decode(StoreFailure(held.failure & !OWN_ERROR_PAGE));
    let stale = exchange.request.cache.stale.clone();
    if let Some(next) = stale_instead(&exchange.request, cached, stale, why.failure) {
        return Some(next);
    }
    if held.failure & OWN_ERROR_PAGE != 0 {
        return None;
    }
    let seconds = held.left_ms.div_ceil(1000).max(1);
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(format!("Retry-After: {seconds}\r\n").as_bytes());
    Some(JourneyStep::Done(PhaseStep::Error(503)))
}

/// Returns whether a page must not be refreshed in the background now, because of `origin_backoff`.
pub(crate) fn defers_refresh(request: &Request, cached: CacheContext<'_>) -> bool {
    let now = myriad_net::clock::now_ms();
    origin_backoff::active_pause(request, cached.cache.zone.zone.name(), now).is_some()
}

/// Records the result of a fetch for `origin_backoff`: the head of a response, or a failure. A status of 500 or above
/// counts as a failure.
pub(crate) fn note(request: &Request, cached: CacheContext<'_>, came: Result<&ResponseHead, NoResponse>) {
    let zone = cached.cache.zone.zone.name();
    let failure = match came {
        Ok(head) if head.status < 500 => return origin_backoff::record_success(request, zone),
        Ok(head) => {
            let StoreFailure(failure) =
                NoResponse { status: head.status, failure: RefreshFailure::Http(head.status) }.encode();
            let has_words = head.status == 503 && head.fields.get(b"retry-after").is_some();
            if has_words { failure | OWN_ERROR_PAGE } else { failure }
        }
        Err(why) => why.encode().0,
    };
    origin_backoff::record_failure(request, zone, failure, myriad_net::clock::now_ms());
}
