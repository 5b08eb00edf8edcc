//! Request to an origin for one client: nothing is stored, the body streams through.

use std::sync::Arc;

use myriad_access::shield::origin_query_limit::{Limited, Sought};
use myriad_log::Level;
use myriad_policy::{CacheStatus, Failure};
use myriad_upstream::{OriginError, OriginResponse, Phase, RequestPayload};

use crate::esi;
use crate::fetch::{NoAnswer, failure, is_of_the_origin};
use crate::invalidate;
use crate::maintenance;
use crate::next::{Cached, Next};
use crate::shield;
use crate::stale_instead::stale_instead;
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, Purpose, Request, Step};
use myriad_exchange::runtime::OriginPlace;
use myriad_origin::fetch::{fail, fetch, fetch_to_the_end};
use myriad_origin::group;
use myriad_origin::make;
use myriad_origin::upload;

/// Sends the request to an origin that has no cache, and forwards its response.
pub(crate) async fn uncached(exchange: &mut Exchange, origin: &Arc<OriginPlace>) -> Step {
    match shield::judge(exchange, Sought::Target) {
        Some(Limited::Answer(step)) => return step,
        Some(Limited::Wait(ms)) => shield::wait(exchange, ms).await,
        None => {}
    }
    match ask(exchange, origin, None).await {
        Asked::Answered(response) => esi::respond(exchange, origin, response),
        Asked::Failed(error) => fail(exchange, &error),
        Asked::Not(status) => Step::Error(status),
    }
}

/// Sends the request to the origin past its cache, and forwards its response.
///
/// A stale page may be served after a failure. `payload` is the request's body if it has already been read.
pub(crate) async fn run(
    exchange: &mut Exchange,
    cached: Cached<'_>,
    payload: Option<RequestPayload>,
) -> Next {
    let Cached { origin, cache } = cached;
    let asked = ask(exchange, origin, payload).await;
    note(&exchange.request, cached, &asked);
    match asked {
        Asked::Answered(response) => {
            invalidate::after(exchange, cache, &response.head).await;
            purge::by_origin(exchange, Some(cache), &response.head).await;
            let stale = exchange.request.cache.stale.take();
            if let Some(cause) = maintenance::closed(exchange, &response.head) {
                maintenance::invalidate(&exchange.request, cache, cause).await;
                return Next::Done(esi::respond(exchange, origin, response));
            }
            match stale_instead(&exchange.request, cached, stale, Failure::Http(response.head.status)) {
                Some(next) => next,
                None => Next::Done(esi::respond(exchange, origin, response)),
            }
        }
        Asked::Failed(error) => {
            let stale = exchange.request.cache.stale.take();
            match stale_instead(&exchange.request, cached, stale, failure(&error)) {
                Some(next) => {
                    exchange.request.log(Level::Error, format_args!("{error}"));
                    next
                }
                None => Next::Done(fail(exchange, &error)),
            }
        }
        Asked::Not(status) => Next::Done(Step::Error(status)),
    }
}

/// Records the result of a request whose page was looked up. A request that bypassed the cache gives no information
/// about a page.
///
/// The origin received all header fields of the client, so the client may have caused an error status or an aborted
/// response. Such an error does not block the page for other clients. A failure to connect does, because no client can
/// cause it.
fn note(request: &Request, cached: Cached<'_>, asked: &Asked) {
    if !matches!(request.cache.shown.status, Some(CacheStatus::Miss | CacheStatus::Expired)) {
        return;
    }
    match asked {
        Asked::Answered(response) if response.head.status >= 500 => {}
        Asked::Answered(response) => shield::note(request, cached, Ok(&response.head)),
        Asked::Failed(error)
            if is_of_the_origin(error) && matches!(error.phase(), Phase::Connecting | Phase::Handshaking) =>
        {
            shield::note(request, cached, Err(NoAnswer::of(error)));
        }
        Asked::Failed(_) | Asked::Not(_) => {}
    }
}

/// Result of the request to the origin.
enum Asked {
    /// The origin responded.
    Answered(Box<OriginResponse>),
    /// The origin did not respond.
    Failed(OriginError),
    /// The request could not be sent; the status for the client.
    Not(u16),
}

async fn ask(exchange: &mut Exchange, origin: &Arc<OriginPlace>, payload: Option<RequestPayload>) -> Asked {
    let mut watch = esi::watch(&exchange.request);
    let payload = match payload {
        Some(payload) => Ok(payload),
        None => upload::payload(exchange, origin).await,
    };
    let payload = match payload {
        Ok(payload) => payload,
        Err(status) => return Asked::Not(status),
    };
    let chosen = match group::of_place(exchange, origin) {
        Ok(chosen) => group::settle(exchange, chosen).await,
        Err(status) => Err(status),
    };
    let group = match chosen {
        Ok(group) => group,
        Err(status) => return Asked::Not(status),
    };
    let attempts = exchange.request.origin_mut().attempts.clone();
    let mut request = match make::make(exchange, origin, Purpose::Visitor, payload, attempts) {
        Ok(request) => request,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            return Asked::Not(500);
        }
    };
    exchange.request.count_fetch();
    let fetched = if origin.fetch.to_the_end {
        Box::pin(fetch_to_the_end(exchange, origin, &group, request)).await
    } else {
        fetch(exchange, origin, &group, &mut request, true).await
    };
    match fetched {
        Ok(response) => {
            if let Some(watch) = &mut watch {
                watch.see(&response.head);
            }
            Asked::Answered(response)
        }
        Err(error) => Asked::Failed(error),
    }
}
