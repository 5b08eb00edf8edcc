//! Creation of origin requests.

use myriad_upstream::{Affinity, Attempts, OriginRequest, RequestPayload};

use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::runtime::{MakeError, OriginPlace};

/// Builds the request to the origin of the current location, in the protocol of the origin. The caller sets the peer
/// selection, local address and observer. Fails as described for [`MakeError`].
pub fn make(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    purpose: FetchPurpose<'_>,
    payload: RequestPayload,
    attempts: Attempts,
) -> Result<OriginRequest, MakeError> {
    let made = origin.protocol.make(exchange, origin.request, purpose, payload)?;
    Ok(OriginRequest {
        protocol: made.protocol,
        method: made.method,
        body: made.body,
        timeouts: origin.fetch.timeouts,
        retry: origin.fetch.next,
        max_head: origin.fetch.head_bytes,
        affinity: Affinity::None,
        sid: None,
        bind: None,
        tls: made.tls,
        queues: !exchange.request.is_in_background(),
        observer: None,
        attempts,
    })
}
