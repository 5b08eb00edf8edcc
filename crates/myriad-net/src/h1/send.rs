//! Writing a response: in one `writev` where everything is at hand, else piece by piece.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::IoSlice;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use myriad_http::body::BoxBody;
use myriad_http::h1::encode_chunk_head;

use crate::connection::Connection;
use crate::pace::Pace;
use crate::patience::{Lapse, Patience, Terms};
use crate::response::{Response, ResponseBody};

/// Most bytes gathered before they are written.
const GATHER: usize = 64 * 1024;
/// Bytes that a postponed answer is held back for, as nginx's `postpone_output` does by default.
const POSTPONED: usize = 1460;
/// Most bytes of a file given to one `sendfile`, so that one fast client does not keep the worker to itself.
const FILE_PIECE: u64 = 512 * 1024;
/// Most slices in one `writev`.
const SLICES: usize = 16;

/// How far a response got.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    /// Bytes of the head.
    pub(super) head: u64,
    /// Bytes written, the head included.
    pub(super) written: u64,
    pub(super) complete: bool,
    pub(super) client_closed: bool,
    /// When the first byte was written, microseconds since the epoch; 0 where all was written at once.
    pub(super) first_us: u64,
    /// The client took nothing for `send_timeout`.
    pub(super) timed_out: bool,
    /// The client took less than `client_min_rate`.
    pub(super) too_slow: bool,
}

/// Completes the head with the connection's own fields. Returns whether the connection stays open.
pub(super) fn frame<T>(response: &mut Response<T>, http11: bool, head_only: bool, keep: bool) -> bool {
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

/// Tries to send everything with one `writev`. None when it did not fit: [`rest`] goes on from where the body is.
pub(super) fn now<T>(
    connection: &Connection,
    response: &mut Response<T>,
    head_only: bool,
) -> Option<Progress> {
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
    let progress = |written: usize, complete, client_closed| Progress {
        head: head as u64,
        written: written as u64,
        complete,
        client_closed,
        first_us: 0,
        timed_out: false,
        too_slow: false,
    };
    match connection.socket.poll_write(&mut cx, &io[..=slices.len()]) {
        Poll::Ready(Ok(written)) if written == total => Some(progress(written, true, false)),
        Poll::Ready(Ok(written)) => {
            response.sent_already = written;
            None
        }
        Poll::Ready(Err(_)) => Some(progress(0, false, true)),
        Poll::Pending => None,
    }
}

/// Sends what [`now`] could not.
pub(super) async fn rest<T>(
    connection: &Connection,
    response: &mut Response<T>,
    head_only: bool,
) -> Progress {
    let mut sender = Sender::new(response, head_only);
    // What is armed is the head's time, or that of the request before.
    connection.deadline.clear();
    let terms = Terms { silence_ms: response.timeouts.send_ms, rate: response.timeouts.min_rate };
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

/// What is still to be sent, in order: the queue, then the file or the stream.
struct Sender {
    head: u64,
    written: u64,
    /// When the first byte was written, microseconds since the epoch; 0 before.
    first_us: u64,
    queue: VecDeque<Bytes>,
    queued: usize,
    source: Source,
    chunked: bool,
    failed: bool,
    pace: Option<Pace>,
    /// How long the client is waited for.
    patience: Patience,
    /// The rate held the last piece back, not the client.
    is_paced: bool,
    /// Nothing has been sent yet, and nothing is before so much has been gathered.
    postponed: bool,
}

enum Source {
    Done,
    File { file: std::sync::Arc<std::os::fd::OwnedFd>, offset: u64, left: u64 },
    Stream { body: BoxBody, left: Option<u64> },
}

impl Sender {
    fn new<T>(response: &mut Response<T>, head_only: bool) -> Self {
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        let mut sender = Self {
            head: response.head.text.len() as u64,
            written: response.sent_already as u64,
            first_us: if response.sent_already > 0 { crate::clock::now_us() } else { 0 },
            queue: VecDeque::new(),
            queued: 0,
            source: Source::Done,
            chunked: response.chunked,
            failed: false,
            pace: response.rate.filter(|_| !head_only).map(Pace::new),
            patience: Patience::default(),
            is_paced: false,
            postponed: response.postponed && !head_only,
        };
        sender.push(Bytes::copy_from_slice(&response.head.text));
        match body {
            // What follows the head of a tunnel is not this sender's to send.
            ResponseBody::None | ResponseBody::Tunnel(_) => {}
            ResponseBody::Full(bytes) => sender.push(bytes),
            ResponseBody::Parts(parts) => parts.into_iter().for_each(|part| sender.push(part)),
            ResponseBody::File { file, offset, length } => {
                sender.source = Source::File { file, offset, left: length };
            }
            ResponseBody::Stream(body, left) => sender.source = Source::Stream { body, left },
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
        terms: Terms,
        trailers: &mut dyn FnMut(&mut Vec<u8>),
        cx: &mut Context<'_>,
    ) -> Poll<Progress> {
        loop {
            self.fill(trailers, cx);
            if self.postponed {
                self.settle();
            }
            let step = if self.queued > 0 && !self.postponed {
                self.poll_queue(connection, cx)
            } else if matches!(self.source, Source::File { left: 1.., .. }) {
                self.poll_file(connection, cx)
            } else if self.failed || self.ended() {
                return Poll::Ready(self.progress(!self.failed, false));
            } else if connection.socket.poll_closed(cx).is_ready() {
                // Nothing to write until the origin goes on, and nobody left to write it to.
                return Poll::Ready(self.progress(false, true));
            } else {
                if self.moved(connection, 0, terms) {
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
                    if self.moved(connection, written, terms) {
                        return Poll::Ready(self.too_slow());
                    }
                }
                Poll::Ready(Err(_)) => return Poll::Ready(self.progress(false, true)),
                // While a rate holds bytes back, no write would tell that nobody waits for them any more.
                Poll::Pending if self.pace.is_some() && connection.socket.poll_closed(cx).is_ready() => {
                    return Poll::Ready(self.progress(false, true));
                }
                Poll::Pending if self.is_paced => {
                    return if self.moved(connection, 0, terms) {
                        Poll::Ready(self.too_slow())
                    } else {
                        Poll::Pending
                    };
                }
                Poll::Pending => {
                    connection.stall();
                    let lapse = self.patience.poll(&connection.deadline, terms, &|| connection.taken(), cx);
                    return Poll::Ready(match ready!(lapse) {
                        Lapse::Silent => Progress { timed_out: true, ..self.progress(false, true) },
                        Lapse::Slow => self.too_slow(),
                    });
                }
            }
        }
    }

    fn ended(&self) -> bool {
        match &self.source {
            Source::Done => true,
            Source::File { left, .. } => *left == 0,
            Source::Stream { .. } => false,
        }
    }

    fn progress(&self, complete: bool, client_closed: bool) -> Progress {
        Progress {
            head: self.head,
            written: self.written,
            complete,
            client_closed,
            first_us: self.first_us,
            timed_out: false,
            too_slow: false,
        }
    }

    /// Notes that so much was written and the client is not waited for. True where it has taken too little.
    fn moved(&mut self, connection: &Connection, bytes: usize, terms: Terms) -> bool {
        connection.go_on();
        self.patience.moved(bytes as u64, &connection.deadline, terms.rate, &|| connection.taken())
    }

    fn too_slow(&self) -> Progress {
        Progress { too_slow: true, ..self.progress(false, true) }
    }

    /// Ends the postponement once there is enough to send, or all of it; what broke off before is not sent.
    fn settle(&mut self) {
        if self.failed {
            self.queue.clear();
            self.queued = 0;
        }
        self.postponed =
            !self.failed && self.queued < POSTPONED && matches!(self.source, Source::Stream { .. });
    }

    /// Pulls the stream until enough is gathered or it has nothing more for now.
    fn fill(&mut self, trailers: &mut dyn FnMut(&mut Vec<u8>), cx: &mut Context<'_>) {
        while self.queued < GATHER {
            let Source::Stream { body, left } = &mut self.source else { return };
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
                    self.source = Source::Done;
                }
                Poll::Ready(None) => {
                    // A sized body that ends early must not look whole.
                    self.failed = left.is_some_and(|left| left > 0);
                    self.source = Source::Done;
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

    /// How many bytes the rate allows to be written now.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let room = Pace::poll_room(&mut self.pace, self.written.saturating_sub(self.head), cx);
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
        let Source::File { file, offset, left } = &mut self.source else { return Poll::Ready(Ok(0)) };
        let piece = (*left).min(FILE_PIECE).min(room as u64) as usize;
        let file = std::os::fd::AsFd::as_fd(&**file);
        let written = ready!(connection.socket.poll_send_file(cx, file, *offset, piece))?;
        if written == 0 {
            // The file shrank under us: what was promised can no longer be sent.
            return Poll::Ready(Err(std::io::ErrorKind::UnexpectedEof.into()));
        }
        *offset += written as u64;
        *left -= written as u64;
        Poll::Ready(Ok(written))
    }
}
