//! Writing of HTTP/1 responses: with one `writev` if the whole response is available, otherwise piece by piece.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::IoSlice;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use myriad_http::body::BoxBody;
use myriad_http::h1::encode_chunk_head;

use crate::client_timeouts::{ClientTimeLimits, ClientTimeouts, TimeoutReason};
use crate::connection::Connection;
use crate::response::{Response, ResponseBody};
use crate::response_pacer::ResponsePacer;

/// Number of queued response bytes at which no more pieces are pulled from a streamed body before a write.
const GATHER: usize = 64 * 1024;
/// Number of bytes up to which a postponed response is buffered: the default of nginx's `postpone_output`.
const POSTPONED: usize = 1460;
/// Maximum number of file bytes sent per `sendfile` call, so that one fast client does not monopolize the worker.
const FILE_PIECE: u64 = 512 * 1024;
/// Maximum number of buffers passed to one `writev` call.
const SLICES: usize = 16;

/// Result of sending a response: bytes written, and the reason if it is incomplete.
#[derive(Clone, Copy, Default)]
pub(super) struct SendProgress {
    /// Size of the response head in bytes.
    pub(super) head: u64,
    /// Response bytes written to the socket, including the head.
    pub(super) written: u64,
    /// Set if the whole response was written.
    pub(super) complete: bool,
    /// Time of the first written byte, in microseconds of the process clock; 0 if nothing was written or the response
    /// was written with one `writev`.
    pub(super) first_us: u64,
    /// Set if the client accepted no bytes for `send_timeout`.
    pub(super) timed_out: bool,
    /// Set if the client was slower than `client_min_rate`.
    pub(super) too_slow: bool,
}

/// Completes the head with `Connection`, `Keep-Alive` and `Transfer-Encoding`, and removes the body of a response that
/// must not have one. Returns whether the connection stays open: if `keep` is true, unless the end of the body can be
/// marked only by closing. `http11` is true if the client supports chunked coding, and `head_only` for a HEAD request.
pub(super) fn complete_head<T>(
    response: &mut Response<T>,
    http11: bool,
    head_only: bool,
    keep: bool,
) -> bool {
    let bodiless = head_only || matches!(response.head.status(), 100..=199 | 204 | 304);
    let sized = bodiless || response.body.length().is_some();
    let chunked = !sized && http11 && response.chunked;
    let keep = keep && (sized || chunked);
    if bodiless {
        response.body = ResponseBody::None;
    }
    let text = &mut response.head.text;
    if chunked {
        text.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    response.chunked = chunked;
    response.close = !keep;
    text.extend_from_slice(if keep { b"Connection: keep-alive\r\n" } else { b"Connection: close\r\n" });
    if keep && response.keepalive_header_s > 0 {
        text.extend_from_slice(format!("Keep-Alive: timeout={}\r\n", response.keepalive_header_s).as_bytes());
    }
    text.extend_from_slice(b"\r\n");
    keep
}

/// Tries to send the whole response with one `writev`. Returns `None` if bytes remain, which [`send_rest`] sends. Does
/// not write a response with a rate limit (unless `head_only` is true: a HEAD request), or with a body that is a file,
/// a stream or in too many parts. If the write fails, returns an incomplete result.
pub(super) fn try_send<T>(
    connection: &Connection,
    response: &mut Response<T>,
    head_only: bool,
) -> Option<SendProgress> {
    if response.rate.is_some() && !head_only {
        return None;
    }
    let head = response.head.text.len();
    let (slices, total) = match &response.body {
        ResponseBody::None => (&[][..], head),
        ResponseBody::Full(bytes) => (std::slice::from_ref(bytes), head + bytes.len()),
        ResponseBody::Parts(parts) if parts.len() < SLICES => {
            (&parts[..], head + parts.iter().map(Bytes::len).sum::<usize>())
        }
        _ => return None,
    };
    let mut io = [IoSlice::new(&[]); SLICES];
    io[0] = IoSlice::new(&response.head.text);
    for (slot, bytes) in io[1..].iter_mut().zip(slices) {
        *slot = IoSlice::new(bytes);
    }
    let mut cx = Context::from_waker(Waker::noop());
    let progress = |written: usize, complete| SendProgress {
        head: head as u64,
        written: written as u64,
        complete,
        first_us: 0,
        timed_out: false,
        too_slow: false,
    };
    match connection.socket.poll_write(&mut cx, &io[..=slices.len()]) {
        Poll::Ready(Ok(written)) if written == total => Some(progress(written, true)),
        Poll::Ready(Ok(written)) => {
            response.sent_already = written;
            None
        }
        Poll::Ready(Err(_)) => Some(progress(0, false)),
        Poll::Pending => None,
    }
}

/// Sends the part of the response that [`try_send`] has not sent.
pub(super) async fn send_rest<T>(
    connection: &Connection,
    response: &mut Response<T>,
    head_only: bool,
) -> SendProgress {
    let mut sender = ResponseWriter::new(response, head_only);
    // The deadline may still be armed for the head or the previous request.
    connection.deadline.clear();
    let terms = ClientTimeLimits { silence_ms: response.timeouts.send_ms, rate: response.timeouts.min_rate };
    poll_fn(|cx| {
        let mut trailers = |out: &mut Vec<u8>| {
            if let Some(write) = response.trailers {
                write(&mut response.ticket, out);
            }
        };
        sender.poll(connection, terms, &mut trailers, cx)
    })
    .await
}

/// Writer of an HTTP/1 response: sends the queued bytes first, then the file or the streamed body.
struct ResponseWriter {
    /// Size of the response head in bytes.
    head: u64,
    /// Response bytes written to the socket, including the head.
    written: u64,
    /// Time of the first written byte, in microseconds of the process clock; 0 before the first byte is written.
    first_us: u64,
    queue: VecDeque<Bytes>,
    /// Number of bytes in `queue`.
    queued: usize,
    source: WriterSource,
    /// Set if the body is sent in chunks (RFC 9112 section 7.1).
    chunked: bool,
    /// Set if the source of the body failed, so that the response remains incomplete.
    failed: bool,
    pace: Option<ResponsePacer>,
    /// Measurement of the waits for the client to accept bytes, for `send_timeout` and `client_min_rate`.
    patience: ClientTimeouts,
    /// Set if the rate limit, not the client, delayed the last write.
    is_paced: bool,
    /// Set while the first bytes of a postponed response are delayed until [`POSTPONED`] bytes or the whole response
    /// are queued.
    postponed: bool,
}

enum WriterSource {
    Done,
    File { file: std::sync::Arc<std::os::fd::OwnedFd>, offset: u64, left: u64 },
    Stream { body: BoxBody, left: Option<u64> },
}

impl ResponseWriter {
    fn new<T>(response: &mut Response<T>, head_only: bool) -> Self {
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        let mut sender = Self {
            head: response.head.text.len() as u64,
            written: response.sent_already as u64,
            first_us: if response.sent_already > 0 { crate::clock::now_us() } else { 0 },
            queue: VecDeque::new(),
            queued: 0,
            source: WriterSource::Done,
            chunked: response.chunked,
            failed: false,
            pace: response.rate.filter(|_| !head_only).map(ResponsePacer::new),
            patience: ClientTimeouts::default(),
            is_paced: false,
            postponed: response.postponed && !head_only,
        };
        sender.push(Bytes::copy_from_slice(&response.head.text));
        match body {
            // The caller relays the bytes after the head of a tunnel.
            ResponseBody::None | ResponseBody::Tunnel(_) => {}
            ResponseBody::Full(bytes) => sender.push(bytes),
            ResponseBody::Parts(parts) => parts.into_iter().for_each(|part| sender.push(part)),
            ResponseBody::File { file, offset, length } => {
                sender.source = WriterSource::File { file, offset, left: length };
            }
            ResponseBody::Stream(body, left) => sender.source = WriterSource::Stream { body, left },
        }
        sender.advance(response.sent_already);
        sender
    }

    fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.queued += bytes.len();
            self.queue.push_back(bytes);
        }
    }

    fn advance(&mut self, mut count: usize) {
        self.queued -= count;
        while let Some(front) = self.queue.front_mut() {
            if count < front.len() {
                front.advance(count);
                return;
            }
            count -= front.len();
            self.queue.pop_front();
        }
    }

    fn poll(
        &mut self,
        connection: &Connection,
        terms: ClientTimeLimits,
        trailers: &mut dyn FnMut(&mut Vec<u8>),
        cx: &mut Context<'_>,
    ) -> Poll<SendProgress> {
        loop {
            self.fill(trailers, cx);
            if self.postponed {
                self.end_postponement();
            }
            let step = if self.queued > 0 && !self.postponed {
                self.poll_queue(connection, cx)
            } else if matches!(self.source, WriterSource::File { left: 1.., .. }) {
                self.poll_file(connection, cx)
            } else if self.failed || self.is_finished() {
                return Poll::Ready(self.progress(!self.failed));
            } else if connection.socket.poll_closed(cx).is_ready() {
                // No data is available and the client has closed the connection.
                return Poll::Ready(self.progress(false));
            } else {
                if self.record_written(connection, 0, terms) {
                    return Poll::Ready(self.too_slow());
                }
                return Poll::Pending;
            };
            match step {
                Poll::Ready(Ok(written)) => {
                    if self.written == 0 {
                        self.first_us = crate::clock::now_us();
                    }
                    self.written += written as u64;
                    if self.record_written(connection, written, terms) {
                        return Poll::Ready(self.too_slow());
                    }
                }
                Poll::Ready(Err(_)) => return Poll::Ready(self.progress(false)),
                // While a rate limit delays the response, no write would detect a closed connection.
                Poll::Pending if self.pace.is_some() && connection.socket.poll_closed(cx).is_ready() => {
                    return Poll::Ready(self.progress(false));
                }
                Poll::Pending if self.is_paced => {
                    return if self.record_written(connection, 0, terms) {
                        Poll::Ready(self.too_slow())
                    } else {
                        Poll::Pending
                    };
                }
                Poll::Pending => {
                    connection.mark_stalled();
                    let lapse =
                        self.patience.poll(&connection.deadline, terms, &|| connection.acked_bytes(), cx);
                    return Poll::Ready(match ready!(lapse) {
                        TimeoutReason::Idle => SendProgress { timed_out: true, ..self.progress(false) },
                        TimeoutReason::BelowMinRate => self.too_slow(),
                    });
                }
            }
        }
    }

    fn is_finished(&self) -> bool {
        match &self.source {
            WriterSource::Done => true,
            WriterSource::File { left, .. } => *left == 0,
            WriterSource::Stream { .. } => false,
        }
    }

    fn progress(&self, complete: bool) -> SendProgress {
        SendProgress {
            head: self.head,
            written: self.written,
            complete,
            first_us: self.first_us,
            timed_out: false,
            too_slow: false,
        }
    }

    /// Records `bytes` written bytes and finishes the wait for the client. Returns true if the client was slower than
    /// the minimum rate.
    fn record_written(&mut self, connection: &Connection, bytes: usize, terms: ClientTimeLimits) -> bool {
        connection.mark_busy();
        self.patience
            .record_transfer(bytes as u64, &connection.deadline, terms.rate, &|| connection.acked_bytes())
    }

    fn too_slow(&self) -> SendProgress {
        SendProgress { too_slow: true, ..self.progress(false) }
    }

    /// Clears `postponed` once [`POSTPONED`] bytes or the whole response are queued. A response that has failed by then
    /// is not sent at all.
    fn end_postponement(&mut self) {
        if self.failed {
            self.queue.clear();
            self.queued = 0;
        }
        self.postponed =
            !self.failed && self.queued < POSTPONED && matches!(self.source, WriterSource::Stream { .. });
    }

    /// Pulls pieces of a streamed body until [`GATHER`] bytes are queued, no piece is ready, or the body is complete or
    /// has failed. After a chunked body, queues the last chunk, to which `trailers` appends the trailer lines.
    fn fill(&mut self, trailers: &mut dyn FnMut(&mut Vec<u8>), cx: &mut Context<'_>) {
        while self.queued < GATHER {
            let WriterSource::Stream { body, left } = &mut self.source else { return };
            match body.as_mut().poll_data(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(mut piece))) => {
                    if let Some(left) = left {
                        piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                        *left -= piece.len() as u64;
                    }
                    self.push_piece(piece);
                }
                Poll::Ready(Some(Err(_))) => {
                    self.failed = true;
                    self.source = WriterSource::Done;
                }
                Poll::Ready(None) => {
                    // A truncated body of known length must not look complete.
                    self.failed = left.is_some_and(|left| left > 0);
                    self.source = WriterSource::Done;
                    if self.chunked && !self.failed {
                        let mut end = b"0\r\n".to_vec();
                        trailers(&mut end);
                        end.extend_from_slice(b"\r\n");
                        self.push(Bytes::from(end));
                    }
                }
            }
        }
    }

    fn push_piece(&mut self, piece: Bytes) {
        if !self.chunked {
            return self.push(piece);
        }
        if !piece.is_empty() {
            let mut size = Vec::with_capacity(12);
            encode_chunk_head(piece.len(), &mut size);
            self.push(Bytes::from(size));
            self.push(piece);
            self.push(Bytes::from_static(b"\r\n"));
        }
    }

    /// Returns the number of bytes that the rate limit (`limit_rate`) allows to be written now; pending if none.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let room = ResponsePacer::poll_room(&mut self.pace, self.written.saturating_sub(self.head), cx);
        self.is_paced = room.is_pending();
        room
    }

    fn poll_queue(&mut self, connection: &Connection, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let mut room = ready!(self.poll_room(cx));
        let mut io = [IoSlice::new(&[]); SLICES];
        let mut used = 0;
        for (slot, bytes) in io.iter_mut().zip(&self.queue) {
            let take = bytes.len().min(room);
            *slot = IoSlice::new(&bytes[..take]);
            room -= take;
            used += 1;
            if room == 0 {
                break;
            }
        }
        let written = ready!(connection.socket.poll_write(cx, &io[..used]))?;
        self.advance(written);
        Poll::Ready(Ok(written))
    }

    fn poll_file(&mut self, connection: &Connection, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let room = ready!(self.poll_room(cx));
        let WriterSource::File { file, offset, left } = &mut self.source else { return Poll::Ready(Ok(0)) };
        let piece = (*left).min(FILE_PIECE).min(room as u64) as usize;
        let file = std::os::fd::AsFd::as_fd(&**file);
        let written = ready!(connection.socket.poll_send_file(cx, file, *offset, piece))?;
        if written == 0 {
            // The file was truncated, so the announced length cannot be sent.
            return Poll::Ready(Err(std::io::ErrorKind::UnexpectedEof.into()));
        }
        *offset += written as u64;
        *left -= written as u64;
        Poll::Ready(Ok(written))
    }
}
