//! Reads the request's body into memory before the look-up, because the key may contain it (`$request_body`).

use myriad_upstream::RequestPayload;

use crate::next::{Cached, Next};
use myriad_exchange::exchange::{Exchange, Step};
use myriad_origin::upload;

/// Reads the body. A body that is too long for memory is passed to the origin.
pub(crate) async fn run(exchange: &mut Exchange, cached: Cached<'_>) -> Next {
    match upload::payload(exchange, cached.origin).await {
        Ok(RequestPayload::Bytes(_) | RequestPayload::Empty) => Next::LookUp,
        Ok(payload) => Next::PassBody(payload),
        Err(status) => Next::Done(Step::Error(status)),
    }
}
