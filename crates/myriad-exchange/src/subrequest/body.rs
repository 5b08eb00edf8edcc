//! Body of a subrequest's response, whose bytes are counted for the access log.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody};

use super::child::Child;

/// Body of a subrequest's response, which counts its bytes for the access log.
pub(super) struct ChildBody {
    body: BoxBody,
    child: Child,
}

impl ChildBody {
    pub(super) fn new(body: BoxBody, child: Child) -> Self {
        Self { body, child }
    }
}

impl Body for ChildBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let piece = ready!(self.body.as_mut().poll_data(cx));
        match &piece {
            Some(Ok(piece)) => self.child.bytes += piece.len() as u64,
            Some(Err(_)) => {}
            None => self.child.whole = true,
        }
        Poll::Ready(piece)
    }

    fn size_hint(&self) -> Option<u64> {
        self.body.size_hint()
    }
}
