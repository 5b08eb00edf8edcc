//! A unix stream socket that is written as soon as it is there: PHP is asked over a new one for each page.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as IdleStream;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// A connected socket on the runtime of one worker.
///
/// A unix socket is connected when `connect()` returns, and there is room in it for what a page of PHP is asked with. The runtime
/// would wait for the kernel to say both, so it is asked from the first write on that finds no room.
#[derive(Debug)]
pub struct UnixSocket {
    stream: UnixStream,
    /// Whether there was room so far.
    has_room: bool,
}

impl UnixSocket {
    /// Connects at once.
    ///
    /// # Errors
    ///
    /// Those of `connect()`; [`io::ErrorKind::WouldBlock`] where the backlog of the listener is full.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        Self::woken(socket.into())
    }

    /// Puts a connection, which never blocks, on this worker's runtime.
    pub(crate) fn woken(stream: IdleStream) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::from_std(stream)?, has_room: true })
    }

    /// Ready when a read is worth while.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(cx)
    }

    /// Takes the connection off the runtime.
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
