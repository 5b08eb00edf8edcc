//! Waiting for an HTTP/1 request, and reading of its head.

use std::future::poll_fn;
use std::task::{Context, Poll};

use myriad_http::h1::{ParseStatus, parse_request};
use myriad_http::h2::PREFACE;
use myriad_http::proxy_protocol::{self, HeaderParseStatus};

use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, ClientTimeouts, MinRate};
use crate::connection::Connection;
use crate::deadline::{self, Deadline};
use crate::request_buffers::{self, RequestBuffers};
use crate::service::{ConnectionEvent, Rejection, Service};

/// Result of reading a request head.
pub(super) enum HeadResult {
    /// The connection is to be closed without a response: the client closed it, the read failed, a timeout expired
    /// before a request began, the PROXY protocol header is invalid or late, or the worker drains and has served a
    /// request of the connection.
    Closed,
    /// A complete request head. Bytes after the head remain in the input.
    Request(Box<RequestBuffers>),
    /// The request is invalid or timed out; an error response is sent.
    Rejected(Box<RequestBuffers>, Rejection),
    /// The client uses HTTP/2 with prior knowledge.
    Http2(Box<RequestBuffers>),
}

/// Reads a request head. `carried` contains pipelined input. The future has no buffer while no byte has arrived.
pub(super) async fn read_head<S: Service>(
    service: &S,
    connection: &Connection,
    carried: Option<Box<RequestBuffers>>,
) -> HeadResult {
    // After a response the deadline is already set, to `keepalive_timeout` of its location.
    let first = connection.requests.get() == 0;
    if first {
        connection.deadline.set(service.limits(connection).header_timeout_ms);
    }
    // On a TLS connection the PROXY protocol header was read before the handshake.
    let announced = first && service.expects_proxy_header(connection) && !service.is_secure(connection);
    let mut reader =
        HeadReader { buffers: carried, announced, first, timed: first, began: None, slow: None, parsed: 0 };
    poll_fn(|cx| reader.poll(service, connection, cx)).await
}

/// Returns the minimum rate that applies before the request's server is known.
fn min_rate<S: Service>(service: &S, connection: &Connection) -> MinRate {
    service.limits(connection).timeouts.min_rate
}

/// Counts a partially received head: reports its start when created and its end when dropped, even in a panic.
struct PartialHeadGuard<'a, S: Service>(&'a S);

impl<'a, S: Service> PartialHeadGuard<'a, S> {
    fn new(service: &'a S) -> Self {
        service.count_event(ConnectionEvent::HeadBegan);
        Self(service)
    }
}

impl<S: Service> Drop for PartialHeadGuard<'_, S> {
    fn drop(&mut self) {
        self.0.count_event(ConnectionEvent::HeadEnded);
    }
}

struct HeadReader<'a, S: Service> {
    buffers: Option<Box<RequestBuffers>>,
    /// Set while a PROXY protocol header is expected before the first request.
    announced: bool,
    /// Set for the first request of the connection.
    first: bool,
    /// Set once the deadline of `client_header_timeout` has been set for this head; for the first head of a connection,
    /// from the start.
    timed: bool,
    /// Registration of a partially received head; set once a part of it has arrived.
    began: Option<PartialHeadGuard<'a, S>>,
    /// Deadline and transfer rate of the rest of a partial head; `None` until a part of the head has arrived.
    slow: Option<Box<(Deadline, ClientTimeouts)>>,
    /// Number of input bytes at the last attempt to parse the head, which is repeated only when there are more.
    parsed: usize,
}

impl<'a, S: Service> HeadReader<'a, S> {
    fn poll(&mut self, service: &'a S, connection: &Connection, cx: &mut Context<'_>) -> Poll<HeadResult> {
        loop {
            if let Some(read) = self.parse(service, connection) {
                return Poll::Ready(read);
            }
            let buffers = self.buffers.get_or_insert_with(request_buffers::take_buffers);
            let most = if buffers.input.len() < request_buffers::READ_BUFFER {
                request_buffers::READ_BUFFER
            } else {
                service.limits(connection).head.total
            };
            match connection.socket.poll_read(cx, buffers.input.room(most)) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    buffers.input.commit_read(count);
                    if let Some(slow) = &mut self.slow {
                        let rate = min_rate(service, connection);
                        if slow.1.record_transfer(count as u64, &slow.0, rate, AS_MOVED) {
                            return Poll::Ready(self.timed_out());
                        }
                    }
                }
                Poll::Ready(_) => return Poll::Ready(self.close_result()),
                Poll::Pending => return self.idle(service, connection, cx),
            }
        }
    }

    fn parse(&mut self, service: &'a S, connection: &Connection) -> Option<HeadResult> {
        let buffers = self.buffers.as_mut()?;
        if buffers.input.len() == self.parsed {
            return None;
        }
        if self.announced {
            match proxy_protocol::parse(buffers.input.bytes()) {
                Ok(HeaderParseStatus::Partial) => {
                    self.parsed = buffers.input.len();
                    return None;
                }
                Ok(HeaderParseStatus::Complete(length, header)) => {
                    self.announced = false;
                    buffers.input.consume(length);
                    if let Some(header) = header {
                        // Set only here, once per connection.
                        let _ = connection.proxied.set(header);
                    }
                    if buffers.input.is_empty() {
                        self.parsed = 0;
                        return None;
                    }
                }
                Err(_) => {
                    service.proxy_header_failed(connection);
                    return Some(self.close_result());
                }
            }
        }
        if self.first && buffers.input.bytes().starts_with(b"PR") && connection.tls().is_none() {
            let length = buffers.input.len().min(PREFACE.len());
            let may_be = !connection.plain_to_tls.get() && service.http2(connection).is_some();
            if may_be && buffers.input.bytes()[..length] == PREFACE[..length] {
                self.parsed = buffers.input.len();
                return if length < PREFACE.len() {
                    None
                } else {
                    Some(HeadResult::Http2(self.buffers.take()?))
                };
            }
        }
        let limits = service.limits(connection);
        match parse_request(buffers.input.bytes(), &limits.head, &mut buffers.head) {
            Ok(ParseStatus::Complete(length)) => {
                buffers.input.consume(length);
                Some(HeadResult::Request(self.buffers.take()?))
            }
            Ok(ParseStatus::Partial) => {
                self.parsed = buffers.input.len();
                self.began.get_or_insert_with(|| PartialHeadGuard::new(service));
                self.slow.get_or_insert_default();
                if !self.timed {
                    self.timed = true;
                    connection.deadline.set(limits.header_timeout_ms);
                }
                None
            }
            Err(error) => Some(HeadResult::Rejected(self.buffers.take()?, Rejection::Malformed(error))),
        }
    }

    fn close_result(&mut self) -> HeadResult {
        if let Some(buffers) = self.buffers.take() {
            request_buffers::return_buffers(buffers);
        }
        HeadResult::Closed
    }

    fn idle(&mut self, service: &S, connection: &Connection, cx: &mut Context<'_>) -> Poll<HeadResult> {
        let waiting = self.buffers.as_ref().is_none_or(|buffers| buffers.input.is_empty());
        if waiting {
            if let Some(buffers) = self.buffers.take() {
                request_buffers::return_buffers(buffers);
            }
            if deadline::draining() && connection.requests.get() > 0 {
                return Poll::Ready(HeadResult::Closed);
            }
        } else {
            connection.mark_stalled();
        }
        if let Some(slow) = &mut self.slow {
            let terms = ClientTimeLimits { silence_ms: 0, rate: min_rate(service, connection) };
            if slow.1.poll(&slow.0, terms, AS_MOVED, cx).is_ready() {
                return Poll::Ready(self.timed_out());
            }
        }
        match connection.deadline.poll_expired(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(self.timed_out()),
        }
    }

    fn timed_out(&mut self) -> HeadResult {
        match self.buffers.take() {
            Some(buffers) if !self.announced => HeadResult::Rejected(buffers, Rejection::TimedOut),
            buffers => {
                self.buffers = buffers;
                self.close_result()
            }
        }
    }
}
