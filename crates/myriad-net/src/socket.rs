//! Socket of a client connection, with TLS after a handshake.

use std::cell::{OnceCell, RefCell};
use std::io::{self, IoSlice, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use rustix::net::{SendFlags, send};

use crate::tls::TlsSession;
use crate::transport::Transport;

/// Maximum number of bytes of a file that are read at once to be encrypted and sent over TLS.
const SECURED_PIECE: usize = 64 * 1024;

thread_local! {
    /// Buffer of this thread for bytes of a file before their encryption.
    static FILE_PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Socket of a connection: its transport, and the TLS session over it.
pub(crate) struct ClientSocket {
    transport: Transport,
    /// TLS session; set once the handshake is complete, or earlier if the client sends early data. Unset without TLS.
    session: OnceCell<Box<RefCell<TlsSession>>>,
}

impl ClientSocket {
    /// Wraps a connected, non-blocking socket.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { transport: Transport::new(Some(descriptor)), session: OnceCell::new() }
    }

    /// Creates a socket without a descriptor: all operations fail or do nothing.
    pub(crate) fn none() -> Self {
        Self { transport: Transport::new(None), session: OnceCell::new() }
    }

    /// Sets the TLS session that encrypts all further data.
    pub(crate) fn set_tls_session(&self, session: TlsSession) {
        // A connection has one handshake, so the cell is empty.
        let _ = self.session.set(Box::new(RefCell::new(session)));
    }

    /// Returns true if there is a TLS session whose handshake is not complete, so that data being read is early data.
    pub(crate) fn is_early(&self) -> bool {
        self.session.get().is_some_and(|session| session.borrow().is_early())
    }

    /// Returns the transport below TLS, for use during the handshake.
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Calls `work` with the descriptor; `None` if there is none.
    pub(crate) fn with<R>(&self, work: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.transport.with(work)
    }

    /// Peeks at pending bytes below TLS; see [`Transport::poll_peek`].
    pub(crate) fn poll_peek<R>(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        judge: impl FnMut(&[u8]) -> Option<(usize, R)>,
    ) -> Poll<io::Result<R>> {
        self.transport.poll_peek(cx, buffer, judge)
    }

    /// Reads once, through the TLS session if there is one. Returns 0 if the client has closed its side.
    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_receive(cx, buffer),
            Some(session) => session.borrow_mut().poll_read(&self.transport, cx, buffer),
        }
    }

    /// Writes once, through the TLS session if there is one. With TLS, a pending write must be repeated with the same
    /// first bytes.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_send(cx, parts),
            Some(session) => session.borrow_mut().poll_write(&self.transport, cx, parts),
        }
    }

    /// Sends up to `length` bytes of `file` from `offset`. Returns 0 if `offset` is at or after the end of the file.
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

    /// Sends a part of a file through TLS, which reads it into memory.
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

    /// Ready once the client has closed its side or the connection has failed. Pending otherwise; a close after
    /// received bytes is not detected until these are read.
    pub(crate) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(session) = self.session.get() {
            return session.borrow_mut().poll_closed(&self.transport, cx);
        }
        self.transport.poll_closed(cx)
    }

    /// Sends a TLS close notification and shuts down both sides. Errors are ignored.
    pub(crate) fn shutdown(&self) {
        self.send_close_notify();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Both));
    }

    /// Sends a TLS close notification and shuts down the writing side. Errors are ignored.
    pub(crate) fn shutdown_write(&self) {
        self.send_close_notify();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Write));
    }

    /// Sends the TLS close notification, if there is a session, so that the client can detect truncation.
    pub(crate) fn send_close_notify(&self) {
        if let Some(session) = self.session.get() {
            session.borrow_mut().send_close_notify(&self.transport);
        }
    }

    /// Makes the close reset the connection, which drops the data queued for the client.
    pub(crate) fn reset_on_close(&self) {
        let _ = self
            .with(|socket| rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO)));
    }
}

/// Writes once without waiting; for interim responses, and for TLS alerts during the handshake.
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
