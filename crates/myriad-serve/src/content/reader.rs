//! A page on its way into the cache, read as a body.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError};
use myriad_store::FlightReader;

use crate::runtime::PageMeta;

/// One reader of a flight.
pub(crate) struct FlightBody(pub FlightReader<PageMeta>);

impl Body for FlightBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_chunk(cx).map(|piece| piece.map(|piece| piece.map_err(|_| BodyError::Aborted)))
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
