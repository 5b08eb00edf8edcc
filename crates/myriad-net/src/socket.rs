//! Stream socket with interior mutability, encrypted if it has a TLS session.

use std::cell::{OnceCell, RefCell};
use std::io::{self, IoSlice, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use rustix::net::{SendFlags, send};

use crate::tls::TlsSession;
use crate::transport::Transport;

/// Maximum number of file bytes encrypted at once.
const SECURED_PIECE: usize = 64 * 1024;

thread_local! {
    /// Buffer into which a file is read before it is encrypted.
    static FILE_PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Socket of a connection: its transport, and the TLS session over it.
pub(crate) struct ClientSocket {
    transport: Transport,
    /// TLS session, set after the handshake.
    session: OnceCell<Box<RefCell<TlsSession>>>,
}

impl ClientSocket {
    /// Wraps a connected, non-blocking socket.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { transport: Transport::new(Some(descriptor)), session: OnceCell::new() }
    }

    /// Creates a socket without a descriptor: all operations fail.
    pub(crate) fn none() -> Self {
        Self { transport: Transport::new(None), session: OnceCell::new() }
    }

    /// Sets the TLS session that encrypts all data from now on.
    pub(crate) fn set_tls_session(&self, session: TlsSession) {
        // A connection has one handshake, so the cell is empty.
        let _ = self.session.set(Box::new(RefCell::new(session)));
    }

    /// Returns whether the socket has a session whose handshake is not complete.
    pub(crate) fn is_early(&self) -> bool {
        self.session.get().is_some_and(|session| session.borrow().is_early())
    }

    /// Returns the transport below TLS, for use during the handshake.
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Calls `work` with the descriptor.
    pub(crate) fn with<R>(&self, work: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.transport.with(work)
    }

    /// Peeks at the pending bytes below TLS, like [`Transport::poll_peek`].
    pub(crate) fn poll_peek<R>(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        judge: impl FnMut(&[u8]) -> Option<(usize, R)>,
    ) -> Poll<io::Result<R>> {
        self.transport.poll_peek(cx, buffer, judge)
    }

    /// Reads once, through the TLS session if it exists.
    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_receive(cx, buffer),
            Some(session) => session.borrow_mut().poll_read(&self.transport, cx, buffer),
        }
    }

    /// Writes once, through the TLS session if it exists. With TLS, a pending write must be repeated with the same
    /// leading bytes.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_send(cx, parts),
            Some(session) => session.borrow_mut().poll_write(&self.transport, cx, parts),
        }
    }

    /// Sends up to `length` bytes of `file` from `offset`.
    pub(crate) fn poll_send_file(
        &self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        if let Some(session) = self.session.get() {
            return self.poll_send_file_secured(&mut session.borrow_mut(), cx, file, offset, length);
        }
        self.transport.poll_send_file(cx, file, offset, length)
    }

    /// Sends a part of a file with TLS, which requires a copy in memory.
    fn poll_send_file_secured(
        &self,
        session: &mut TlsSession,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        if session.is_writing() {
            return session.poll_write(&self.transport, cx, &[]);
        }
        FILE_PIECE.with_borrow_mut(|piece| {
            piece.resize(length.min(SECURED_PIECE), 0);
            let count = rustix::io::pread(file, &mut piece[..], offset)?;
            if count == 0 {
                return Poll::Ready(Ok(0));
            }
            session.poll_write(&self.transport, cx, &[IoSlice::new(&piece[..count])])
        })
    }

    /// Ready once the client has closed its side or the connection failed; pending otherwise, even if data arrives.
    pub(crate) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(session) = self.session.get() {
            return session.borrow_mut().poll_closed(&self.transport, cx);
        }
        self.transport.poll_closed(cx)
    }

    /// Shuts down both sides. Errors are ignored, because the connection is finished.
    pub(crate) fn shutdown(&self) {
        self.send_close_notify();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Both));
    }

    /// Shuts down the writing side. Errors are ignored, because the connection is finished.
    pub(crate) fn shutdown_write(&self) {
        self.send_close_notify();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Write));
    }

    /// Sends the TLS close notification, so that the client can detect truncation.
    pub(crate) fn send_close_notify(&self) {
        if let Some(session) = self.session.get() {
            session.borrow_mut().send_close_notify(&self.transport);
        }
    }

    /// Makes the close send a reset: data queued for a silent client is dropped immediately.
    pub(crate) fn reset_on_close(&self) {
        let _ = self
            .with(|socket| rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO)));
    }
}

/// Writes once without waiting, for interim responses.
impl Write for &ClientSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(session) = self.session.get() {
            return session.borrow_mut().write_ahead(&self.transport, bytes);
        }
        let sent = self.with(|socket| send(socket, bytes, SendFlags::NOSIGNAL));
        sent.ok_or(io::ErrorKind::NotConnected)?.map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
