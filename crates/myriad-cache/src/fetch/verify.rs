//! Verification of a leak: a fetch without the values of the visitor, whose response is searched and not stored.

use std::future::poll_fn;
use std::pin::Pin;

use myriad_http::Known;
use myriad_log::LogLevel;
use myriad_policy::ApplicationState;
use myriad_upstream::{Attempts, OriginRequest, OriginResponse, RequestPayload};

use super::job::FetchedResponse;
use super::run::{note, send_request};
use crate::journey_step::{CacheContext, OwnedCacheContext};
use crate::leak_guard::{self, Verification, VerificationSearch};
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::UpstreamTarget;
use myriad_origin::{build_request, group, respond};
use myriad_store::page::{FetchAdmission, FetchPermit};

/// Maximum length in bytes of the body of a verification's response; a longer body without the value gives no result.
const MAX_BODY: u64 = 64 << 20;

/// Verifies a leak in the page of a request, and records the result.
pub(super) async fn verify(
    mut exchange: Box<Exchange>,
    held: OwnedCacheContext,
    fetching: FetchPermit,
    verification: Verification,
) {
    let is_found = fetch_and_search(&mut exchange, &held, fetching, &verification).await;
    verification.record(&exchange.request, &held.cache, is_found);
}

/// Returns whether a response to a request without the visitor's values contains the value. `None` if no such request
/// can be sent (also if the configuration adds the value to it), if the request fails, if the response cannot be
/// compared, or if it is incomplete and the part that arrived lacks the value.
async fn fetch_and_search(
    exchange: &mut Exchange,
    held: &OwnedCacheContext,
    fetching: FetchPermit,
    verification: &Verification,
) -> Option<bool> {
    let CacheContext { cache, .. } = held.get();
    let (target, request) = anonymous_request(exchange, held)?;
    if verification.is_vain(&request) {
        return None;
    }
    exchange.request.count_fetch();
    let sent = request.attempts.track_sent();
    let entry = FetchAdmission::Now(fetching);
    let answered = send_request(exchange, &held.origin, entry, (target, request), false).await;
    if sent.has_begun() {
        cache.zone.leaks.count_verification();
    }
    note(&exchange.request, held.get(), &answered);
    let FetchedResponse { response, attempts, fetching: _fetching, .. } = answered.ok()?;
    purge::purge_for_origin(exchange, Some(cache), &response.head).await;
    let is_truncated = ApplicationState::of(&response.head.fields).incomplete;
    let search = verification.search(&response.head)?;
    let is_found = search_body(search, *response).await?;
    // A value that is missing in a part of the page may be in the rest.
    (is_found || !is_truncated && !attempts.had_fatal_error()).then_some(is_found)
}

/// Builds the request for the page without the visitor's values; `None` if it cannot be built, which is logged.
fn anonymous_request(
    exchange: &mut Exchange,
    held: &OwnedCacheContext,
) -> Option<(UpstreamTarget, OriginRequest)> {
    let CacheContext { origin, cache } = held.get();
    let target = group::target_of_place(exchange, origin).ok()?;
    let anonymous = leak_guard::anonymous_fields(&exchange.request, cache);
    let purpose = FetchPurpose::Store { confirms: None, replacement_fields: Some(&anonymous.fields) };
    match build_request::make(exchange, origin, purpose, RequestPayload::Empty, Attempts::default()) {
        // Requests of visitors have priority.
        Ok(request) => Some((target, OriginRequest { queues: false, ..request })),
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("verification of a leak: {error}"));
            None
        }
    }
}

/// Returns whether a response has the value; `None` if its body lacks the value, and is too long or not complete.
async fn search_body(mut search: VerificationSearch<'_>, response: OriginResponse) -> Option<bool> {
    let OriginResponse { head, mut body, .. } = response;
    let length = head.known(Known::ContentLength).and_then(respond::parse_length);
    let mut received = 0;
    while !search.is_found() {
        match poll_fn(|cx| Pin::as_mut(&mut body).poll_data(cx)).await {
            Some(Ok(piece)) => {
                received += piece.len() as u64;
                if received > MAX_BODY || !search.push(piece).await {
                    return None;
                }
            }
            Some(Err(_)) => return None,
            None => {
                let is_complete = length.is_none_or(|length| length == received) && search.finish();
                return is_complete.then_some(false);
            }
        }
    }
    Some(true)
}
