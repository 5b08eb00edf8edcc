//! Waiting for a request and reading its head.

use std::future::poll_fn;
use std::task::{Context, Poll};

use myriad_http::h1::{Parsed, parse_request};
use myriad_http::h2::PREFACE;
use myriad_http::proxy_protocol::{self, Preface};

use crate::connection::Connection;
use crate::deadline::{self, Deadline};
use crate::patience::{AS_MOVED, MinRate, Patience, Terms};
use crate::service::{ConnectionEvent, Rejection, Service};
use crate::work::{self, Work};

pub(super) enum Read {
    /// The client or a time-out ended an idle connection.
    Closed,
    /// A whole head; bytes past it wait in the input.
    Request(Box<Work>),
    /// Something that is no request.
    Rejected(Box<Work>, Rejection),
    /// The client speaks HTTP/2, as it knew before that it may.
    Http2(Box<Work>),
}

/// Waits for a request head. While nothing has arrived, the returned future holds no buffer.
pub(super) async fn head<S: Service>(
    service: &S,
    connection: &Connection,
    carried: Option<Box<Work>>,
) -> Read {
    // After an answer the deadline is set already: `keepalive_timeout` of the place that answered.
    let first = connection.requests.get() == 0;
    if first {
        connection.deadline.set(service.limits(connection).header_timeout_ms);
    }
    // Before TLS the handshake has read it.
    let announced = first && service.expects_proxy_header(connection) && !service.is_secure(connection);
    let mut reader =
        HeadReader { work: carried, announced, first, timed: first, began: None, slow: None, parsed: 0 };
    poll_fn(|cx| reader.poll(service, connection, cx)).await
}

/// What holds of clients whose server is not known yet.
fn min_rate<S: Service>(service: &S, connection: &Connection) -> MinRate {
    service.limits(connection).timeouts.min_rate
}

/// A part of a head is there. The end is told of whatever comes, be it a panic.
struct Began<'a, S: Service>(&'a S);

impl<'a, S: Service> Began<'a, S> {
    fn new(service: &'a S) -> Self {
        service.note(ConnectionEvent::HeadBegan);
        Self(service)
    }
}

impl<S: Service> Drop for Began<'_, S> {
    fn drop(&mut self) {
        self.0.note(ConnectionEvent::HeadEnded);
    }
}

struct HeadReader<'a, S: Service> {
    work: Option<Box<Work>>,
    /// Whether a PROXY protocol header is still to come.
    announced: bool,
    /// Whether nothing came on this connection before.
    first: bool,
    /// Whether `client_header_timeout` runs already.
    timed: bool,
    /// Whether a part of a head is there, and was told of.
    began: Option<Began<'a, S>>,
    /// How fast the rest of it comes.
    slow: Option<Box<(Deadline, Patience)>>,
    /// Bytes that were there at the last parse, so that a parse is made only when there are more.
    parsed: usize,
}

impl<'a, S: Service> HeadReader<'a, S> {
    fn poll(&mut self, service: &'a S, connection: &Connection, cx: &mut Context<'_>) -> Poll<Read> {
        loop {
            if let Some(read) = self.parse(service, connection) {
                return Poll::Ready(read);
            }
            let work = self.work.get_or_insert_with(work::take);
            let most = if work.input.len() < work::READ_BUFFER {
                work::READ_BUFFER
            } else {
                service.limits(connection).head.total
            };
            match connection.socket.poll_read(cx, work.input.room(most)) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    work.input.filled(count);
                    if let Some(slow) = &mut self.slow {
                        let rate = min_rate(service, connection);
                        if slow.1.moved(count as u64, &slow.0, rate, AS_MOVED) {
                            return Poll::Ready(self.timed_out());
                        }
                    }
                }
                Poll::Ready(_) => return Poll::Ready(self.closed()),
                Poll::Pending => return self.idle(service, connection, cx),
            }
        }
    }

    fn parse(&mut self, service: &'a S, connection: &Connection) -> Option<Read> {
        let work = self.work.as_mut()?;
        if work.input.len() == self.parsed {
            return None;
        }
        if self.announced {
            match proxy_protocol::parse(work.input.bytes()) {
                Ok(Preface::Partial) => {
                    self.parsed = work.input.len();
                    return None;
                }
                Ok(Preface::Complete(length, header)) => {
                    self.announced = false;
                    work.input.consume(length);
                    if let Some(header) = header {
                        // It is set here alone, once for a connection.
                        let _ = connection.proxied.set(header);
                    }
                    if work.input.is_empty() {
                        self.parsed = 0;
                        return None;
                    }
                }
                Err(_) => {
                    service.proxy_header_failed(connection);
                    return Some(self.closed());
                }
            }
        }
        if self.first && work.input.bytes().starts_with(b"PR") && connection.tls().is_none() {
            let length = work.input.len().min(PREFACE.len());
            let may_be = !connection.plain_to_tls.get() && service.http2(connection).is_some();
            if may_be && work.input.bytes()[..length] == PREFACE[..length] {
                self.parsed = work.input.len();
                return if length < PREFACE.len() { None } else { Some(Read::Http2(self.work.take()?)) };
            }
        }
        let limits = service.limits(connection);
        match parse_request(work.input.bytes(), &limits.head, &mut work.head) {
            Ok(Parsed::Complete(length)) => {
                work.input.consume(length);
                Some(Read::Request(self.work.take()?))
            }
            Ok(Parsed::Partial) => {
                self.parsed = work.input.len();
                self.began.get_or_insert_with(|| Began::new(service));
                self.slow.get_or_insert_default();
                if !self.timed {
                    self.timed = true;
                    connection.deadline.set(limits.header_timeout_ms);
                }
                None
            }
            Err(error) => Some(Read::Rejected(self.work.take()?, Rejection::Malformed(error))),
        }
    }

    fn closed(&mut self) -> Read {
        if let Some(work) = self.work.take() {
            work::give(work);
        }
        Read::Closed
    }

    fn idle(&mut self, service: &S, connection: &Connection, cx: &mut Context<'_>) -> Poll<Read> {
        let waiting = self.work.as_ref().is_none_or(|work| work.input.is_empty());
        if waiting {
            if let Some(work) = self.work.take() {
                work::give(work);
            }
            if deadline::draining() && connection.requests.get() > 0 {
                return Poll::Ready(Read::Closed);
            }
        } else {
            connection.stall();
        }
        if let Some(slow) = &mut self.slow {
            let terms = Terms { silence_ms: 0, rate: min_rate(service, connection) };
            if slow.1.poll(&slow.0, terms, AS_MOVED, cx).is_ready() {
                return Poll::Ready(self.timed_out());
            }
        }
        match connection.deadline.poll_expired(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(self.timed_out()),
        }
    }

    fn timed_out(&mut self) -> Read {
        match self.work.take() {
            Some(work) if !self.announced => Read::Rejected(work, Rejection::TimedOut),
            work => {
                self.work = work;
                self.closed()
            }
        }
    }
}
