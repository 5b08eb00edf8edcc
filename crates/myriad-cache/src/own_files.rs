//! Files that this server sends to anonymous clients, read through its own locations.

use std::future::poll_fn;
use std::net::SocketAddr;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest::{self, SubrequestResponse};
use myriad_http::{HttpVersion, Known, RequestHead};

use crate::server_client::SERVER_CLIENT;

/// Requests a path, with or without a query, as a client without cookies would. No origin is contacted: the response is
/// a file, a stored page or an error. Returns `None` if the path is invalid, or after too many subrequests.
pub(crate) async fn request_file(exchange: &mut Exchange, target: &[u8]) -> Option<SubrequestResponse> {
    let (uri, args) = subrequest::target(target)?;
    let mut child = subrequest::begin(exchange, &uri, args).ok()?;
    let host = child.request.received.head.known(Known::Host).map(|host| (&b"Host"[..], host));
    let head = RequestHead::from_parts(b"GET", target, HttpVersion::Http11, host);
    *child.request.received.head = head;
    child.request.route.internal = false;
    // Rules that permit more to the client's address must not apply.
    child.request.received.real = Some(SocketAddr::new(SERVER_CLIENT, 0));
    child.request.begin_lineage().own_head = true;
    child.request.leave_errors_empty();
    child.request.cache.lookup.stored_only = true;
    child.request.cache.lookup.fetches_nothing = true;
    child.frame = Box::default();
    Some(subrequest::execute(child).await)
}

/// Returns whether access to the file of a response may be restricted: its location has access checks, which do not run
/// for subrequests, or an internal redirect occurred, so that the checks of earlier locations are not known.
pub(crate) fn is_restricted(answer: &mut SubrequestResponse) -> bool {
    let request = &answer.exchange().request;
    request.place().entry.gate.is_some() || request.route.internal
}

/// Reads the body of a response. Returns `None` if it fails or is longer than `max` bytes.
pub(crate) async fn read_body(answer: SubrequestResponse, max: u64) -> Option<Vec<u8>> {
    let mut body = answer.into_plain_body();
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        bytes.extend_from_slice(&piece.ok()?);
        if bytes.len() as u64 > max {
            return None;
        }
    }
    Some(bytes)
}
