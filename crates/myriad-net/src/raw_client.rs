//! A client's connection whose bytes are no version of HTTP: whoever serves it reads and writes them (`stream`).

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::h1;
use crate::service::HandshakeFailure;
use crate::tls::{self, Failure, Greeter, Greeting};

/// The connection, taken for as long as its bytes are passed on.
pub struct RawClient {
    connection: Rc<Connection>,
    /// Ends it some time after a reload (`worker_shutdown_timeout`).
    end: Rc<Deadline>,
}

/// What a client came to that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peeked<R> {
    /// The verdict on its first bytes.
    Judged(R),
    /// As many bytes as may be are there, and there is no verdict.
    Full,
    /// It closed the connection first, or that failed.
    Closed,
    /// It did not send enough in time.
    TimedOut,
}

/// How a handshake ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secured {
    /// What is read and written goes through TLS from now on.
    Secure,
    /// The client does not speak TLS.
    Plain,
    /// There is nobody to serve: what is counted, unless the client has not begun, and the reason, where there is one to tell.
    Failed(Option<HandshakeFailure>, Option<String>),
}

impl RawClient {
    /// Takes a connection that nothing was read of. Until [`RawClient::go_on`] it gives way where seats are short.
    pub fn new(connection: Rc<Connection>) -> Self {
        connection.stall();
        Self { connection, end: h1::tunnel_end() }
    }

    /// Who is connected.
    pub fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// What is waited for is not the client any more: the connection keeps its seat.
    pub fn go_on(&self) {
        self.connection.go_on();
    }

    /// Reads a PROXY protocol header and not a byte more, into [`Connection::proxied`].
    pub async fn read_proxy_header(&self, timeout_ms: u64) -> Peeked<bool> {
        self.within(timeout_ms, |cx| tls::poll_header(&self.connection, cx).map(Peeked::Judged)).await
    }

    /// Shows what the client has sent to `judge`, up to `most` bytes, until that has a verdict; the bytes stay where they are.
    pub async fn peek<R>(
        &self,
        most: usize,
        timeout_ms: u64,
        mut judge: impl FnMut(&[u8]) -> Option<R>,
    ) -> Peeked<R> {
        let mut buffer = vec![0; most.max(1)];
        let look = |cx: &mut Context<'_>| {
            let judge = |bytes: &[u8]| {
                let peeked = match judge(bytes) {
                    _ if bytes.is_empty() => Peeked::Closed,
                    Some(verdict) => Peeked::Judged(verdict),
                    None if bytes.len() >= most => Peeked::Full,
                    None => return None,
                };
                Some((0, peeked))
            };
            self.connection
                .socket
                .poll_peek(cx, &mut buffer, judge)
                .map(|looked| looked.unwrap_or(Peeked::Closed))
        };
        self.within(timeout_ms, look).await
    }

    async fn within<R>(
        &self,
        timeout_ms: u64,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<Peeked<R>>,
    ) -> Peeked<R> {
        let deadline = &self.connection.deadline;
        deadline.set(timeout_ms);
        let peeked = poll_fn(|cx| match poll(cx) {
            Poll::Pending => deadline.poll_expired(cx).map(|()| Peeked::TimedOut),
            ready @ Poll::Ready(_) => ready,
        });
        let peeked = peeked.await;
        deadline.clear();
        peeked
    }

    /// Takes the client through a handshake of TLS.
    pub async fn secure(&self, greeter: &impl Greeter) -> Secured {
        let greeting = Box::pin(tls::accept(greeter, &self.connection)).await;
        self.connection.deadline.clear();
        match greeting {
            Greeting::Secure => Secured::Secure,
            Greeting::Plain => Secured::Plain,
            Greeting::Failed(failure) => {
                let counted = failure.as_ref().map(Failure::counted);
                Secured::Failed(counted, failure.filter(Failure::is_told).map(|failure| failure.to_string()))
            }
        }
    }

    /// Ready once a reload, or the end of the worker, has the connection end.
    pub fn poll_ended(&self, cx: &Context<'_>) -> Poll<()> {
        self.end.poll_expired(cx)
    }

    /// Sends the client's side an end, and goes on reading.
    pub fn shutdown_write(&self) {
        self.connection.socket.shutdown_write();
    }

    /// The connection is over; what was written is still sent.
    pub fn close(&self) {
        self.connection.end();
    }
}

impl AsyncRead for RawClient {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        self.connection.socket.poll_read(cx, room).map_ok(|count| buffer.advance(count))
    }
}

impl AsyncWrite for RawClient {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.connection.socket.poll_write(cx, &[IoSlice::new(bytes)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shutdown_write();
        Poll::Ready(Ok(()))
    }
}
