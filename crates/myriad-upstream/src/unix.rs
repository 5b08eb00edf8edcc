//! Unix stream socket that is written without waiting for the runtime: PHP usually gets a new connection for each
//! request.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as IdleStream;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// Connected unix socket, registered with the runtime of a worker.
///
/// A unix socket is connected when `connect()` returns, and its buffer has room for a typical PHP request. Writes
/// therefore bypass the runtime, which would first wait for a kernel event, until one finds the buffer full.
#[derive(Debug)]
pub struct UnixSocket {
    stream: UnixStream,
    /// True if no write has found the buffer full.
    has_room: bool,
}

impl UnixSocket {
    /// Connects without waiting.
    ///
    /// # Errors
    ///
    /// Errors of `socket()` and `connect()`; [`io::ErrorKind::WouldBlock`] if the backlog of the listener is full.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        Self::woken(socket.into())
    }

    /// Registers a non-blocking socket with the runtime of this worker.
    pub(crate) fn woken(stream: IdleStream) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::from_std(stream)?, has_room: true })
    }

    /// Returns ready if a read may return data.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(cx)
    }

    /// Removes the socket from the runtime.
    pub(crate) fn idle(self) -> io::Result<IdleStream> {
        self.stream.into_std()
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsyncRead for UnixSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for UnixSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.has_room {
            match rustix::io::writev(&self.stream, bufs) {
                Err(rustix::io::Errno::AGAIN) => self.has_room = false,
                written => return Poll::Ready(Ok(written?)),
            }
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
