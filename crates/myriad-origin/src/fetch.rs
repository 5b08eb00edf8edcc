//! Sending a request to an origin.

use std::sync::Arc;

use myriad_access::shield::origin_queue::retry_later;
use myriad_access::shield::{Permit, admit};
use myriad_log::Level;
use myriad_upstream::{Attempts, ErrorKind, OriginError, OriginRequest, OriginResponse};

use crate::add_header;
use crate::bind;
use crate::group;
use crate::sticky;
use crate::to_the_end::ToTheEnd;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::Step;
use myriad_exchange::runtime::{OriginGroup, OriginPlace};

/// Like [`fetch`], but if the client disconnects before the response head is available, the fetch continues until the
/// last byte of the response (`*_ignore_client_abort`), or until the worker shuts down. A request that no peer has
/// started to process is cancelled.
pub async fn fetch_to_the_end(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    group: &Arc<OriginGroup>,
    mut request: OriginRequest,
) -> Result<Box<OriginResponse>, OriginError> {
    prepare(exchange, origin, group, &mut request, true);
    let permit = admit(exchange, true).await?;
    let attempts = request.attempts.clone();
    let (asked, pool) = (Arc::clone(group), exchange.request.site.pool.clone());
    let sent = request.attempts.sent();
    let fetching = async move { answered(asked.group.fetch(&pool, request).await, permit) };
    let mut response = ToTheEnd::new(fetching, sent).await?;
    noted(exchange, group, &attempts, &mut response);
    Ok(response)
}

/// Sends a request to a group and writes errors on the way to the error log of the exchange. `waits` is set if the
/// client waits for the response head. `request` is passed by reference because it is large.
pub async fn fetch(
    exchange: &mut Exchange,
    origin: &Arc<OriginPlace>,
    group: &OriginGroup,
    request: &mut OriginRequest,
    waits: bool,
) -> Result<Box<OriginResponse>, OriginError> {
    prepare(exchange, origin, group, request, waits);
    let permit = admit(exchange, request.queues).await?;
    let site = std::rc::Rc::clone(&exchange.request.site);
    let attempts = request.attempts.clone();
    let mut response = answered(group.group.fetch_of(&site.pool, request).await, permit)?;
    noted(exchange, group, &attempts, &mut response);
    Ok(response)
}

/// Records facts of a response (`sticky`) and adds configured fields (`origin_add_header`) before it is processed
/// further.
fn noted(exchange: &mut Exchange, group: &OriginGroup, attempts: &Attempts, response: &mut OriginResponse) {
    sticky::note(exchange, group, attempts, response);
    add_header::add_to(exchange, response.head.status, &mut response.head.fields);
}

/// Attaches the permit to the response; it is released when the origin has finished the response.
fn answered(
    fetched: Result<Box<OriginResponse>, OriginError>,
    permit: Permit,
) -> Result<Box<OriginResponse>, OriginError> {
    fetched.map(|mut response| {
        permit.answered(&mut response);
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
    request.sid = sticky::wanted(exchange, group);
    request.bind = bind::address(exchange, &origin.fetch);
    request.observer = Some(crate::observer::Observer::of(exchange, origin, waits));
}

/// Handles a failed fetch: writes the error log and returns the error status for the client.
pub fn fail(exchange: &mut Exchange, error: &OriginError) -> Step {
    exchange.request.log(Level::Error, format_args!("{error}"));
    if let ErrorKind::NotAsked(status) = error.kind() {
        retry_later(exchange, *status);
    }
    Step::Error(error.status())
}
