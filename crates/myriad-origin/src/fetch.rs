//! Sending of a request to an origin.

use std::sync::Arc;

use myriad_access::origin_protection::origin_queue::set_retry_after;
use myriad_access::origin_protection::{OriginPermit, admit_to_origin};
use myriad_log::LogLevel;
use myriad_upstream::{Attempts, ErrorKind, OriginError, OriginRequest, OriginResponse};

use crate::add_header;
use crate::bind;
use crate::completing_fetch::CompletingFetch;
use crate::group;
use crate::sticky;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::runtime::{OriginGroup, OriginPlace};

/// Sends a request like [`fetch`], but completes the fetch if the client disconnects before the response head is
/// available (`*_ignore_client_abort`): it continues up to the last byte of the response or until the worker shuts
/// down. It is cancelled if no connection to a peer was established yet. Fails like [`fetch`].
pub async fn fetch_to_completion(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    group: &Arc<OriginGroup>,
    mut request: OriginRequest,
) -> Result<Box<OriginResponse>, OriginError> {
    prepare(exchange, origin, group, &mut request, true);
    let permit = admit_to_origin(exchange, true).await?;
    let attempts = request.attempts.clone();
    let (asked, pool) = (Arc::clone(group), exchange.request.site.pool.clone());
    let sent = request.attempts.track_sent();
    let fetching = async move { attach_permit(asked.group.fetch(&pool, request).await, permit) };
    let mut response = CompletingFetch::new(fetching, sent).await?;
    record_response(exchange, group, &attempts, &mut response);
    Ok(response)
}

/// Sends a request to a group of peers and returns the response. Fails if no peer delivers a response head, or if this
/// server withholds the request (limits with `origin_only`, `origin_queue`, `memory_limit`). `waits` is true if the
/// client waits for this response head; interim responses are forwarded only then. Failures before another attempt are
/// written to the error log. `request` is passed by reference because it is large.
pub async fn fetch(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    group: &OriginGroup,
    request: &mut OriginRequest,
    waits: bool,
) -> Result<Box<OriginResponse>, OriginError> {
    prepare(exchange, origin, group, request, waits);
    let permit = admit_to_origin(exchange, request.queues).await?;
    let site = std::rc::Rc::clone(&exchange.request.site);
    let attempts = request.attempts.clone();
    let mut response = attach_permit(group.group.fetch_of(&site.pool, request).await, permit)?;
    record_response(exchange, group, &attempts, &mut response);
    Ok(response)
}

/// Records the peer of a response (`sticky`) and adds the configured fields (`origin_add_header`).
fn record_response(
    exchange: &mut Exchange,
    group: &OriginGroup,
    attempts: &Attempts,
    response: &mut OriginResponse,
) {
    sticky::note(exchange, group, attempts, response);
    add_header::add_configured_fields(exchange, response.head.status, &mut response.head.fields);
}

/// Attaches the permit of `origin_queue` and of limits with `origin_only` to the response; it is released when the
/// origin has completed the response (with `release=head`, the slot of the queue is released at once). An error
/// releases the permit.
fn attach_permit(
    fetched: Result<Box<OriginResponse>, OriginError>,
    permit: OriginPermit,
) -> Result<Box<OriginResponse>, OriginError> {
    fetched.map(|mut response| {
        permit.response_head_arrived(&mut response);
        response
    })
}

fn prepare(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    group: &OriginGroup,
    request: &mut OriginRequest,
    waits: bool,
) {
    request.affinity = group::affinity(exchange, group);
    request.sid = sticky::requested_peer(exchange, group);
    request.bind = bind::address(exchange, &origin.fetch);
    request.observer = Some(crate::observer::OriginObserver::of(exchange, origin, waits));
}

/// Handles a failed fetch: writes the error log, and returns the error step with the status for the client. If this
/// server withheld the request with a 503 (full queue, lack of memory, but not a limit with `origin_only`),
/// [`set_retry_after`] may also add `Retry-After`.
pub fn fail_request(exchange: &mut Exchange, error: &OriginError) -> PhaseStep {
    exchange.request.log(LogLevel::Error, format_args!("{error}"));
    if let ErrorKind::NotSent(status) = error.kind() {
        set_retry_after(exchange, *status);
    }
    PhaseStep::Error(error.status())
}
