//! Client connection of the stream module, whose bytes are relayed without HTTP.

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
use crate::tls::{self, HandshakeCallbacks, HandshakeError, HandshakeResult};

/// Client connection that is read and written as a byte stream, without HTTP.
pub struct RawClient {
    connection: Rc<Connection>,
    /// Deadline that closes the connection after a reload or during a shutdown (`worker_shutdown_timeout`).
    end: Rc<Deadline>,
}

/// Result of [`RawClient::peek`] or [`RawClient::read_proxy_header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekResult<R> {
    /// `judge` returned this result; for a PROXY protocol header, true if it is valid.
    Judged(R),
    /// The maximum number of bytes has arrived, and `judge` has returned no result.
    Full,
    /// The client closed the connection first, or the connection failed.
    Closed,
    /// The time limit expired, and `judge` had returned no result.
    TimedOut,
}

/// Result of a TLS handshake with a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsHandshakeResult {
    /// The handshake succeeded; the connection is encrypted.
    Secure,
    /// The client sent bytes that are not TLS.
    Plain,
    /// The handshake failed: the category of the failure (`None` if the client sent nothing or no valid PROXY protocol
    /// header), and the message to log, if any.
    Failed(Option<HandshakeFailure>, Option<String>),
}

impl RawClient {
    /// Wraps a connection from which no bytes have been read. It counts as stalled, so it can be evicted after two
    /// seconds, until [`RawClient::mark_busy`] is called.
    pub fn new(connection: Rc<Connection>) -> Self {
        connection.mark_stalled();
        Self { connection, end: h1::tunnel_end() }
    }

    /// Returns the wrapped connection.
    pub fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// Marks the connection as busy, so that it is not evicted.
    pub fn mark_busy(&self) {
        self.connection.mark_busy();
    }

    /// Reads exactly one PROXY protocol header into [`Connection::proxied`], within `timeout_ms` milliseconds (0 for no
    /// limit). Returns `Judged(true)` if the header is valid, `Judged(false)` if it is invalid or the connection was
    /// closed, and `TimedOut` after the time limit.
    pub async fn read_proxy_header(&self, timeout_ms: u64) -> PeekResult<bool> {
        self.with_timeout(timeout_ms, |cx| tls::poll_header(&self.connection, cx).map(PeekResult::Judged))
            .await
    }

    /// Peeks at the bytes received so far, at most `most`, and calls `judge` with them each time more arrive, until it
    /// returns a result. The bytes are not consumed. `timeout_ms` limits the total time, in milliseconds; 0 for no
    /// limit.
    pub async fn peek<R>(
        &self,
        most: usize,
        timeout_ms: u64,
        mut judge: impl FnMut(&[u8]) -> Option<R>,
    ) -> PeekResult<R> {
        let mut buffer = vec![0; most.max(1)];
        let look = |cx: &mut Context<'_>| {
            let judge = |bytes: &[u8]| {
                let peeked = match judge(bytes) {
                    _ if bytes.is_empty() => PeekResult::Closed,
                    Some(verdict) => PeekResult::Judged(verdict),
                    None if bytes.len() >= most => PeekResult::Full,
                    None => return None,
                };
                Some((0, peeked))
            };
            self.connection
                .socket
                .poll_peek(cx, &mut buffer, judge)
                .map(|looked| looked.unwrap_or(PeekResult::Closed))
        };
        self.with_timeout(timeout_ms, look).await
    }

    async fn with_timeout<R>(
        &self,
        timeout_ms: u64,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<PeekResult<R>>,
    ) -> PeekResult<R> {
        let deadline = &self.connection.deadline;
        deadline.set(timeout_ms);
        let peeked = poll_fn(|cx| match poll(cx) {
            Poll::Pending => deadline.poll_expired(cx).map(|()| PeekResult::TimedOut),
            ready @ Poll::Ready(_) => ready,
        });
        let peeked = peeked.await;
        deadline.clear();
        peeked
    }

    /// Performs a TLS handshake as the server, within the time limit of `greeter`.
    pub async fn tls_handshake(&self, greeter: &impl HandshakeCallbacks) -> TlsHandshakeResult {
        let greeting = Box::pin(tls::accept(greeter, &self.connection)).await;
        self.connection.deadline.clear();
        match greeting {
            HandshakeResult::Secure => TlsHandshakeResult::Secure,
            HandshakeResult::Plain => TlsHandshakeResult::Plain,
            HandshakeResult::Failed(failure) => {
                let counted = failure.as_ref().map(HandshakeError::category);
                TlsHandshakeResult::Failed(
                    counted,
                    failure.filter(HandshakeError::is_logged).map(|failure| failure.to_string()),
                )
            }
        }
    }

    /// Returns ready once the connection must close because of a reload or shutdown.
    pub fn poll_must_close(&self, cx: &Context<'_>) -> Poll<()> {
        self.end.poll_expired(cx)
    }

    /// Shuts down the writing side; reading remains possible.
    pub fn shutdown_write(&self) {
        self.connection.socket.shutdown_write();
    }

    /// Closes the connection; bytes already written are still sent.
    pub fn close(&self) {
        self.connection.finish();
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
