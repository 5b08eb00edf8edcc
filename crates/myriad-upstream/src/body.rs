//! Response body over HTTP/1, FastCGI, CGI and memcached connections, read from the origin on demand.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_conf::model::MeasuredUntil;
use myriad_http::body::{Body, BodyError};

use crate::error::{OriginError, Phase};
use crate::link::Link;
use crate::piece_queue::PieceQueue;

/// Decoder of a response body: removes the framing of the protocol.
pub(crate) trait BodyDecoder: Unpin {
    /// Moves body data from the input buffer of `link` to `out`. Returns `true` if the body is complete. Fails if the
    /// peer violates the protocol.
    fn advance(&mut self, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError>;

    /// Returns whether the body is complete if the peer closes the connection now.
    fn ends_at_close(&self) -> bool;

    /// Returns whether the connection can be reused for another request once the body is complete.
    fn is_clean(&self) -> bool;

    /// Returns the number of body bytes that [`BodyDecoder::advance`] has not returned yet; `None` if the length is not
    /// known.
    fn left(&self) -> Option<u64>;
}

//   Open ──▶ Complete     the origin completed the body
//     └────▶ Failed       the body was aborted: reported after all earlier data
enum State {
    Open(Box<Link>),
    Complete,
    Failed(BodyError),
}

/// Response body decoded by a [`BodyDecoder`]. Buffers at most one read of data that the consumer has not taken.
pub(crate) struct OriginBody<D> {
    state: State,
    demux: D,
    queue: PieceQueue,
}

impl<D: BodyDecoder> OriginBody<D> {
    /// Creates a response body that begins with the bytes in `first`.
    ///
    /// Data that has already arrived is decoded immediately. The length of a short response is therefore known, and its
    /// connection is released, before the body is read.
    pub(crate) fn new(link: Box<Link>, demux: D, first: PieceQueue) -> Self {
        let mut body = Self { state: State::Open(link), demux, queue: first };
        body.advance();
        body
    }

    fn advance(&mut self) {
        let State::Open(link) = &mut self.state else { return };
        let queued = self.queue.len();
        let result = self.demux.advance(link, &mut self.queue);
        link.log.body(self.queue.iter().skip(queued).map(Bytes::len).sum());
        match result {
            Ok(false) => {}
            Ok(true) => self.complete(),
            Err(error) => self.fail(error),
        }
    }

    fn complete(&mut self) {
        if let State::Open(link) = std::mem::replace(&mut self.state, State::Complete) {
            link.active.record_time(MeasuredUntil::Last, link.log.elapsed_ms());
            if self.demux.is_clean() {
                link.release();
            }
        }
    }

    fn fail(&mut self, error: OriginError) {
        self.state = State::Failed(error.into_body_error());
    }
}

impl<D: BodyDecoder> Body for OriginBody<D> {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        loop {
            if let Some(piece) = this.queue.pop_front() {
                return Poll::Ready(Some(Ok(piece)));
            }
            let link = match &mut this.state {
                State::Open(link) => link,
                State::Complete => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(Some(Err(error.clone()))),
            };
            match ready!(link.poll_fill(cx, Phase::ReadingBody)) {
                Ok(0) if this.demux.ends_at_close() => this.complete(),
                Ok(0) => {
                    let error = link.closed(Phase::ReadingBody);
                    this.fail(error);
                }
                Ok(_) => this.advance(),
                Err(error) => this.fail(error),
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        let queued: u64 = self.queue.iter().map(|piece| piece.len() as u64).sum();
        match &self.state {
            State::Open(_) => self.demux.left().map(|left| left + queued),
            State::Complete => Some(queued),
            State::Failed(_) => None,
        }
    }
}
