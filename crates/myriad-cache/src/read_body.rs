//! Reading of the request body into memory before the look-up, because the cache key, or a condition of
//! `*_cache_share`, may contain it (`$request_body`).

use myriad_upstream::RequestPayload;

use crate::journey_step::{CacheContext, JourneyStep};
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_origin::upload;

/// Reads the request body. With a body that is too long for memory, the request is passed to the origin.
pub(crate) async fn run(exchange: &mut Exchange, cached: CacheContext<'_>) -> JourneyStep {
    match upload::payload(exchange, cached.origin).await {
        Ok(RequestPayload::Bytes(_) | RequestPayload::Empty) => JourneyStep::LookUp,
        Ok(payload) => JourneyStep::PassBody(payload),
        Err(status) => JourneyStep::Done(PhaseStep::Error(status)),
    }
}
