//! A stream socket that is read and written through a shared reference, by TLS where there is a session.

use std::cell::{OnceCell, RefCell};
use std::io::{self, IoSlice, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use rustix::net::{SendFlags, send};

use crate::tls::Session;
use crate::transport::Transport;

/// Most bytes of a file that are encrypted at once.
const SECURED_PIECE: usize = 64 * 1024;

thread_local! {
    /// The buffer into which a file is read before it is encrypted.
    static FILE_PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A connection's socket: its transport, and the session of TLS over it.
pub(crate) struct Socket {
    transport: Transport,
    /// TLS over it, after the handshake.
    session: OnceCell<Box<RefCell<Session>>>,
}

impl Socket {
    /// Takes a connected, non-blocking socket.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { transport: Transport::new(Some(descriptor)), session: OnceCell::new() }
    }

    /// No socket: all that is asked of it fails.
    pub(crate) fn none() -> Self {
        Self { transport: Transport::new(None), session: OnceCell::new() }
    }

    /// Sets the session of TLS through which everything is read and written from now on.
    pub(crate) fn secure(&self, session: Session) {
        // A connection has one handshake.
        let _ = self.session.set(Box::new(RefCell::new(session)));
    }

    /// Whether there is a session whose handshake is not over.
    pub(crate) fn is_early(&self) -> bool {
        self.session.get().is_some_and(|session| session.borrow().is_early())
    }

    /// What lies below TLS, for a handshake that is not over.
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Lends the descriptor.
    pub(crate) fn with<R>(&self, work: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        self.transport.with(work)
    }

    /// Looks at what waits below TLS, as [`Transport::poll_peek`].
    pub(crate) fn poll_peek<R>(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        judge: impl FnMut(&[u8]) -> Option<(usize, R)>,
    ) -> Poll<io::Result<R>> {
        self.transport.poll_peek(cx, buffer, judge)
    }

    /// Reads once, through TLS where there is a session.
    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_receive(cx, buffer),
            Some(session) => session.borrow_mut().poll_read(&self.transport, cx, buffer),
        }
    }

    /// Writes once, through TLS where there is a session: then a write that is pending must be tried again with the same
    /// bytes in front.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.session.get() {
            None => self.transport.poll_send(cx, parts),
            Some(session) => session.borrow_mut().poll_write(&self.transport, cx, parts),
        }
    }

    /// Sends `length` bytes of `file` from `offset`, as many as the socket takes.
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

    /// What is sent by TLS has to pass through memory.
    fn poll_send_file_secured(
        &self,
        session: &mut Session,
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

    /// Ready once the client has closed its side or the connection failed; pending while it is silent or talks.
    pub(crate) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(session) = self.session.get() {
            return session.borrow_mut().poll_closed(&self.transport, cx);
        }
        self.transport.poll_closed(cx)
    }

    /// Ends both sides; errors are of no interest, the connection is over.
    pub(crate) fn shutdown(&self) {
        self.say_goodbye();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Both));
    }

    /// Ends the writing side; errors are of no interest, the connection is over.
    pub(crate) fn shutdown_write(&self) {
        self.say_goodbye();
        let _ = self.with(|socket| rustix::net::shutdown(socket, rustix::net::Shutdown::Write));
    }

    /// Ends a session of TLS, so that the client can tell the end from an attack that cuts it short.
    pub(crate) fn say_goodbye(&self) {
        if let Some(session) = self.session.get() {
            session.borrow_mut().say_goodbye(&self.transport);
        }
    }

    /// Makes the close that follows a reset: what is queued for a silent client is forgotten at once.
    pub(crate) fn reset_on_close(&self) {
        let _ = self
            .with(|socket| rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO)));
    }
}

/// One write without waiting, for an interim response.
impl Write for &Socket {
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
