//! Sending of a request whose body is read on demand.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::fastcgi_protocol::record::MAX_ALIGNED_CONTENT;
use crate::fastcgi_protocol::request;
use bytes::{Buf, Bytes, BytesMut};
use myriad_http::body::{BodyError, BoxBody};
use myriad_http::h1::{LAST_CHUNK, encode_chunk_head};
use smallvec::SmallVec;
use tokio::io::AsyncWrite;

use crate::piece_queue::PieceQueue;
use crate::request::RequestPayload;
use crate::stream::PeerStream;
use crate::timer::ProgressTimeout;

/// Maximum number of buffers passed to one `writev` call.
const MAX_SLICES: usize = 16;

/// Number of queued bytes, including the head, from which on no piece of a streamed body is added before a write.
const MAX_GATHERED: usize = 16 * 1024;

/// Framing of the request body on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadFraming {
    /// STDIN records, terminated by an empty record.
    FastCgi,
    /// No framing: the request head contains the length of the body, or the request has none.
    Plain,
    /// Chunked coding (RFC 9112 §7.1), for a body of unknown length.
    Chunked,
}

enum UploadSource {
    Done,
    Bytes(Bytes),
    Stream(BoxBody, Option<u64>),
}

/// Reason why the request could not be sent.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// The write failed; the peer may nevertheless have sent a response.
    Write(io::Error),
    /// The peer accepted no bytes within the send timeout.
    Timeout,
    /// The client aborted the request body, it could not be read, or its length differs from the announced one.
    Body(BodyError),
}

/// Request that is being sent to an origin. Buffers the head and at most [`MAX_GATHERED`] bytes and a piece of a
/// streamed body.
pub(crate) struct Upload {
    wire: UploadFraming,
    queue: PieceQueue,
    source: UploadSource,
    stall: ProgressTimeout,
}

impl Upload {
    pub(crate) fn new(
        head: Bytes,
        wire: UploadFraming,
        payload: RequestPayload,
        send_timeout_ms: u64,
    ) -> Self {
        let source = match payload {
            RequestPayload::Empty => UploadSource::Bytes(Bytes::new()),
            RequestPayload::Bytes(bytes) => UploadSource::Bytes(bytes),
            RequestPayload::Again(make, length) => UploadSource::Stream(make(), Some(length)),
            RequestPayload::Stream(body, length) => UploadSource::Stream(body, length),
        };
        let mut upload =
            Self { wire, queue: PieceQueue::of(head), source, stall: ProgressTimeout::new(send_timeout_ms) };
        upload.queue_memory();
        upload
    }

    /// Sends as much of the request as possible; ready once the last byte is written. Calls `sent` with the number of
    /// bytes of each write.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut PeerStream,
        sent: impl Fn(usize),
    ) -> Poll<Result<(), UploadError>> {
        loop {
            // The available part of the body is sent together with the head, in one write.
            self.take_ready(cx)?;
            while !self.queue.is_empty() {
                sent(ready!(self.poll_write(cx, stream))?);
            }
            ready!(self.poll_flush(cx, stream))?;
            ready!(self.poll_refill(cx))?;
            if self.queue.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut PeerStream,
    ) -> Poll<Result<usize, UploadError>> {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let mut used = 0;
        for (slice, piece) in slices.iter_mut().zip(self.queue.iter()) {
            *slice = IoSlice::new(piece);
            used += 1;
        }
        match Pin::new(stream).poll_write_vectored(cx, &slices[..used]) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(UploadError::Write(io::ErrorKind::WriteZero.into()))),
            Poll::Ready(Ok(written)) => {
                self.stall.record_progress();
                self.drop_front(written);
                Poll::Ready(Ok(written))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(UploadError::Write(error))),
            Poll::Pending => self.stall.poll_expired(cx).map(|()| Err(UploadError::Timeout)),
        }
    }

    /// Flushes the stream: with TLS, written data may still be buffered as ciphertext.
    fn poll_flush(&mut self, cx: &mut Context<'_>, stream: &mut PeerStream) -> Poll<Result<(), UploadError>> {
        match Pin::new(stream).poll_flush(cx) {
            Poll::Ready(flushed) => Poll::Ready(flushed.map_err(UploadError::Write)),
            Poll::Pending => self.stall.poll_expired(cx).map(|()| Err(UploadError::Timeout)),
        }
    }

    fn drop_front(&mut self, mut written: usize) {
        while let Some(piece) = self.queue.front_mut() {
            if piece.len() > written {
                piece.advance(written);
                return;
            }
            written -= piece.len();
            self.queue.pop_front();
        }
    }

    /// Queues available pieces of a streamed body until at least [`MAX_GATHERED`] bytes are queued; with chunked
    /// coding, as a single chunk. Completes the framing after the last piece. Fails if the body fails or
    /// has another length than announced.
    fn take_ready(&mut self, cx: &mut Context<'_>) -> Result<(), UploadError> {
        let UploadSource::Stream(body, left) = &mut self.source else { return Ok(()) };
        let waiting: usize = self.queue.iter().map(Bytes::len).sum();
        let mut pieces: SmallVec<[Bytes; 4]> = SmallVec::new();
        let mut taken = 0;
        let mut is_end = false;
        while waiting + taken < MAX_GATHERED {
            let Poll::Ready(piece) = body.as_mut().poll_data(cx) else { break };
            let piece = piece.transpose().map_err(UploadError::Body)?;
            if let Some(error) = take_from(left, piece.as_ref()) {
                return Err(UploadError::Body(error));
            }
            let Some(piece) = piece else {
                is_end = true;
                break;
            };
            taken += piece.len();
            pieces.push(piece);
        }
        match (self.wire, pieces.len()) {
            (UploadFraming::Chunked, 2..) => {
                let mut whole = BytesMut::with_capacity(taken);
                for piece in &pieces {
                    whole.extend_from_slice(piece);
                }
                self.frame(whole.freeze());
            }
            _ => {
                for piece in pieces {
                    self.frame(piece);
                }
            }
        }
        if is_end {
            self.finish();
        }
        Ok(())
    }

    /// Returns ready once more data is queued; the queue is then only empty if the request is complete.
    fn poll_refill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UploadError>> {
        self.queue_memory();
        while self.queue.is_empty() {
            let UploadSource::Stream(body, left) = &mut self.source else { return Poll::Ready(Ok(())) };
            let piece = ready!(body.as_mut().poll_data(cx)).transpose().map_err(UploadError::Body)?;
            let broken = take_from(left, piece.as_ref());
            if let Some(error) = broken {
                return Poll::Ready(Err(UploadError::Body(error)));
            }
            match piece {
                Some(piece) => self.frame(piece),
                None => self.finish(),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Queues a body that is in memory: all of it, or for FastCGI, at most four records, which fit into one `writev`.
    fn queue_memory(&mut self) {
        let UploadSource::Bytes(bytes) = &mut self.source else { return };
        let most = if self.wire == UploadFraming::FastCgi { MAX_ALIGNED_CONTENT * 4 } else { usize::MAX };
        let piece = bytes.split_to(bytes.len().min(most));
        let is_last = bytes.is_empty();
        self.frame(piece);
        if is_last {
            self.finish();
        }
    }

    fn frame(&mut self, mut piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        match self.wire {
            UploadFraming::Plain => self.queue.push_back(piece),
            UploadFraming::Chunked => {
                let mut head = Vec::with_capacity(18);
                encode_chunk_head(piece.len(), &mut head);
                self.queue.extend([head.into(), piece, Bytes::from_static(b"\r\n")]);
            }
            UploadFraming::FastCgi => {
                while !piece.is_empty() {
                    let content = piece.split_to(piece.len().min(MAX_ALIGNED_CONTENT));
                    let (header, padding) = request::stdin(content.len() as u16);
                    self.queue.extend([Bytes::copy_from_slice(&header), content]);
                    if !padding.is_empty() {
                        self.queue.push_back(Bytes::from_static(padding));
                    }
                }
            }
        }
    }

    fn finish(&mut self) {
        self.source = UploadSource::Done;
        match self.wire {
            UploadFraming::Plain => {}
            UploadFraming::Chunked => self.queue.push_back(Bytes::from_static(LAST_CHUNK)),
            UploadFraming::FastCgi => self.queue.push_back(Bytes::copy_from_slice(&request::stdin_end())),
        }
    }
}

/// Subtracts a piece of a body from its announced length `left`, or checks with `None` that the body is complete.
/// Returns an error for a different length, because the origin would parse excess bytes as the next request; `None`
/// also if no length was announced.
pub(crate) fn take_from(left: &mut Option<u64>, piece: Option<&Bytes>) -> Option<BodyError> {
    let left = left.as_mut()?;
    match piece {
        None => (*left > 0).then_some(BodyError::Aborted),
        Some(piece) => match left.checked_sub(piece.len() as u64) {
            Some(rest) => {
                *left = rest;
                None
            }
            None => Some(BodyError::Io("request body is longer than its Content-Length".to_owned())),
        },
    }
}
