//! Attempt of a request with a single peer over HTTP/2.

use std::future::poll_fn;
use std::rc::Rc;

use myriad_conf::model::MeasuredUntil;
use myriad_http::h1::{ResponseFraming, response_framing};
use myriad_http::{Method, ResponseHead};

use super::body::StreamBody;
use super::driver::{self, ReuseSettings};
use super::exchange::{Event, H2Exchange};
use super::head;
use super::pool::{ConnectionRequest, OpenedStream};
use super::shared::{Shared, State};
use crate::address::PeerAddress;
use crate::clock;
use crate::connections::PoolKey;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::group::{Group, PickedPeer, SelectedPeer};
use crate::pool::HttpPool;
use crate::request::{OriginRequest, Protocol, RequestPayload};
use crate::request_connection::connect_for_request;
use crate::response::{OriginResponse, Trailers, keep_first};

/// Sends a request over HTTP/2 to the chosen peer and returns its response with a complete head.
///
/// The request is repeated once, on a connection that has not answered a request, if its body can be sent again or was
/// not sent yet, and either the peer refused it without processing it, or the method is idempotent and a reused
/// connection was closed, failed or died before any part of the response arrived.
pub(crate) async fn fetch(
    group: &Group,
    pick: PickedPeer,
    pool: &HttpPool,
    request: &mut OriginRequest,
) -> Result<Box<OriginResponse>, OriginError> {
    let PickedPeer { chosen, active } = pick;
    let address = &chosen.config().address;
    let active = Rc::new(active);
    let mut is_first = true;
    loop {
        let log = request.attempts.begin_at(chosen.display_address(), group.label(), active.counted());
        let key = (active.0.id, request.identity());
        let opened = match open(group, &chosen, (key, !is_first), pool, request).await {
            Ok(opened) => opened,
            Err(error) => {
                log.failed(error.status());
                return Err(error.at(address));
            }
        };
        log.connected(opened.reused);
        let stream = (opened.shared, opened.id);
        let exists_once = !request.is_repeatable();
        let body = payload(&mut request.body);
        let observer = request.observer.clone();
        let mut exchange =
            H2Exchange::new(stream, body, request.timeouts, (log, Rc::clone(&active)), observer);
        let error = match read_head(&mut exchange).await {
            Ok(head) => return Ok(respond(exchange, head, request.method, address)),
            Err(error) => error,
        };
        let is_stale = opened.reused
            && exchange.is_unanswered()
            && matches!(error.kind(), ErrorKind::Closed | ErrorKind::Io | ErrorKind::Silent);
        if exists_once {
            let Some(body) = exchange.take_unsent_body() else {
                exchange.log.failed(error.status());
                return Err(error.without_refusal().at(address));
            };
            request.body = body;
        }
        let may_repeat = match error.kind() {
            ErrorKind::Refused => true,
            _ => is_stale && request.method.is_idempotent(),
        };
        if !(is_first && may_repeat) {
            exchange.log.failed(error.status());
            return Err(error.at(address));
        }
        // Not logged for a closed connection, which is normal between two requests. A dead connection is logged,
        // because its detection takes seconds.
        if let (ErrorKind::Silent, Some(observer)) = (error.kind(), &exchange.observer) {
            observer.retried(&error.at(address));
        }
        is_first = false;
        exchange.log.discard();
    }
}

/// Opens a stream on an HTTP/2 connection and queues the request head. With `fresh`, connections that have answered a
/// request are not used. Fails if no connection can be established.
async fn open(
    group: &Group,
    chosen: &SelectedPeer,
    (key, fresh): (PoolKey, bool),
    pool: &HttpPool,
    request: &OriginRequest,
) -> Result<OpenedStream, OriginError> {
    let Protocol::Http2 { head, is_secure } = &request.protocol else {
        return Err(OriginError::invalid(Phase::Connecting, "the request is not an HTTP/2 request"));
    };
    let ends = match &request.body {
        RequestPayload::Empty => true,
        RequestPayload::Bytes(bytes) => bytes.is_empty(),
        RequestPayload::Again(_, length) | RequestPayload::Stream(_, Some(length)) => *length == 0,
        RequestPayload::Stream(_, None) => false,
    };
    let (method, most) = (request.method, request.max_head);
    let open = |state: &mut State| state.open(method, head::fields(head, *is_secure), ends, most);
    let keep = group.config.keepalive;
    if request.bind.is_none() {
        let connect_ms = request.timeouts.connect_ms;
        let wanted = ConnectionRequest { key, keep, connections: &pool.connections, connect_ms, fresh };
        return pool.multiplexed.open(&wanted, open, || connect_for_request(chosen, pool, request)).await;
    }
    // A connection from a local address chosen for the request is not reused.
    let connection = connect_for_request(chosen, pool, request).await?;
    let shared = Rc::new(Shared::new(connection, clock::now()));
    let id = shared.with(open).ok_or_else(|| OriginError::closed(Phase::Sending))?;
    let connections = pool.connections.clone();
    driver::spawn(Rc::clone(&shared), ReuseSettings { pool: None, keep, connections });
    Ok(OpenedStream { shared, id, reused: false })
}

/// Returns the body to send. A streamed body that cannot be created again is taken from `body`.
fn payload(body: &mut RequestPayload) -> RequestPayload {
    match body {
        RequestPayload::Empty => RequestPayload::Empty,
        RequestPayload::Bytes(bytes) => RequestPayload::Bytes(bytes.clone()),
        RequestPayload::Again(make, length) => RequestPayload::Again(Rc::clone(make), *length),
        RequestPayload::Stream(..) => std::mem::replace(body, RequestPayload::Empty),
    }
}

/// Returns the head of the final response. Interim responses are passed to the observer, except 100, which is a reply
/// to the `Expect` field of this request only.
async fn read_head(exchange: &mut H2Exchange) -> Result<ResponseHead, OriginError> {
    loop {
        match poll_fn(|cx| exchange.poll(cx, Phase::ReadingHead)).await? {
            Event::Head(head) if head.status >= 200 => return Ok(head),
            Event::Head(head) => {
                if let Some(observer) = exchange.observer.as_ref().filter(|_| head.status != 100) {
                    observer.interim(&head);
                }
            }
            Event::Data(_) | Event::End(_) => return Err(OriginError::closed(Phase::ReadingHead)),
        }
    }
}

fn respond(
    exchange: H2Exchange,
    mut head: ResponseHead,
    method: Method,
    peer: &PeerAddress,
) -> Box<OriginResponse> {
    keep_first(&mut head, |text| {
        if let Some(observer) = &exchange.observer {
            observer.warning(peer, text);
        }
    });
    exchange.log.head(head.status);
    exchange.active.record_time(MeasuredUntil::First, exchange.log.elapsed_ms());
    let left = match response_framing(&head, method) {
        Ok(ResponseFraming::None) => Some(0),
        Ok(ResponseFraming::Length(length)) => Some(length),
        _ => exchange.is_complete().then_some(0),
    };
    let trailers = Trailers::default();
    let body = Box::pin(StreamBody::new(exchange, left, Rc::clone(&trailers)));
    let peer = peer.clone();
    Box::new(OriginResponse { head, body, upgraded: None, peer, trailers: Some(trailers), sid: None })
}
