//! New connection to a peer for a request, with or without TLS.

use crate::connect::connect;
use crate::error::OriginError;
use crate::group::SelectedPeer;
use crate::pool::HttpPool;
use crate::request::OriginRequest;
use crate::stream::CountedStream;
use crate::tls;

/// Connects to a peer with the timeout, local address and TLS parameters of the request. May close idle connections to
/// stay within the limits of connections and descriptors. Fails if no connection slot becomes free, or connecting or
/// the TLS handshake fails.
pub(crate) async fn connect_for_request(
    chosen: &SelectedPeer,
    pool: &HttpPool,
    request: &OriginRequest,
) -> Result<CountedStream, OriginError> {
    let connect_ms = request.timeouts.connect_ms;
    let place = pool.connections.take(|| pool.close_oldest(), connect_ms).await?;
    let make_descriptors = || {
        pool.close_oldest();
        pool.connections.make_descriptors();
    };
    let mut stream = connect(&chosen.config().address, request.bind, connect_ms, &make_descriptors).await?;
    if let Some(tls) = &request.tls {
        stream = Box::pin(tls::secure(stream, tls, connect_ms, Some(chosen.state()))).await?;
    }
    Ok(CountedStream { stream, slot: place })
}
