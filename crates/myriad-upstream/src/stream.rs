//! Connection to a peer over TCP or a unix socket, with or without TLS.

use std::future::Future;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::BytesMut;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::connections::OriginConnectionSlot;
use crate::unix::UnixSocket;

/// Connection to a peer, registered with the runtime of a worker.
#[derive(Debug)]
pub enum PeerStream {
    /// TCP, with `TCP_NODELAY`.
    Tcp(TcpStream),
    /// Unix stream socket.
    Unix(UnixSocket),
    /// TLS over TCP or a unix socket.
    Tls(Box<TlsStream<PeerStream>>),
}

impl PeerStream {
    /// Reads available bytes into the spare capacity of `buffer`; returns their number, 0 at the end of the stream.
    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        match pin!(self.read_buf(buffer)).poll(cx) {
            // TLS was closed without `close_notify`. As in nginx, this is a normal end: the framing detects truncated
            // responses, except those that end with the connection.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            polled => polled,
        }
    }

    /// Returns ready if a read may return data, with TLS always: plaintext buffered by TLS is not visible here.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(socket) => socket.poll_readable(cx),
            Self::Tls(_) => Poll::Ready(Ok(())),
        }
    }

    /// Removes the connection from the runtime of this worker, so that any worker can use it. Fails for a TLS
    /// connection.
    pub(crate) fn park(self) -> io::Result<ParkedStream> {
        match self {
            Self::Tcp(stream) => stream.into_std().map(ParkedStream::Tcp),
            Self::Unix(stream) => stream.idle().map(ParkedStream::Unix),
            Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Connection to a peer that occupies a slot in the worker's limit of connections to origins.
#[derive(Debug)]
pub(crate) struct CountedStream {
    pub(crate) stream: PeerStream,
    #[expect(dead_code, reason = "held until dropped")]
    pub(crate) slot: OriginConnectionSlot,
}

/// Connection to a peer that is not registered with a runtime, so that any worker may use it.
#[derive(Debug)]
pub(crate) enum ParkedStream {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl ParkedStream {
    /// Registers the connection with the runtime of this worker.
    pub(crate) fn unpark(self) -> io::Result<PeerStream> {
        match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(PeerStream::Tcp),
            Self::Unix(stream) => UnixSocket::woken(stream).map(PeerStream::Unix),
        }
    }
}

/// Idle connection whose state can be tested.
pub(crate) trait Reusable {
    /// Returns whether the connection is open and has no pending input: both a closed connection and unexpected bytes
    /// make it readable.
    ///
    /// `polled` means that the runtime has polled the connection since it became idle. For TCP without TLS, a system
    /// call is then only needed if the runtime has seen an event; otherwise it is always needed.
    fn is_reusable(&mut self, polled: bool) -> bool;
}

fn peek(socket: &impl AsFd) -> io::Result<usize> {
    let (peeked, _) = rustix::net::recv(socket, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
    Ok(peeked)
}

/// Returns whether a `peek` found neither data nor the end of the stream.
fn is_silent(peeked: &io::Result<usize>) -> bool {
    matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl Reusable for PeerStream {
    fn is_reusable(&mut self, polled: bool) -> bool {
        let peeked = match self {
            Self::Tcp(stream) if polled => stream.try_io(Interest::READABLE, || peek(stream)),
            Self::Tls(stream) => match stream.get_mut().1.process_new_packets() {
                // Surplus plaintext came after the previous response and would be parsed as the next one.
                Ok(state) if state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed() => {
                    peek(stream.get_ref().0)
                }
                _ => return false,
            },
            Self::Tcp(_) | Self::Unix(_) => peek(self),
        };
        is_silent(&peeked)
    }
}

impl Reusable for CountedStream {
    fn is_reusable(&mut self, polled: bool) -> bool {
        self.stream.is_reusable(polled)
    }
}

impl Reusable for ParkedStream {
    /// Tests the connection by a system call and ignores `polled`, because no runtime polls the connection.
    fn is_reusable(&mut self, _: bool) -> bool {
        is_silent(&peek(self))
    }
}

impl AsFd for PeerStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.get_ref().0.as_fd(),
        }
    }
}

impl AsFd for ParkedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for PeerStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for PeerStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match (self.get_mut(), bufs) {
            // A plain `send` skips the kernel's file layer.
            (Self::Tcp(stream), [one]) => Pin::new(stream).poll_write(cx, one),
            (Self::Tcp(stream), bufs) => Pin::new(stream).poll_write_vectored(cx, bufs),
            (Self::Unix(stream), bufs) => Pin::new(stream).poll_write_vectored(cx, bufs),
            (Self::Tls(stream), bufs) => Pin::new(&mut **stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}
