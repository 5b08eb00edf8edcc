//! Streaming of a request body to an origin (`*_request_buffering off`).
//!
//! Data that has already been received is taken first. If the body is then complete, it is stored in memory, so that
//! variables can read it and it can be sent again to another peer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use myriad_http::body::{Body, BodyError};
use myriad_log::LogLevel;
use myriad_net::RequestBody;
use myriad_upstream::RequestPayload;

use myriad_exchange::exchange::{BufferedBody, Exchange};

/// Number of request body bytes after which no more are taken before the request to the origin is sent
/// (`*_request_buffering off`).
const AT_ONCE: usize = 64 << 10;

/// Returns the request body for the origin, which is sent while it is received. A body that is already complete is also
/// stored in the request. The error, which is logged, is the status of the response.
pub async fn payload(exchange: &mut Exchange) -> Result<RequestPayload, u16> {
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let length = body.length();
    let mut first = VecDeque::new();
    match poll_fn(|cx| Poll::Ready(take_ready(&mut body, &mut first, cx))).await {
        Ok(true) => {
            let gathered = BufferedBody::Memory(joined(first));
            exchange.request.upload.length = Some(gathered.length());
            let payload = gathered.payload();
            exchange.request.upload.buffered = Some(gathered);
            Ok(payload)
        }
        Ok(false) => Ok(RequestPayload::Stream(Box::pin(StartedBody { first, body }), length)),
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("request body failed ({error})"));
            Err(error.status())
        }
    }
}

/// Takes the request body data that is available without waiting, until it has at least [`AT_ONCE`] bytes. Returns
/// true if the body is complete.
fn take_ready(
    body: &mut RequestBody,
    first: &mut VecDeque<Bytes>,
    cx: &mut Context<'_>,
) -> Result<bool, BodyError> {
    let mut taken = 0;
    while taken < AT_ONCE {
        match Pin::new(&mut *body).poll_data(cx) {
            Poll::Pending => return Ok(false),
            Poll::Ready(None) => return Ok(true),
            Poll::Ready(Some(piece)) => {
                let piece = piece?;
                taken += piece.len();
                first.push_back(piece);
            }
        }
    }
    Ok(false)
}

fn joined(mut pieces: VecDeque<Bytes>) -> Bytes {
    if pieces.len() <= 1 {
        return pieces.pop_front().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    for piece in &pieces {
        whole.extend_from_slice(piece);
    }
    whole.freeze()
}

/// Request body whose first pieces, stored in `first`, have already been read.
struct StartedBody {
    first: VecDeque<Bytes>,
    body: RequestBody,
}

impl Body for StartedBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.first.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Pin::new(&mut self.body).poll_data(cx),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        let first: u64 = self.first.iter().map(|piece| piece.len() as u64).sum();
        self.body.length().map(|left| left + first)
    }
}
